import Synchronization

/// Counts failed authentications by address, so that guessing keys ends soon (SEC-43).
final class FailureLimiter: Sendable {
    private struct Window {
        var start: ContinuousClock.Instant
        var failures: Int
    }

    static let window = Duration.seconds(60)
    /// Addresses counted at once; beyond it the oldest knowledge is given up.
    static let maximumAddresses = 10_000

    /// Of one address in a ``window``.
    let limit: Int
    private let totalLimit: Int
    private let windows = Mutex<[String: Window]>([:])
    /// Stands for all addresses together; no address is written like it.
    private static let total = "*"

    init(limit: Int, totalLimit: Int) {
        self.limit = limit
        self.totalLimit = totalLimit
    }

    /// Seconds until an address may fail again, or nil when it may now.
    func wait(for address: String, now: ContinuousClock.Instant) -> Int? {
        windows.withLock { windows in
            let waits = [(address, limit), (Self.total, totalLimit)].compactMap { key, limit -> Int? in
                guard let window = windows[key], window.failures >= limit else { return nil }
                let rest = window.start + Self.window - now
                return rest > .zero ? max(1, Int(rest.components.seconds)) : nil
            }
            return waits.max()
        }
    }

    func fail(_ address: String, now: ContinuousClock.Instant) {
        windows.withLock { windows in
            if windows.count >= Self.maximumAddresses {
                windows = windows.filter { now - $0.value.start < Self.window }
                if windows.count >= Self.maximumAddresses { windows.removeAll() }
            }
            for key in [address, Self.total] {
                var window = windows[key] ?? Window(start: now, failures: 0)
                if now - window.start >= Self.window { window = Window(start: now, failures: 0) }
                window.failures += 1
                windows[key] = window
            }
        }
    }
}
