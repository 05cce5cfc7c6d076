import EventLoop

/// Runs work that may block for long on a thread of its own: the tasks of the process share a few.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: body()) }
    }
}

func startThread(_ action: @escaping @Sendable () -> Void) {
    // Without a thread it has to be done here, which is better than never.
    if !DetachedThread.start(action) { action() }
}
