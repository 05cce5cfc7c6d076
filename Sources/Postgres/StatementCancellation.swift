import CLibPQ
import Glibc

/// A request to the server to cancel the statement of one connection.
///
/// libpq sends it over a connection of its own and blocks meanwhile, so it gets a thread of its own for that time.
// @unchecked: the handle is made on the loop and then used and freed by one thread alone.
final class StatementCancellation: @unchecked Sendable {
    private let handle: OpaquePointer
    private var continuation: CheckedContinuation<Bool, Never>?

    /// - Parameter connection: An open PGconn; only looked at here.
    init?(of connection: OpaquePointer) {
        guard let handle = PQgetCancel(connection) else { return nil }
        self.handle = handle
    }

    deinit { PQfreeCancel(handle) }

    /// - Returns: whether the server took the request; it does not say whether there was anything to stop.
    func send() async -> Bool {
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            var thread = pthread_t()
            let context = Unmanaged.passRetained(self)
            let status = pthread_create(
                &thread, nil,
                { context in
                    if let context { Unmanaged<StatementCancellation>.fromOpaque(context).takeRetainedValue().finish() }
                    return nil
                }, context.toOpaque())
            guard status == 0 else {
                context.release()
                return continuation.resume(returning: false)
            }
            pthread_detach(thread)
        }
    }

    private func finish() {
        var reason = [CChar](repeating: 0, count: 256)
        let isSent = PQcancel(handle, &reason, Int32(reason.count)) == 1
        continuation?.resume(returning: isSent)
        continuation = nil
    }
}
