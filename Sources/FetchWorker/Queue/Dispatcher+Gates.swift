import FetchJobs
import Logging
import Synchronization

// Jobs that wait at the gates of limiters, until their limits let them through.

extension Dispatcher {
    /// A job has left its places in these limiters.
    func leave(_ limiters: [Limiter.Address]) {
        if !limiters.isEmpty { intake.admit(limiters) }
    }

    /// Goes by what the origin has answered a job, so that no others spend attempts on being refused (R35).
    nonisolated(nonsending) func heed(_ outcome: JobOutcome, of job: ClaimedJob) async {
        guard let signal = outcome.signal, let host = job.spec.hostLimiter(of: job.tenant) else { return }
        let bounded = signal.bounded(by: configuration.longestOpenCircuit)
        do throws(StoreError) {
            if try await queue.heed(bounded, of: host, askedAt: outcome.startedAt) { intake.admit([host]) }
        } catch {
            // The next answer says it again.
            logger.warning("the circuit of a host was not opened", metadata: ["error": "\(error)"])
        }
    }

    /// Lets jobs through as places are left and as time goes by.
    func keepGates() async {
        await intake.gateTimer.run {
            guard let due = self.intake.gates.take() else { return }
            do throws(StoreError) {
                let admission = try await self.queue.admit(due.limiters)
                if admission.hasQueuedJobs { self.intake.wake() }
                self.intake.gates.note(admission.next)
                self.report(admission.failures)
            } catch {
                // The next heartbeat asks again.
                self.report([UpkeepFailure(.admission, error)])
            }
            if let wait = self.intake.gates.untilNext() { self.intake.gateTimer.set(after: wait) }
        }
    }
}

/// The limiters whose gates this node is to look at, and when.
final class Gates: Sendable {
    struct Due {
        /// Nil for all.
        let limiters: [Limiter.Address]?
    }

    private struct State {
        var times: [Limiter.Address: ContinuousClock.Instant] = [:]
        var looksAtAll = false
    }

    private let clock: NodeClock
    private let state = Mutex(State())

    init(clock: NodeClock = .continuous) { self.clock = clock }

    /// Nil for all.
    func note(_ limiters: [Limiter.Address]?) {
        state.withLock { state in
            guard let limiters else { return state.looksAtAll = true }
            for limiter in limiters { state.times[limiter] = clock.now }
        }
    }

    func note(_ waits: [Limiter.Address: Duration]) {
        state.withLock { state in
            let now = clock.now
            for (limiter, wait) in waits { state.times[limiter] = min(state.times[limiter] ?? now + wait, now + wait) }
        }
    }

    /// What is due; nil when nothing is.
    func take() -> Due? {
        state.withLock { state in
            if state.looksAtAll {
                state.looksAtAll = false
                state.times = [:]
                return Due(limiters: nil)
            }
            let now = clock.now
            let due = state.times.filter { $0.value <= now }.map(\.key)
            for limiter in due { state.times[limiter] = nil }
            return due.isEmpty ? nil : Due(limiters: due)
        }
    }

    /// How long nothing is due; nil when nothing will be.
    func untilNext() -> Duration? {
        state.withLock { $0.looksAtAll ? .zero : $0.times.values.min().map { max(.zero, $0 - clock.now) } }
    }
}
