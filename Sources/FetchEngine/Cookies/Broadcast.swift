import Synchronization

/// Sends the newest element to any number of readers.
///
/// A reader that is late misses the elements before the newest.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    deinit {
        for reader in state.withLock({ $0.readers.values }) { reader.finish() }
    }

    /// A stream of the elements from now on; it ends with the sender.
    package func stream() -> AsyncStream<Element> {
        let (stream, reader) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextNumber += 1
            state.readers[state.nextNumber] = reader
            return state.nextNumber
        }
        reader.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.readers.removeValue(forKey: number) }
        }
        return stream
    }

    package func send(_ element: Element) {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.yield(element) }
    }
}
