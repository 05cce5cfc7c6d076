package import FetchJobs
import Synchronization

/// Whether the jobs of a tenant wait in the queue for longer than is of use, as their claims show (REL-12).
///
/// The shortest wait of a while counts, as in CoDel (RFC 8289): that some wait for long, because they matter less or
/// came in a crowd, is what a queue is for; that all do means that more come than can ever be done.
package final class QueueDelays: Sendable {
    /// How long the jobs of a tenant may all wait before it can send no more.
    package static let limit = Duration.seconds(300)
    /// How long a while is.
    static let window = Duration.seconds(10)

    fileprivate struct Delay {
        /// When the while began, and when a job was last claimed.
        var since: ContinuousClock.Instant
        var last: ContinuousClock.Instant
        /// The shortest wait since then, and in the while before.
        var shortest: Duration
        var before = Duration.zero

        /// Nothing is known any more once no job has been claimed for a while.
        func isOver(at now: ContinuousClock.Instant) -> Bool { now - last >= QueueDelays.window }
    }

    fileprivate struct State {
        var delays: [Tenant.ID: Delay] = [:]
        var sweptAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    package init() {}

    /// Jobs of a tenant were claimed.
    ///
    /// - Parameter waited: For how long the one had been due that waited for the shortest time.
    package func note(_ waited: Duration, of tenant: Tenant.ID, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.sweep(at: now)
            guard var delay = state.delays[tenant], !delay.isOver(at: now) else {
                state.delays[tenant] = Delay(since: now, last: now, shortest: waited)
                return
            }
            if now - delay.since >= Self.window {
                (delay.before, delay.shortest, delay.since) = (delay.shortest, waited, now)
            }
            delay.shortest = min(delay.shortest, waited)
            delay.last = now
            state.delays[tenant] = delay
        }
    }

    /// Whether a tenant is to send no more for now.
    package func areTooLong(for tenant: Tenant.ID, at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            guard let delay = state.delays[tenant], !delay.isOver(at: now) else { return false }
            return min(delay.before, delay.shortest) > Self.limit
        }
    }
}

extension QueueDelays.State {
    /// Forgets tenants that have sent nothing for a while.
    fileprivate mutating func sweep(at now: ContinuousClock.Instant) {
        guard now - sweptAt >= QueueDelays.window else { return }
        sweptAt = now
        delays = delays.filter { !$0.value.isOver(at: now) }
    }
}
