import CEpoll
import Glibc

/// Runs work that may block for long on a thread of its own: the tasks of the process share a few.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: body()) }
    }
}

func startThread(_ action: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    }
    let box = Unmanaged.passRetained(Box(action))
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let status = pthread_create(
        &thread, &attributes,
        { context in
            context.map { Unmanaged<Box>.fromOpaque($0).takeRetainedValue().action() }
            return nil
        }, box.toOpaque())
    pthread_attr_destroy(&attributes)
    // Without a thread it has to be done here, which is better than never.
    if status != 0 { box.takeRetainedValue().action() }
}
