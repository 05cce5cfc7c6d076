import FetchJobs
import FetchRuntime
import Logging

// Jobs that wait for a connection to their host: a few on the node, all others at the gate of the host's limiter.

extension Dispatcher {
    /// Waits until a job may load.
    ///
    /// Not inlined: its frame is gone while the job loads.
    ///
    /// - Parameter maximum: How many connections to its host it may be one of.
    /// - Returns: false when it waits in the queue again.
    @inline(never)
    nonisolated(nonsending) func waitForConnection(
        _ job: ClaimedJob, _ stop: StopSwitch, maximum: Int
    ) async throws(StoreError) -> Bool {
        guard let origin = job.originQueue else { return true }
        if quarantine.has(job.id) {
            slots.enterAhead(stop)
            return true
        }
        let crowd = intake.limits.crowd(of: origin.limiter)
        // Jobs that run without being counted would exceed the number that all nodes together may have.
        if !job.isCounted, slots.isToBeCounted(ofMaximum: maximum, isCrowded: crowd != nil) {
            let returned = try await queue.setCrowd(crowd ?? maximum, of: origin.limiter, givingBack: [job])
            intake.admit([origin.limiter])
            if returned.contains(job.id) { return false }
        }
        return await slots.enter(job, stop, maximum: maximum, isCounted: crowd.map { $0 <= maximum } ?? false) {
            originQueueTimer.set(after: OriginQueue.window)
        }
    }

    /// Looks now and then, while jobs wait in origin queues, whether these are more than their hosts answer.
    func keepOriginQueues() async {
        await originQueueTimer.run {
            let (surplus, looksAgain) = self.slots.judge { self.intake.limits.crowd(of: $0) }
            for surplus in surplus { await self.giveBack(surplus) }
            if looksAgain { self.originQueueTimer.set(after: OriginQueue.window) }
        }
    }

    /// Has jobs wait at the gate of their host, out of the way of all others.
    private func giveBack(_ surplus: Slots.Surplus) async {
        do throws(StoreError) {
            let returned = try await queue.setCrowd(
                surplus.limit, of: surplus.limiter, givingBack: surplus.waiters.map(\.job))
            slots.goOn(surplus.waiters.filter { !returned.contains($0.job.id) })
            for waiter in surplus.waiters where returned.contains(waiter.job.id) {
                waiter.continuation.resume(returning: false)
            }
            intake.admit([surplus.limiter])
        } catch {
            // Nobody can tell whether they were: the next heartbeat gives back the jobs that this node has without
            // running them.
            logger.warning("jobs may not have been given back", metadata: ["error": "\(error)"])
            intake.noteUncertainCommit()
            for waiter in surplus.waiters { waiter.continuation.resume(returning: false) }
        }
    }

    /// Gives those back that wait while the node stops.
    func releaseWaiting() async {
        let waiters = slots.takeWaiters()
        do throws(StoreError) { try await queue.release(waiters.map(\.job)) } catch {
            // They are rescued when the lease has run out.
            logger.warning("waiting jobs were not released", metadata: ["error": "\(error)"])
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }
}
