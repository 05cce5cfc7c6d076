import Glibc

/// Threads for calls that block for long: loops and the tasks of the process have few threads, which others need.
package enum DetachedThread {
    private final class Box: Sendable {
        let action: @Sendable () -> Void

        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    }

    /// Runs an action on a thread that ends with it.
    ///
    /// - Returns: false when the system has no thread; the action does not run then.
    package static func start(_ action: @escaping @Sendable () -> Void) -> Bool {
        let box = Unmanaged.passRetained(Box(action))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().action() }
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
