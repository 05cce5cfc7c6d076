import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Keeps a connection within its time limits and makes problem documents of what the layers around it refuse.
///
/// The framework answers broken HTTP by itself, with an empty 400. Every response of ours carries a `Request-Id`; one
/// that does not is the framework's, and is replaced here by the problem that fits.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    struct Limits: Sendable {
        /// From the start of a connection to the end of its first header.
        var head: TimeAmount = .seconds(10)
        /// Between two pieces of a body.
        var body: TimeAmount = .seconds(30)
        /// How long a client that sends what nobody will read is given to take the answer.
        var linger: TimeAmount = .seconds(2)
    }

    private let limits: Limits
    /// Why reading ended, when it did.
    private var refusal: ProblemCode?
    private var hasRequest = false
    private var isReadingBody = false
    private var lastRead = NIODeadline.uptimeNanoseconds(0)
    /// We are ready for more; while we are not, the silence is ours and not the client's.
    private var awaitsBytes = false
    private var timer: Scheduled<Void>?
    private var dropsBody = false
    private var closesAfterEnd = false

    init(limits: Limits) { self.limits = limits }

    func handlerAdded(context: ChannelHandlerContext) {
        lastRead = context.eventLoop.now
        schedule(in: limits.head, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
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

    func read(context: ChannelHandlerContext) {
        if !awaitsBytes { lastRead = context.eventLoop.now }
        awaitsBytes = true
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        lastRead = context.eventLoop.now
        awaitsBytes = false
        if isReadingBody, timer == nil { schedule(in: limits.body, context) }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        refuse(error as? HTTPParserError == .headerOverflow ? .headersTooLarge : .malformedRequest, context)
    }

    private func refuse(_ code: ProblemCode, _ context: ChannelHandlerContext) {
        guard refusal == nil else { return }
        refusal = code
        // The one error that the framework answers rather than closing without a word.
        context.fireErrorCaught(HTTPParserError.unknown)
    }

    private func schedule(in time: TimeAmount, _ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
            self.timer = nil
            self.check(context)
        }
    }

    private func check(_ context: ChannelHandlerContext) {
        guard isReadingBody || !hasRequest else { return }
        let now = context.eventLoop.now
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
        case .head(let head) where head.status.kind == .informational:
            context.write(data, promise: promise)
        case .head(let head):
            closesAfterEnd = head.headerFields[.connection] == "close" || refusal != nil
            guard head.headerFields[.requestID] == nil else {
                context.write(data, promise: promise)
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
            if closesAfterEnd { close(context) }
        }
    }

    private func write(_ problem: Problem, _ context: ChannelHandlerContext) {
        let id = RequestID().text
        var head = HTTPResponse(status: problem.code.status)
        head.headerFields = [.requestID: id, .connection: "close", .contentType: Problem.contentType]
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
