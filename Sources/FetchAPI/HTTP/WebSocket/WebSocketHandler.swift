import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Takes the bytes of a connection that has become a WebSocket before its HTTP sees them.
///
/// The answer to the handshake goes on as an answer without an end, whose bytes are frames: so the times, counts and
/// limits of requests hold for it.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let inbox: WebSocketInbox
    private var context: ChannelHandlerContext?
    private var awaitsRoom = false

    private init(_ inbox: WebSocketInbox) { self.inbox = inbox }

    /// Puts it before HTTP/1.1 on a connection, and from now on frames come to an inbox.
    ///
    /// - Parameter limit: How many bytes a frame may have.
    /// - Throws: Where there is no HTTP/1.1.
    static func add(to channel: any Channel, upTo limit: Int, for inbox: WebSocketInbox) throws {
        let pipeline = channel.pipeline.syncOperations
        let http = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        let handler = WebSocketHandler(inbox)
        try pipeline.addHandler(handler, position: .before(http))
        try pipeline.addHandler(
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: limit)), position: .before(handler))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        inbox.setOnRoom { [loop = context.eventLoop] in loop.execute { handler.value.goOn() } }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        inbox.setOnRoom(nil)
        inbox.end(nil)
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { inbox.add(unwrapInboundIn(data)) }

    /// HTTP behind it would take what has come for the beginning of a request.
    func channelReadComplete(context: ChannelHandlerContext) {}

    func read(context: ChannelHandlerContext) {
        if inbox.hasRoom { context.read() } else { awaitsRoom = true }
    }

    private func goOn() {
        guard awaitsRoom, inbox.hasRoom else { return }
        awaitsRoom = false
        context?.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case NIOWebSocketError.invalidFrameLength = error { return inbox.end(.messageTooLarge) }
        inbox.end(error is NIOWebSocketError ? .protocolError : nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end(nil)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { inbox.end(nil) }
        context.fireUserInboundEventTriggered(event)
    }
}

extension ByteBuffer {
    /// A frame of a server, which has no mask (RFC 6455 §5.2).
    init(frame opcode: WebSocketOpcode, _ content: some Collection<UInt8>) {
        let count = content.count
        self.init()
        reserveCapacity(minimumWritableBytes: count + 10)
        writeInteger(UInt8(0x80) | UInt8(webSocketOpcode: opcode))
        switch count {
        case ..<126: writeInteger(UInt8(count))
        case ...Int(UInt16.max):
            writeInteger(UInt8(126))
            writeInteger(UInt16(count))
        default:
            writeInteger(UInt8(127))
            writeInteger(UInt64(count))
        }
        writeBytes(content)
    }

    /// The frame that ends a connection.
    init(ending code: WebSocketErrorCode) {
        var content = ByteBuffer()
        content.write(webSocketErrorCode: code)
        self.init(frame: .connectionClose, content.readableBytesView)
    }
}
