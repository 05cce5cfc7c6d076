import FetchJobs
import FetchRuntime
import Logging

// Jobs that wait at the gates of limiters, until their limits let them through.

extension Dispatcher {
    /// A job has left its places in these limiters.
    func leave(_ limiters: [Limiter.Address]) {
        if !limiters.isEmpty { intake.admit(limiters) }
    }

    /// Applies the signal of the origin's response to a job, so that no others spend attempts on being refused (R35).
    @inline(never)
    nonisolated(nonsending) func heed(_ signal: Limiter.Signal, askedAt start: Timestamp, of job: ClaimedJob) async {
        guard let host = job.hostLimiter else { return }
        let bounded = signal.bounded(by: configuration.longestOpenCircuit)
        do throws(StoreError) {
            guard try await queue.heed(bounded, of: host, askedAt: start) else { return }
            metrics.count(bounded)
            intake.admit([host])
        } catch {
            // The next answer says it again.
            logger.warning("the circuit of a host was not opened", metadata: ["error": "\(error)"])
        }
    }

    /// Lets jobs through as places are left and as time goes by.
    func keepGates() async {
        await intake.gateTimer.run {
            if let due = self.intake.gates.take() { await self.look(at: due) }
            if let wait = self.intake.gates.untilNext() { self.intake.gateTimer.set(after: wait) }
        }
    }

    private func look(at due: Gates.Due) async {
        let gates = intake.gates
        do throws(StoreError) {
            switch due {
            case .look(let last):
                gates.noteFound(try await queue.gatedLimiters(after: last, limit: gates.limit))
            case .limiters(let limiters):
                let admission = try await queue.admit(limiters)
                if admission.hasQueuedJobs { intake.wake() }
                gates.note(admission.next)
                report(admission.failures)
            }
        } catch {
            // The next heartbeat asks again.
            report([UpkeepFailure(.admission, error)])
        }
    }
}
