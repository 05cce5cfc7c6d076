import Synchronization

/// Hands a value that one task at a time may hold to the task that goes on with it.
final class Handover<Value>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: sending Value) { self.value = Mutex(value) }

    /// The value, for the first caller.
    func take() -> sending Value? {
        value.withLock { value in
            let taken = value
            value = nil
            return taken
        }
    }
}
