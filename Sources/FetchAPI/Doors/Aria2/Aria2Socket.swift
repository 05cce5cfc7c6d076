import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import NIOWebSocket

/// One client at the door by WebSocket: it calls in text frames, one call after the other, and is told of its downloads.
struct Aria2Socket {
    /// A message may have as many frames, so that empty ones do not go on for ever.
    private static let maximumFrames = 1024
    /// How many messages somebody may send who has shown no valid key.
    private static let maximumMessagesOfStrangers = 100

    let door: Aria2Door
    let call: Call
    let responder: Responder
    let inbox: WebSocketInbox
    /// Whose downloads it is told of, once that is known.
    private var key: APIKey?
    private var strangeMessages = 0
    private var message = ByteBuffer()
    private var frames = 0

    /// - Parameter key: The key of the handshake; nil for none.
    init(door: Aria2Door, call: Call, responder: Responder, inbox: WebSocketInbox, key: APIKey?) {
        self.door = door
        self.call = call
        self.responder = responder
        self.inbox = inbox
        self.key = key
    }

    /// Speaks to the client until one of both has enough.
    mutating func converse(_ writer: inout any ResponseBodyWriter) async throws {
        while true {
            switch await inbox.next() {
            case .text(let text): try await writer.write(text)
            case .silence: try await writer.write(ByteBuffer(frame: .ping, [UInt8]()))
            case .end(let code):
                if let code { try await writer.write(ByteBuffer(ending: code)) }
                return
            case .frame(let frame):
                switch await answer(frame) {
                case .nothing: break
                case .write(let buffer): try await writer.write(buffer)
                case .end(let last): return try await writer.write(last)
                }
            }
        }
    }

    // MARK: Frames

    private enum Reaction {
        case nothing
        case write(ByteBuffer)
        case end(ByteBuffer)

        static func end(_ code: WebSocketErrorCode) -> Self { .end(ByteBuffer(ending: code)) }
    }

    private mutating func answer(_ frame: WebSocketFrame) async -> Reaction {
        guard frame.maskKey != nil, frame.reservedBits.isEmpty else { return .end(.protocolError) }
        switch frame.opcode {
        case .ping: return .write(ByteBuffer(frame: .pong, frame.unmaskedData.readableBytesView))
        case .pong: return .nothing
        case .connectionClose: return .end(Self.farewell(to: frame.unmaskedData))
        case .binary: return .end(.unacceptableData)
        case .text where frames == 0, .continuation where frames > 0: return await take(frame)
        default: return .end(.protocolError)
        }
    }

    /// The code that the client has given, where it is one that may be given (RFC 6455 §7.4).
    private static func farewell(to content: ByteBuffer) -> ByteBuffer {
        guard content.readableBytes > 0 else { return ByteBuffer(frame: .connectionClose, [UInt8]()) }
        guard let code = content.getInteger(at: content.readerIndex, as: UInt16.self),
            (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
        else { return ByteBuffer(ending: .protocolError) }
        return ByteBuffer(ending: WebSocketErrorCode(codeNumber: Int(code)))
    }

    private mutating func take(_ frame: WebSocketFrame) async -> Reaction {
        var content = frame.unmaskedData
        frames += 1
        guard message.readableBytes + content.readableBytes <= Aria2Door.maximumBody, frames <= Self.maximumFrames
        else {
            return .end(.messageTooLarge)
        }
        if message.readableBytes == 0 { message = content } else { message.writeBuffer(&content) }
        guard frame.fin else { return .nothing }
        let whole = message
        (message, frames) = (ByteBuffer(), 0)
        guard String(validating: whole.readableBytesView, as: UTF8.self) != nil else {
            return .end(.dataInconsistentWithMessage)
        }
        return await answer(whole)
    }

    // MARK: Calls

    private mutating func answer(_ message: ByteBuffer) async -> Reaction {
        let came = Timestamp.now
        let (answer, shown) = await door.answer(Aria2Request(reading: message.readableBytesView), to: call, responder)
        if key == nil {
            if let shown {
                key = shown
                guard door.watch.tell(inbox, of: shown, since: came) else { return .end(.policyViolation) }
            } else {
                strangeMessages += 1
                guard strangeMessages <= Self.maximumMessagesOfStrangers else { return .end(.policyViolation) }
            }
        }
        return .write(ByteBuffer(frame: .text, answer.bytes))
    }
}
