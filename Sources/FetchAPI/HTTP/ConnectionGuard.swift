import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Keeps a connection within its time limits, and turns refusals of the layers around it into problem documents.
///
/// The framework answers broken HTTP by itself, with an empty 400. Every response of ours carries a `Request-Id`; one
/// that does not is the framework's, and is replaced here by the problem that fits.
///
/// On a stream of HTTP/2 it does the same for the stream: nobody else would answer there.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    struct Limits: Sendable {
        /// From the start of a connection, or the first byte of a later request, to the end of the header.
        var head: TimeAmount = .seconds(10)
        /// Between two pieces of a body.
        var body: TimeAmount = .seconds(30)
        /// How long a client may take none of an answer.
        var stall: TimeAmount = .seconds(60)
        /// How long a connection may be without a request.
        var idle: TimeAmount = .seconds(60)
        /// The time for a client to take the response while it still sends a body that is not read.
        var linger: TimeAmount = .seconds(2)
    }

    private let limits: Limits
    private let connections: OpenConnections
    private let isStream: Bool
    /// The connection as other parts see it; nil while it is not open.
    private(set) var connection: Connection?
    /// More than the server's health may be asked for.
    private var isRegular = true
    /// Why reading ended, when it did.
    private var refusal: ProblemCode?
    private var hasRequest = false
    private var isReadingBody = false
    private var lastRead = NIODeadline.uptimeNanoseconds(0)
    /// We are ready for more; while we are not, the silence is ours and not the client's.
    private var awaitsBytes = false
    private var timer: Scheduled<Void>?
    /// Since when bytes of a head are here that is not whole.
    private var headBegan: NIODeadline?
    private var hasReadPart = false
    private var stall: Scheduled<Void>?
    private var dropsBody = false
    private var hasAnswered = false
    private var closesAfterEnd = false

    init(limits: Limits, connections: OpenConnections = OpenConnections(), isStream: Bool = false) {
        self.limits = limits
        self.connections = connections
        self.isStream = isStream
    }

    /// What stands for a connection on a stream of HTTP/2, whose task is the framework's; nil off the loop.
    static func connection(on stream: any Channel) -> Connection? {
        guard stream.eventLoop.inEventLoop else { return nil }
        return (try? stream.pipeline.syncOperations.handler(type: ConnectionGuard.self))?.connection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard connection == nil else { return }
        // With TLS, the handshake has opened it.
        let handshake = isStream ? nil : HandshakeGuard.of(context.channel)?.opened
        guard let (connection, isRegular) = handshake ?? connections.open(context.channel) else {
            return context.close(promise: nil)
        }
        self.connection = connection
        if isStream { connectionOfStreams(context)?.begin() }
        self.isRegular = isRegular
        lastRead = context.eventLoop.now
        schedule(in: limits.head, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { isOver(context) }

    func channelInactive(context: ChannelHandlerContext) {
        isOver(context)
        context.fireChannelInactive()
    }

    /// The connection that has this stream among others; it is not idle while it has any.
    private func connectionOfStreams(_ context: ChannelHandlerContext) -> Connection? {
        context.channel.parent.flatMap(HandshakeGuard.of)?.opened?.connection
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, !isStream { connection?.leave() }
        context.fireUserInboundEventTriggered(event)
    }

    private func isOver(_ context: ChannelHandlerContext) {
        timer?.cancel()
        stall?.cancel()
        guard let connection else { return }
        connections.remove(connection)
        self.connection = nil
        if isStream, let whole = connectionOfStreams(context) { connections.end(whole) }
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard refusal == nil else { return }
        hasReadPart = true
        switch unwrapInboundIn(data) {
        case .head(let head):
            headBegan = nil
            // Before anything of it is compared, here or behind.
            guard head.isStreamSafe else { return refuse(.malformedRequest, context) }
            let isHealth = Self.health.contains(head.path?.prefix { $0 != "?" } ?? "")
            guard HostField.isSound(in: head, mayLack: isHealth) else { return refuse(.malformedRequest, context) }
            guard isHealth || mayAsk() else { return refuse(.tooManyConnections, context) }
            connection?.begin()
            hasRequest = true
            isReadingBody = true
            if head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
        case .body: break
        case .end: isReadingBody = false
        }
        context.fireChannelRead(data)
    }

    /// The paths that are answered even when the server refuses all others.
    private static let health: Set<Substring> = ["/healthz", "/readyz", "/metrics"]

    private func mayAsk() -> Bool {
        if let connection, !isRegular { isRegular = connections.makeRegular(connection) }
        return isRegular
    }

    func read(context: ChannelHandlerContext) {
        if !awaitsBytes { lastRead = context.eventLoop.now }
        awaitsBytes = true
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        lastRead = context.eventLoop.now
        awaitsBytes = false
        if isReadingBody {
            if timer == nil { schedule(in: limits.body, context) }
        } else if hasRequest, !hasReadPart, headBegan == nil, refusal == nil {
            // Bytes have come that are no part yet: a head begins.
            headBegan = context.eventLoop.now
            timer?.cancel()
            schedule(in: limits.head, context)
        }
        hasReadPart = false
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isStream else { return context.close(promise: nil) }
        refuse(error as? HTTPParserError == .headerOverflow ? .headersTooLarge : .malformedRequest, context)
    }

    private func refuse(_ code: ProblemCode, _ context: ChannelHandlerContext) {
        guard refusal == nil else { return }
        refusal = code
        guard !isStream else { return end(with: code, context) }
        // The one error that the framework answers, rather than closing without a response.
        context.fireErrorCaught(HTTPParserError.unknown)
    }

    /// Answers on a stream, as far as nothing was answered, and ends it.
    private func end(with code: ProblemCode, _ context: ChannelHandlerContext) {
        if !hasAnswered {
            write(Problem(code), context)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }

    private func schedule(in time: TimeAmount, _ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
            self.timer = nil
            self.check(context)
        }
    }

    private func check(_ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        if let headBegan, now >= headBegan + limits.head { return refuse(.requestTimeout, context) }
        guard isReadingBody || !hasRequest else { return }
        let due = (hasRequest && !awaitsBytes ? now : lastRead) + limits.body
        if !hasRequest || now >= due {
            refuse(.requestTimeout, context)
        } else {
            schedule(in: due - now, context)
        }
    }

    // MARK: Writing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status == .switchingProtocols:
            // Its bytes are no bodies from here on, and nothing follows them.
            (hasAnswered, closesAfterEnd) = (true, true)
            context.write(data, promise: promise)
        case .head(let head) where head.status.kind == .informational:
            context.write(data, promise: promise)
        case .head(var head):
            hasAnswered = true
            if !isStream, connections.areLeaving { head.headerFields[.connection] = "close" }
            closesAfterEnd = !isStream && (head.headerFields.value(of: .connection) == "close" || refusal != nil)
            // Of the connection alone, so HTTP/2 has no such field (RFC 9113 §8.2.2).
            if isStream { head.headerFields[.connection] = nil }
            guard !head.headerFields.contains(.requestID) else {
                context.write(wrapOutboundOut(.head(head)), promise: promise)
                return
            }
            dropsBody = true
            write(Problem(refusal ?? (head.status.kind == .serverError ? .internalError : .malformedRequest)), context)
            promise?.succeed()
        case .body:
            if dropsBody { promise?.succeed() } else { context.write(data, promise: promise) }
        case .end:
            dropsBody = false
            context.write(data, promise: promise)
            if let connection, hasRequest { connections.end(connection) }
            if closesAfterEnd { close(context) }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stall?.cancel()
        stall = nil
        if !context.channel.isWritable {
            stall = context.eventLoop.assumeIsolated().scheduleTask(in: limits.stall) { context.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    private func write(_ problem: Problem, _ context: ChannelHandlerContext) {
        let id = RequestID().text
        var head = HTTPResponse(status: problem.code.status)
        head.headerFields = [.requestID: id, .contentType: Problem.contentType]
        if !isStream { head.headerFields[.connection] = "close" }
        if problem.code == .tooManyConnections { head.headerFields[.retryAfter] = "1" }
        let body = ByteBuffer(bytes: JSONWriter.object { problem.write(&$0, requestID: id) })
        head.headerFields[.contentLength] = String(body.readableBytes)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
    }

    /// Closes our half first: closing with bytes unread would take the answer away from the client.
    private func close(_ context: ChannelHandlerContext) {
        timer?.cancel()
        context.flush()
        context.close(mode: .output, promise: nil)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.linger) {
            context.close(promise: nil)
        }
    }
}
