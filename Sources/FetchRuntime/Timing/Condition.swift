/// Something to be done is signalled any number of times and seen at least once after the last.
package final class Condition: Sendable {
    /// Ends when the signal is released or its consumer is cancelled; for one consumer.
    package let values: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() {
        (values, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func signal() { continuation.yield() }

    /// Returns at the next signal, at once when there was one since the last, and when the caller is cancelled.
    package func next() async { for await _ in values { return } }
}
