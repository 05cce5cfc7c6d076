import FetchJobs
import Synchronization

/// Counts failed authentications by client, so that clients that guess keys are stopped (SEC-43).
///
/// It is asked about failures only: a limit that a right key could meet would let anybody lock everybody out.
final class FailureLimiter: Sendable {
    private struct Window {
        var start: ContinuousClock.Instant
        var failures: Int
    }

    static let window = Duration.seconds(60)
    /// Clients counted at once; beyond it the oldest knowledge is given up.
    static let maximumClients = 10_000

    /// Of one client in a ``window``.
    let limit: Int
    private let totalLimit: Int
    private let windows = Mutex<[Key: Window]>([:])

    private enum Key: Hashable {
        case one(ClientNetwork?)
        case all
    }

    init(limit: Int, totalLimit: Int) {
        self.limit = limit
        self.totalLimit = totalLimit
    }

    /// Seconds until a client may fail again, or nil when it may now.
    func wait(for client: ClientNetwork?, now: ContinuousClock.Instant) -> Int? {
        windows.withLock { windows in
            let waits = [(Key.one(client), limit), (.all, totalLimit)].compactMap { key, limit -> Int? in
                guard let window = windows[key], window.failures >= limit else { return nil }
                let rest = window.start + Self.window - now
                return rest > .zero ? max(1, Int(rest.components.seconds)) : nil
            }
            return waits.max()
        }
    }

    func fail(_ client: ClientNetwork?, now: ContinuousClock.Instant) {
        windows.withLock { windows in
            if windows.count >= Self.maximumClients {
                windows = windows.filter { now - $0.value.start < Self.window }
                if windows.count >= Self.maximumClients { windows.removeAll() }
            }
            for key in [Key.one(client), .all] {
                var window = windows[key] ?? Window(start: now, failures: 0)
                if now - window.start >= Self.window { window = Window(start: now, failures: 0) }
                window.failures += 1
                windows[key] = window
            }
        }
    }
}
