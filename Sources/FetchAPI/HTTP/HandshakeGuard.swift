import NIOCore

/// Counts a connection with TLS from its first byte on, and ends it when the handshake takes too long, or when its client
/// stays where it is not wanted any more.
///
/// The framework asks clients of HTTP/2 to leave when they are idle or the server stops (RFC 9113 §6.8), and waits for
/// their answer without a limit. A client that keeps its connection for later reads nothing meanwhile.
final class HandshakeGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    struct Limits {
        var handshake: TimeAmount
        /// How long a connection may be without a request.
        var idle: TimeAmount
        /// The same for one whose server stops.
        var linger: TimeAmount
    }

    private let limits: Limits
    private let connections: OpenConnections
    /// The connection as other parts see it, and whether all requests are allowed on it; nil while it is not open.
    private(set) var opened: (connection: Connection, isRegular: Bool)?
    private var timer: Scheduled<Void>?
    private var hasProtocol = false
    private var isStopping = false

    init(limits: Limits, connections: OpenConnections) {
        self.limits = limits
        self.connections = connections
    }

    /// That of a connection with TLS; to be called on the loop of the channel.
    static func of(_ channel: any Channel) -> HandshakeGuard? {
        try? channel.pipeline.syncOperations.handler(type: HandshakeGuard.self)
    }

    /// Client and server have agreed on a protocol.
    func isDone() { hasProtocol = true }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard opened == nil else { return }
        opened = connections.open(context.channel)
        guard opened != nil else { return context.close(promise: nil) }
        check(in: limits.handshake, context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard event is ChannelShouldQuiesceEvent, opened != nil else { return }
        isStopping = true
        check(in: limits.linger, context)
    }

    private func check(in time: TimeAmount, _ context: ChannelHandlerContext) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { self.check(context) }
    }

    private func check(_ context: ChannelHandlerContext) {
        guard hasProtocol, let connection = opened?.connection else { return context.close(promise: nil) }
        let limit = isStopping ? limits.linger : limits.idle
        let idle = connection.idleSince.map { context.eventLoop.now - $0 } ?? .zero
        if idle >= limit { context.close(promise: nil) } else { check(in: limit - idle, context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        if let opened { connections.remove(opened.connection) }
        opened = nil
        context.fireChannelInactive()
    }
}
