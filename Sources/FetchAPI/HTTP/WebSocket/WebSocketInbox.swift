import NIOCore
import NIOWebSocket
import Synchronization

/// What one WebSocket has to see to, in its order: frames of its client, texts of ours, silence, and its end.
///
/// Filled by the loop of its connection and by whoever has news; emptied by the one task that speaks to the client.
final class WebSocketInbox: Sendable {
    enum Event {
        case frame(WebSocketFrame)
        /// A text to send that the client has not asked for.
        case text(ByteBuffer)
        /// Nothing has come for a while.
        case silence
        /// It is over; the code is told to the client, nil when that has left.
        case end(WebSocketErrorCode?)
    }

    /// How many frames wait before no more is read from the connection.
    private static let maximumFrames = 16
    /// How many texts wait for a client that takes none; one more ends the connection.
    static let maximumTexts = 1000
    /// Without a frame for so long a client is asked whether it is there, and after as long again it is not.
    static let patience = Duration.seconds(30)

    /// How it ends: nil for a client that has left.
    private struct End {
        let code: WebSocketErrorCode?
    }

    private struct State {
        var frames = CircularBuffer<WebSocketFrame>()
        var texts = CircularBuffer<ByteBuffer>()
        var end: End?
        var isSilent = false
        var wasAsked = false
        var heardAt = ContinuousClock.now
        var waiter: CheckedContinuation<Void, Never>?
        var onRoom: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Tells the reader of the connection when there is room again.
    func setOnRoom(_ onRoom: (@Sendable () -> Void)?) { state.withLock { $0.onRoom = onRoom } }

    /// Whether no more is to come of it than its end.
    var isOver: Bool { state.withLock { $0.end != nil } }

    var hasRoom: Bool { state.withLock { $0.frames.count < Self.maximumFrames || $0.end != nil } }

    // MARK: Filling

    private func add(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func add(_ frame: WebSocketFrame) {
        add { state in
            guard state.end == nil else { return }
            state.frames.append(frame)
            state.heardAt = .now
            state.wasAsked = false
        }
    }

    /// A client that takes no news has its connection ended, so that nobody keeps them for it.
    func add(_ text: ByteBuffer) {
        add { state in
            guard state.end == nil else { return }
            guard state.texts.count < Self.maximumTexts else {
                state.end = End(code: .policyViolation)
                return
            }
            state.texts.append(text)
        }
    }

    /// - Parameter code: Nil when the client has left.
    func end(_ code: WebSocketErrorCode?) {
        add { state in
            // What was said first holds, but for who is there no more.
            if state.end == nil || code == nil { state.end = End(code: code) }
        }
    }

    /// Looks whether the client is silent.
    func tick(_ now: ContinuousClock.Instant = .now) {
        add { state in
            guard state.end == nil else { return }
            let silence = now - state.heardAt
            if silence >= Self.patience * 2 {
                state.end = End(code: nil)
            } else if silence >= Self.patience, !state.wasAsked {
                state.wasAsked = true
                state.isSilent = true
            }
        }
    }

    // MARK: Emptying

    /// The next event, when there is one; for one caller.
    func next() async -> Event {
        await withTaskCancellationHandler {
            while true {
                let (event, onRoom) = state.withLock { state in (Self.take(from: &state), state.onRoom) }
                if let event {
                    if case .frame = event { onRoom?() }
                    return event
                }
                await withCheckedContinuation { continuation in
                    let isThere = state.withLock { state in
                        if state.end != nil || state.isSilent || !state.frames.isEmpty || !state.texts.isEmpty {
                            return true
                        }
                        state.waiter = continuation
                        return false
                    }
                    if isThere { continuation.resume() }
                }
            }
        } onCancel: {
            end(nil)
        }
    }

    private static func take(from state: inout State) -> Event? {
        if let end = state.end { return .end(end.code) }
        if let text = state.texts.popFirst() { return .text(text) }
        if let frame = state.frames.popFirst() { return .frame(frame) }
        guard state.isSilent else { return nil }
        state.isSilent = false
        return .silence
    }
}
