import CLibPQ
import EventLoop

/// A request to the server to cancel the statement of one connection.
///
/// libpq sends it over a connection of its own and blocks meanwhile, so it gets a thread of its own for that time.
// @unchecked: the handle is made on the loop and then used and freed by one thread alone.
final class StatementCancellation: @unchecked Sendable {
    private let handle: OpaquePointer

    /// - Parameter connection: An open PGconn; only looked at here.
    init?(of connection: OpaquePointer) {
        guard let handle = PQgetCancel(connection) else { return nil }
        self.handle = handle
    }

    deinit { PQfreeCancel(handle) }

    /// - Returns: whether the server took the request; it does not say whether there was anything to stop.
    func send() async -> Bool {
        await withCheckedContinuation { continuation in
            if !DetachedThread.start({ continuation.resume(returning: self.cancel()) }) {
                continuation.resume(returning: false)
            }
        }
    }

    private func cancel() -> Bool {
        var reason = [CChar](repeating: 0, count: 256)
        return PQcancel(handle, &reason, Int32(reason.count)) == 1
    }
}
