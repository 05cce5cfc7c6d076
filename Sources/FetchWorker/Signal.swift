/// Something to be done is signalled any number of times and seen at least once after the last.
final class Signal: Sendable {
    /// Ends when the signal is released or its consumer is cancelled; for one consumer.
    let values: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (values, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func send() { continuation.yield() }
}

/// Can be told that there is something to do.
package protocol Wakeable: Sendable {
    func wake()
}
