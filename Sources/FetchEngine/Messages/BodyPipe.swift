import Synchronization

/// A bounded pipe from the task that makes a request body to the transfer that sends it.
///
/// The writer suspends while the pipe holds more than its capacity, so a slow network slows it down. Writing has one
/// task at a time. As a body it can be sent once; a body that may have to be repeated needs a provider.
///
/// ```swift
/// let pipe = BodyPipe()
/// async let sent = session.uploadTask(with: request, from: .stream(pipe)).data()
/// for number in 1...1000 { try await pipe.write(Array("\(number)\n".utf8)) }
/// pipe.finish()
/// let (answer, response) = try await sent
/// ```
public final class BodyPipe: Sendable, BodyStreamProvider {
    /// Thrown to the writer once the transfer wants no more: it is over, or the server has answered already.
    public struct Closed: Error {
        /// Makes the error.
        public init() {}
    }

    /// The result of a read by the transfer.
    enum Reading: Equatable {
        case bytes(Int)
        /// Nothing yet; the reader is notified when to look again.
        case later
        case end
        case failed
    }

    fileprivate struct State {
        var bytes: [UInt8] = []
        var offset = 0
        var isFinished = false
        var hasFailed = false
        var isClosed = false
        var isTaken = false
        var writer: CheckedContinuation<Void, Never>?
        var onReadable: (@Sendable () -> Void)?
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// Makes an empty pipe.
    ///
    /// - Parameter capacity: How many bytes it holds before the writer has to wait.
    public init(capacity: Int = 256 * 1024) { self.capacity = capacity }

    /// Itself, the first time it is asked.
    public func makeStream() async -> BodyPipe? {
        state.withLock { state in
            defer { state.isTaken = true }
            return state.isTaken ? nil : self
        }
    }

    // MARK: The writer

    /// Appends bytes, and returns once the pipe is below its capacity again.
    ///
    /// - Throws: `Closed` when the transfer takes no more, `CancellationError` when the writing task is cancelled.
    public func write(_ bytes: [UInt8]) async throws {
        try Task.checkCancellation()
        let (isClosed, onReadable) = state.withLock { state in
            if !state.isClosed { state.bytes.append(contentsOf: bytes) }
            defer { state.onReadable = nil }
            return (state.isClosed, state.onReadable)
        }
        onReadable?()
        guard !isClosed else { throw Closed() }
        await room()
        guard !state.withLock({ $0.isClosed }) else { throw Closed() }
        try Task.checkCancellation()
    }

    /// Ends the body.
    public func finish() { end { $0.isFinished = true } }

    /// Ends the body short: the load fails with `requestBodyStreamExhausted`.
    public func fail() { end { $0.hasFailed = true } }

    private func room() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayGoOn = state.withLock { state in
                    let mayGoOn = state.bytes.count - state.offset < capacity || state.isClosed || Task.isCancelled
                    if !mayGoOn { state.writer = continuation }
                    return mayGoOn
                }
                if mayGoOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.writer.take() }?.resume()
        }
    }

    private func end(_ change: (inout State) -> Void) {
        let onReadable = state.withLock { state in
            change(&state)
            return state.onReadable.take()
        }
        onReadable?()
    }

    // MARK: The transfer

    /// How many bytes it holds, including those that were read and not dropped yet.
    var kept: Int { state.withLock { $0.bytes.count } }

    /// Moves bytes into the buffer; when there are none yet, `onReadable` is called once there are.
    func read(into buffer: UnsafeMutableRawBufferPointer, onReadable: @escaping @Sendable () -> Void) -> Reading {
        let (reading, writer) = state.withLock { state in
            let count = min(buffer.count, state.bytes.count - state.offset)
            guard count > 0 else { return (state.emptyReading(onReadable), nil as CheckedContinuation<Void, Never>?) }
            state.bytes.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.offset..<state.offset + count]))
            }
            state.consume(count, capacity: capacity)
            let hasRoom = state.bytes.count - state.offset < capacity
            return (.bytes(count), hasRoom ? state.writer.take() : nil)
        }
        writer?.resume()
        return reading
    }

    // MARK: A reader that waits

    /// The next bytes, once there are some; nil at the end.
    ///
    /// - Throws: `requestBodyStreamExhausted` when the writer breaks off.
    package func next() async throws(LoadError) -> [UInt8]? {
        while true {
            let (reading, bytes, writer) = state.withLock { $0.takeAll() }
            writer?.resume()
            switch reading {
            case .bytes: return bytes
            case .end: return nil
            case .failed: throw LoadError(.requestBodyStreamExhausted, "The body breaks off.")
            case .later: await readable()
            }
        }
    }

    private func readable() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.bytes.isEmpty, !state.isFinished, !state.hasFailed {
                    state.onReadable = { continuation.resume() }
                    return false
                }
                return true
            }
            if isReady { continuation.resume() }
        }
    }

    /// Lets the writer know that nothing more is taken.
    package func close() {
        let writer = state.withLock { state in
            state.isClosed = true
            state.onReadable = nil
            state.bytes = []
            state.offset = 0
            return state.writer.take()
        }
        writer?.resume()
    }
}

extension BodyPipe.State {
    /// What there is, of which nothing was read in another way.
    fileprivate mutating func takeAll() -> (BodyPipe.Reading, [UInt8], writer: CheckedContinuation<Void, Never>?) {
        guard !bytes.isEmpty else { return (hasFailed ? .failed : isFinished ? .end : .later, [], nil) }
        defer { bytes = [] }
        return (.bytes(bytes.count), bytes, writer.take())
    }

    fileprivate mutating func emptyReading(_ onReadable: @escaping @Sendable () -> Void) -> BodyPipe.Reading {
        if hasFailed { return .failed }
        if isFinished { return .end }
        self.onReadable = onReadable
        return .later
    }

    /// A writer that is always ahead never lets the pipe run empty, so the read bytes are dropped once they are many.
    fileprivate mutating func consume(_ count: Int, capacity: Int) {
        offset += count
        guard offset == bytes.count || offset >= capacity else { return }
        bytes.removeSubrange(..<offset)
        offset = 0
    }
}
