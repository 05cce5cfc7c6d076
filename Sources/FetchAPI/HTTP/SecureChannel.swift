import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// TLS in front of HTTP/2 and HTTP/1.1, of which the client chooses one (RFC 7301).
///
/// A stream of HTTP/2 is guarded as a connection of HTTP/1.1 is, and counts as one.
struct SecureChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        fileprivate let negotiated: EventLoopFuture<Negotiated>
        let channel: any Channel
    }

    fileprivate enum Negotiated: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(HTTP2Channel.Value)
    }

    private let context: NIOSSLContext
    private let limits: HandshakeGuard.Limits
    private let connections: OpenConnections
    private let http1: LoopBoundChannel
    private let http2: HTTP2Channel

    /// - Parameter http1: For clients that choose HTTP/1.1, or nothing.
    init(
        _ tls: TLSConfiguration, limits: ConnectionGuard.Limits, connections: OpenConnections, http1: LoopBoundChannel
    ) throws {
        context = try NIOSSLContext(configuration: tls)
        // The framework asks clients of HTTP/2 to leave first.
        self.limits = HandshakeGuard.Limits(
            handshake: limits.head, idle: limits.idle + limits.linger, linger: limits.linger)
        self.connections = connections
        self.http1 = http1
        http2 = HTTP2Channel(
            responder: http1.base.responder,
            configuration: HTTP2ChannelConfiguration(
                idleTimeout: .nanoseconds(limits.idle.nanoseconds), gracefulCloseTimeout: .seconds(10),
                streamConfiguration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [
                        ConnectionGuard(limits: limits, connections: connections, isStream: true)
                    ])))
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let handshake = HandshakeGuard(limits: limits, connections: connections)
            try pipeline.addHandler(handshake)
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Negotiated> { result, channel in
                HandshakeGuard.of(channel)?.isDone()
                guard case .negotiated("h2") = result else {
                    return http1.setup(channel: channel, logger: logger).map { .http1($0) }
                }
                return http2.setup(channel: channel, logger: logger).map { .http2($0) }
            }
            try pipeline.addHandler(negotiation)
            return Value(negotiated: negotiation.protocolNegotiationResult, channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.negotiated.get() {
            case .http1(let connection): await http1.handle(value: connection, logger: logger)
            case .http2(let connection):
                await withTaskExecutorPreference(LoopExecutor(connection.channel.eventLoop)) {
                    await http2.handle(value: connection, logger: logger)
                }
            }
        } catch {
            // The handshake failed: a scanner, a client without a certificate, or one that spoke no TLS.
            logger.debug("A connection came to no protocol", metadata: ["error": "\(error)"])
        }
    }
}
