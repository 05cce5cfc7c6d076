package import FetchJobs
import FetchRuntime
import Synchronization

/// The queue as one node of a test sees it, in memory: the second form of ``WorkQueue``.
///
/// Nodes share the jobs of a ``MemoryJobStore``. It has no limiters: every job is in none.
package final class MemoryWorkQueue: WorkQueue {
    /// The state of a job that is not final, beside the one that its clients see.
    struct Row {
        var claim: Int32 = 0
        var node: Node.ID?
        var claimedAt: Timestamp?
        var tries = 0
        var begun = false
        var keepsPartial = false
        /// How often it was lost with its node, or by it.
        var crashes = 0
        /// With how many it is tried.
        var company = 0
        /// The claim under which it has its node for itself.
        var trialClaim: Int32 = 0
        var dueAt: Timestamp
        var expiresAt: Timestamp?

        init(dueAt: Timestamp, expiresAt: Timestamp?) {
            (self.dueAt, self.expiresAt) = (dueAt, expiresAt)
        }

        /// Only the number of claims outlives the end of the job.
        mutating func end() {
            let claim = claim
            self = Row(dueAt: dueAt, expiresAt: nil)
            self.claim = claim
        }

        /// It waits for a claim again.
        mutating func release() { (node, claimedAt, begun) = (nil, nil, false) }

        var isSuspect: Bool { crashes >= 2 }

        /// How many it may be tried with next.
        var mostCompany: Int { company == 0 ? 16 : max(1, company / 4) }

        func isHeld(by node: Node.ID, under claim: Int32) -> Bool { self.node == node && self.claim == claim }
    }

    private let store: MemoryJobStore
    private let node: Node.ID
    /// After how many losses of its own a job is not tried any more.
    private static let maximumCrashes = 5

    /// - Parameter store: Where the jobs are, of all nodes.
    package init(_ store: MemoryJobStore, node: Node.ID = Node.ID()) {
        self.store = store
        self.node = node
    }

    // MARK: For tests

    /// The node's lease runs out.
    package func lose() { store.state.withLock { $0.leases[node] = false } }

    /// Moves all that jobs have waited for or been claimed since into the past.
    package func letPass(_ time: Duration) {
        store.state.withLock { state in
            for id in state.rows.keys {
                guard var row = state.rows[id] else { continue }
                row.dueAt = row.dueAt.advanced(by: .zero - time)
                row.claimedAt = row.claimedAt?.advanced(by: .zero - time)
                row.expiresAt = row.expiresAt?.advanced(by: .zero - time)
                state.rows[id] = row
                let end = state.jobs[id]?.finishedAt?.advanced(by: .zero - time)
                state.jobs[id]?.finishedAt = end
            }
        }
    }

    /// Has the next call of a kind fail, before or after it has done its work.
    package func fail(_ call: Call, with error: StoreError, losingTheAnswer: Bool = false) {
        store.state.withLock { $0.faults[call, default: []].append(Fault(error: error, isLate: losingTheAnswer)) }
    }

    /// The calls that can be made to fail.
    package enum Call: Hashable, Sendable {
        case claim, begin, settle, retry, heartbeat, look, reconcile, rescue, promote
    }

    struct Fault {
        let error: StoreError
        let isLate: Bool
    }

    /// Does something under the lock, unless that is to fail.
    private func attempt<Value>(
        _ call: Call, _ body: (inout MemoryJobStore.State) -> Value
    ) throws(StoreError) -> Value {
        let result = store.state.withLock { state -> Result<Value, StoreError> in
            guard let fault = state.faults[call]?.first else { return .success(body(&state)) }
            state.faults[call]?.removeFirst()
            if fault.isLate { _ = body(&state) }
            return .failure(fault.error)
        }
        return try result.get()
    }

    // MARK: JobClaiming

    package func claim(upTo limit: Int, room: ClaimRoom) async throws(StoreError) -> Claim {
        try attempt(.claim) { state in
            var (room, jobs, full) = (room, [ClaimedJob](), Set<Tenant.ID>())
            let waiting = Self.waiting(in: state).filter { state.rows[$0]?.isSuspect == false }
            for id in waiting where jobs.count < limit {
                guard let tenant = state.jobs[id]?.tenant else { continue }
                guard room.of(tenant) > 0 else {
                    full.insert(tenant)
                    continue
                }
                room.take(1, of: tenant)
                if let job = self.take(id, in: &state) { jobs.append(job) }
            }
            return Claim(jobs: jobs, isLast: jobs.count < limit, full: full)
        }
    }

    package func nextTrial() async throws(StoreError) -> Int? {
        store.state.withLock { state in
            Self.waiting(in: state).compactMap { state.rows[$0] }.filter(\.isSuspect).map(\.mostCompany).max()
        }
    }

    package func claimSuspects(_ count: Int) async throws(StoreError) -> [ClaimedJob] {
        store.state.withLock { state in
            Self.waiting(in: state)
                .filter { state.rows[$0].map { $0.isSuspect && $0.mostCompany == count } ?? false }
                .prefix(count).compactMap { self.take($0, in: &state) }
        }
    }

    /// The jobs that can be claimed, the most urgent first, and of equals the oldest.
    private static func waiting(in state: MemoryJobStore.State) -> [Job.ID] {
        state.jobs.values.filter { $0.state == .queued && state.rows[$0.id]?.node == nil }
            .map(\.id).sorted { state.comes($0, before: $1) }
    }

    private func take(_ id: Job.ID, in state: inout MemoryJobStore.State) -> ClaimedJob? {
        guard let job = state.jobs[id], let spec = state.specs[id], var row = state.rows[id] else { return nil }
        row.claim += 1
        (row.node, row.claimedAt) = (node, .now)
        state.rows[id] = row
        state.jobs[id]?.state = .running
        state.jobs[id]?.startedAt = .now
        return ClaimedJob(
            id: id, tenant: job.tenant, spec: spec, claim: row.claim, tries: row.tries, expiresAt: row.expiresAt)
    }

    // MARK: JobLifeCycle

    package nonisolated(nonsending) func begin(_ job: ClaimedJob) async throws(StoreError) -> Bool {
        try attempt(.begin) { state in
            guard self.holds(job, in: state) else { return false }
            state.rows[job.id]?.begun = true
            return true
        }
    }

    package func beginTrial(_ jobs: [ClaimedJob], isAlone: Bool) async throws(StoreError) -> Set<Job.ID> {
        store.state.withLock { state in
            let held = jobs.filter { holds($0, in: state) }
            for job in held {
                state.rows[job.id]?.company = jobs.count
                state.rows[job.id]?.trialClaim = isAlone ? job.claim : 0
            }
            return Set(held.map(\.id))
        }
    }

    package nonisolated(nonsending) func settle(
        _ job: ClaimedJob, _ outcome: JobOutcome
    ) async throws(StoreError) -> Bool {
        let isOurs = try attempt(.settle) { state in
            guard self.holds(job, in: state) else { return false }
            state.jobs[job.id]?.attempts.append(Self.attempt(job, outcome))
            state.jobs[job.id]?.response = outcome.response?.named
            state.jobs[job.id]?.error = outcome.error
            state.jobs[job.id]?.file = outcome.file
            self.end(job.id, outcome.state, outcome.body, in: &state)
            for callback in outcome.callbacks { _ = MemoryJobStore.enqueue(callback, in: &state) }
            return true
        }
        if isOurs { store.waiters.finish([job.id]) }
        return isOurs
    }

    package nonisolated(nonsending) func retry(
        _ job: ClaimedJob, _ outcome: JobOutcome, after wait: Duration
    ) async throws(StoreError) -> Bool {
        try attempt(.retry) { state in
            guard self.holds(job, in: state), state.jobs[job.id]?.isCancelling == false else { return false }
            let time = Timestamp.now.advanced(by: wait)
            state.rows[job.id]?.release()
            state.rows[job.id]?.tries += 1
            state.rows[job.id]?.dueAt = time
            state.jobs[job.id]?.attempts.append(Self.attempt(job, outcome, next: time))
            state.jobs[job.id]?.state = .scheduled
            state.jobs[job.id]?.startedAt = nil
            for callback in outcome.callbacks { _ = MemoryJobStore.enqueue(callback, in: &state) }
            return true
        }
    }

    @discardableResult
    package func release(_ jobs: [ClaimedJob]) async throws(StoreError) -> Set<Job.ID> {
        let (released, ended) = store.state.withLock { state in
            let held = jobs.filter { holds($0, in: state) }.map(\.id)
            let ended = held.filter { state.jobs[$0]?.isCancelling == true }
            for id in ended { end(id, .cancelled, in: &state) }
            let released = held.filter { !ended.contains($0) && state.rows[$0]?.begun == false }
            for id in released { Self.putBack(id, in: &state) }
            return (released, ended)
        }
        store.waiters.finish(ended)
        return Set(released + ended)
    }

    private func holds(_ job: ClaimedJob, in state: MemoryJobStore.State) -> Bool {
        state.rows[job.id]?.isHeld(by: node, under: job.claim) ?? false
    }

    private static func attempt(_ job: ClaimedJob, _ outcome: JobOutcome, next: Timestamp? = nil) -> Job.Attempt {
        Job.Attempt(
            number: Int(job.claim), startedAt: outcome.startedAt, finishedAt: outcome.finishedAt, state: outcome.state,
            errorName: outcome.errorName, status: outcome.status, nextAttemptAt: next,
            metrics: outcome.transfers?.named(since: outcome.startedAt), decisions: outcome.decisions)
    }

    private static func putBack(_ id: Job.ID, in state: inout MemoryJobStore.State) {
        state.rows[id]?.release()
        state.jobs[id]?.startedAt = nil
        if state.jobs[id]?.state == .running { state.jobs[id]?.state = .queued }
    }

    private func end(
        _ id: Job.ID, _ final: JobState, _ body: JobOutcome.Body? = nil, in state: inout MemoryJobStore.State
    ) {
        state.jobs[id]?.state = final
        state.jobs[id]?.finishedAt = .now
        state.jobs[id]?.isCancelling = false
        state.rows[id]?.end()
        guard let body else { return }
        let stored =
            switch body {
            case .inline(let bytes):
                StoredBody(
                    location: .inline(bytes), bytes: Int64(bytes.count), digest: SHA256Digest(of: bytes),
                    contentType: "text/plain")
            case .blob(let blob):
                StoredBody(location: .blob(blob.id), bytes: blob.bytes, digest: blob.digest, contentType: "text/plain")
            }
        state.bodies[id] = stored
        state.jobs[id]?.body = Job.BodySummary(bytes: stored.bytes, digest: stored.digest)
    }

    // MARK: JobAdmission

    package func limiters(of job: ClaimedJob) -> [Limiter.Address] { [] }

    package func admit(_ limiters: [Limiter.Address]) async throws(StoreError) -> Admission { Admission() }

    package func gatedLimiters(
        after last: Limiter.Address?, limit: Int
    ) async throws(StoreError) -> [Limiter.Address] { [] }

    package nonisolated(nonsending) func heed(
        _ signal: Limiter.Signal, of host: Limiter.Address, askedAt time: Timestamp
    ) async throws(StoreError) -> Bool { false }

    package func setCrowd(
        _ limit: Int, of host: Limiter.Address, givingBack surplus: [ClaimedJob]
    ) async throws(StoreError) -> Set<Job.ID> {
        try await release(surplus)
        return Set(surplus.map(\.id))
    }

    // MARK: QueueMaintenance

    package func heartbeat() async throws(StoreError) -> Heartbeat { try read(.heartbeat, extendsLease: true) }

    package func leave() async throws(StoreError) { lose() }

    package func look() async throws(StoreError) -> Heartbeat { try read(.look, extendsLease: false) }

    private func read(_ call: Call, extendsLease: Bool) throws(StoreError) -> Heartbeat {
        try attempt(call) { state in
            let wasLost = extendsLease && state.leases[self.node] != true
            if extendsLease { state.leases[self.node] = true }
            let own = state.jobs.values.filter { state.rows[$0.id]?.node == self.node }
            let stopping = own.filter(\.isCancelling).map(\.id)
            let waiting = Self.waiting(in: state)
            return Heartbeat(
                hasQueuedJobs: waiting.contains { state.rows[$0]?.isSuspect == false },
                hasJobsToPromote: state.jobs.values.contains { $0.state == .scheduled },
                hasSuspects: waiting.contains { state.rows[$0]?.isSuspect == true },
                hasDueDeliveries: false,
                cancelled: stopping,
                keepingPartial: stopping.filter { state.rows[$0]?.keepsPartial == true },
                suspended: own.filter { $0.state == .suspended }.map(\.id),
                leaseWasLost: wasLost,
                hasUnsettledEnds: false,
                hasSchedules: false,
                hasDiscretionaryJobs: false,
                workers: state.leases.values.count(where: \.self)
            )
        }
    }

    package func promote() async throws(StoreError) -> Promotion {
        try attempt(.promote) { state in
            let now = Timestamp.now
            let due = state.jobs.values.filter {
                $0.state == .scheduled && state.rows[$0.id].map { $0.dueAt <= now } == true
            }
            for job in due { state.jobs[job.id]?.state = .queued }
            let expired = state.jobs.values.filter { job in
                guard !job.state.isFinal, let row = state.rows[job.id], row.node == nil else { return false }
                return row.expiresAt.map { $0 <= now } ?? false
            }
            for job in expired {
                state.jobs[job.id]?.error = RawJSON(Array(#"{"name":"timedOut"}"#.utf8))
                self.end(job.id, .failed, in: &state)
            }
            let next = state.jobs.values.filter { $0.state == .scheduled }.compactMap { state.rows[$0.id]?.dueAt }.min()
            return Promotion(
                hasQueuedJobs: !due.isEmpty, hasEndedJobs: !expired.isEmpty,
                next: next.map { .microseconds($0.microseconds - now.microseconds) })
        }
    }

    package func pullForward(limit: Int) async throws(StoreError) -> Int { 0 }

    package func oldestDueAge() async throws(StoreError) -> Duration? {
        store.state.withLock { state in
            Self.waiting(in: state).compactMap { state.rows[$0]?.dueAt }.min()
                .map { .microseconds(Timestamp.now.microseconds - $0.microseconds) }
        }
    }

    package func rescue() async throws(StoreError) -> Rescue {
        try attempt(.rescue) { state in
            let dead = Set(state.leases.filter { $0.key != self.node && !$0.value }.keys)
            let lost = state.rows.filter { $0.value.node.map(dead.contains) ?? false }.map(\.key)
            for id in lost {
                let crashes = state.rows[id].map { row in
                    row.crashes < 2 || row.trialClaim == row.claim ? row.crashes + 1 : row.crashes
                }
                self.lose(id, crashes: crashes ?? 0, isUnsent: false, in: &state)
            }
            for node in dead { state.leases[node] = nil }
            return Rescue(count: lost.count, failures: [], next: nil)
        }
    }

    package func reconcile(except held: Set<Job.ID>, unsent: [ClaimedJob]) async throws(StoreError) -> Int {
        try attempt(.reconcile) { state in
            let recent = Timestamp.now.advanced(by: .seconds(-2))
            let unknown = state.rows.filter { id, row in
                row.node == self.node && !held.contains(id) && row.claimedAt.map { $0 < recent } ?? true
            }
            for (id, row) in unknown {
                let isUnsent = unsent.contains { $0.id == id && $0.claim == row.claim }
                self.lose(id, crashes: row.crashes, isUnsent: isUnsent, in: &state)
            }
            return unknown.count
        }
    }

    /// Ends a claimed job that nobody runs, or puts it back into the queue.
    private func lose(_ id: Job.ID, crashes: Int, isUnsent: Bool, in state: inout MemoryJobStore.State) {
        guard let row = state.rows[id], let job = state.jobs[id] else { return }
        state.jobs[id]?.attempts.append(
            Job.Attempt(
                number: Int(row.claim), startedAt: row.claimedAt ?? .now, finishedAt: .now, state: .failed,
                errorName: "networkConnectionLost", metrics: nil))
        if job.isCancelling { return end(id, .cancelled, in: &state) }
        let isOver = row.begun && !isUnsent
        if isOver || crashes >= Self.maximumCrashes {
            let name = isOver ? "networkConnectionLost" : "workerCrashed"
            state.jobs[id]?.error = RawJSON(Array(#"{"name":"\#(name)"}"#.utf8))
            return end(id, .failed, in: &state)
        }
        Self.putBack(id, in: &state)
        state.rows[id]?.crashes = crashes
    }

    package func maintainPartitions(for retention: Duration) async throws(StoreError) {}

    package func removeFinal(after retention: Duration) async throws(StoreError) -> Int {
        store.state.withLock { state in
            let past = Timestamp.now.advanced(by: .zero - retention)
            let old = state.jobs.values.filter { $0.state.isFinal && $0.finishedAt.map { $0 < past } ?? false }
            for job in old { state.remove(job.id) }
            return old.count
        }
    }
}
