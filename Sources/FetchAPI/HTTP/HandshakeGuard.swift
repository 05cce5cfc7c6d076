import NIOCore

/// Counts a connection with TLS from its first byte on, and ends it when the handshake takes too long.
final class HandshakeGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private let connections: OpenConnections
    /// The connection as other parts see it, and whether all requests are allowed on it; nil while it is not open.
    private(set) var opened: (connection: Connection, isRegular: Bool)?
    private var timer: Scheduled<Void>?

    init(limit: TimeAmount, connections: OpenConnections) {
        self.limit = limit
        self.connections = connections
    }

    /// That of a connection with TLS; to be called on the loop of the channel.
    static func of(_ channel: any Channel) -> HandshakeGuard? {
        try? channel.pipeline.syncOperations.handler(type: HandshakeGuard.self)
    }

    /// Client and server have agreed on a protocol, whose own limits hold now.
    func isDone() {
        timer?.cancel()
        timer = nil
    }

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
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isDone()
        if let opened { connections.remove(opened.connection) }
        opened = nil
        context.fireChannelInactive()
    }
}
