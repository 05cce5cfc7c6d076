import FetchEngine
package import FetchJobs
package import FetchRuntime
import HTTPTypes
import Synchronization

/// The jobs of a test, in memory: the second form of ``JobStore``.
///
/// A test says how they end, or runs them from a ``MemoryWorkQueue``.
package final class MemoryJobStore: JobStore, StatisticsStore {
    struct State {
        var jobs: [Job.ID: Job] = [:]
        /// The rows of the queue, of jobs that are not final.
        var rows: [Job.ID: MemoryWorkQueue.Row] = [:]
        /// Whether nodes have their lease.
        var leases: [Node.ID: Bool] = [:]
        /// The errors of the next calls of each kind.
        var faults: [MemoryWorkQueue.Call: [MemoryWorkQueue.Fault]] = [:]
        var specs: [Job.ID: JobSpec] = [:]
        var bodies: [Job.ID: StoredBody] = [:]
        /// Jobs that have been given the place of another one.
        var places: [Job.ID: Job.ID] = [:]
        var uniques: [String: (id: Job.ID, until: Timestamp)] = [:]
        var keys: [String: (fingerprint: SHA256Digest, id: Job.ID)] = [:]
        var groups: [JobGroup.ID: MemoryGroupStore.Stored] = [:]
        var sessions: [TenantSession.ID: MemorySessionStore.Stored] = [:]
        var failure: StoreError?
        /// Tenants whose jobs cannot be read.
        var unreadable: Set<Tenant.ID> = []
        var largestEnqueue = 0
        var looks = 0
        /// The bodies of jobs that succeed as soon as their body has been asked for.
        var bodiesToCome: [Job.ID: StoredBody] = [:]
        var quota: Int?

        /// Whether one job is taken before another one.
        func comes(_ left: Job.ID, before right: Job.ID) -> Bool {
            let (left, right) = (places[left] ?? left, places[right] ?? right)
            let (first, second) = (specs[left]?.priority ?? 0, specs[right]?.priority ?? 0)
            return first == second ? left < right : first > second
        }

        /// Forgets a job with all that there is of it.
        mutating func remove(_ id: Job.ID) {
            (jobs[id], rows[id], specs[id], bodies[id]) = (nil, nil, nil, nil)
        }
    }

    let state = Mutex(State())
    /// Told of jobs that end.
    package let waiters = CompletionWaiters()
    /// Ends jobs as they are stored, when set.
    private let ending: (@Sendable (NewJob) -> JobState?)?

    /// - Parameter ending: The state that a new job has at once, or nil to leave it queued.
    package init(ending: (@Sendable (NewJob) -> JobState?)? = nil) { self.ending = ending }

    // MARK: For tests

    /// Lets every call fail with this error, or with none.
    package func fail(with error: StoreError?) { state.withLock { $0.failure = error } }

    /// Lets no job of a tenant be read.
    package func failReads(of tenant: Tenant.ID) { state.withLock { _ = $0.unreadable.insert(tenant) } }

    /// How many jobs may be queued at once.
    package func limit(to quota: Int) { state.withLock { $0.quota = quota } }

    package var count: Int { state.withLock { $0.jobs.count } }

    /// The most jobs that one call of `enqueue` stored.
    package var largestEnqueue: Int { state.withLock { $0.largestEnqueue } }

    /// How often a job was asked for.
    package var looks: Int { state.withLock { $0.looks } }

    package func change(_ id: Job.ID, _ change: (inout Job) -> Void) {
        state.withLock { state in
            if var job = state.jobs[id] {
                change(&job)
                state.jobs[id] = job
            }
        }
    }

    /// Brings a job to a final state.
    package func finish(_ id: Job.ID, _ final: JobState = .succeeded, body: StoredBody? = nil) {
        state.withLock { state in
            guard var job = state.jobs[id] else { return }
            (job.state, job.isCancelling) = (final, false)
            (job.startedAt, job.finishedAt, job.nextAttemptAt) = (.now, .now, nil)
            if let body {
                state.bodies[id] = body
                job.body = Job.BodySummary(bytes: body.bytes, digest: body.digest)
            }
            state.jobs[id] = job
            state.rows[id]?.end()
        }
        waiters.finish([id])
    }

    /// Lets a job succeed right after the next look at its body, which finds none.
    package func finish(afterLookAt id: Job.ID, body: StoredBody) {
        state.withLock { $0.bodiesToCome[id] = body }
    }

    // MARK: JobStore

    package func enqueue(_ jobs: [NewJob]) async throws(StoreError) -> [Enqueued] {
        try check()
        let results = state.withLock { state in
            state.largestEnqueue = max(state.largestEnqueue, jobs.count)
            return jobs.map { Self.enqueue($0, in: &state) }
        }
        for job in jobs { if let final = ending?(job) { finish(job.id, final) } }
        return results
    }

    static func enqueue(_ new: NewJob, in state: inout State) -> Enqueued {
        if let idempotency = new.idempotency {
            let key = "\(new.tenant) \(idempotency.key)"
            if let first = state.keys[key] {
                return first.fingerprint == idempotency.fingerprint ? .replayed(first.id) : .conflict
            }
        }
        if let unique = new.spec.unique, let first = state.uniques["\(new.tenant) \(unique.key)"], first.until > .now {
            return .duplicate(of: first.id)
        }
        if let refusal = refusal(of: new, in: state) { return refusal }
        if let quota = state.quota, state.jobs.values.count(where: { $0.state == .queued }) >= quota {
            return .queueFull(quota: quota)
        }
        if let unique = new.spec.unique {
            state.uniques["\(new.tenant) \(unique.key)"] = (new.id, Timestamp.now.advanced(by: unique.window))
        }
        if let idempotency = new.idempotency {
            state.keys["\(new.tenant) \(idempotency.key)"] = (idempotency.fingerprint, new.id)
        }
        state.jobs[new.id] = Job(
            id: new.id,
            tenant: new.tenant,
            state: new.spec.firstState,
            spec: RawJSON(new.spec.json),
            createdAt: .now
        )
        state.specs[new.id] = new.spec
        state.rows[new.id] = MemoryWorkQueue.Row(dueAt: new.spec.runAt ?? .now, expiresAt: new.spec.expiresAt)
        if let session = new.spec.session, state.sessions[session]?.session.spec.kind == .background {
            state.sessions[session]?.hasEvents = true
        }
        return .accepted(new.id)
    }

    /// Why the session or the group of a job does not take it.
    private static func refusal(of new: NewJob, in state: State) -> Enqueued? {
        if let id = new.spec.session, id != .default {
            let session = state.sessions[id]?.session
            guard session?.tenant == new.tenant, session?.state == .active else { return .sessionInvalidated }
        }
        if let id = new.spec.group {
            let group = state.groups[id]?.group
            guard group?.tenant == new.tenant, group?.state == .open else { return .groupClosed }
        }
        return nil
    }

    package func job(_ id: Job.ID, of tenant: Tenant.ID) async throws(StoreError) -> Job? {
        try check()
        guard state.withLock({ !$0.unreadable.contains(tenant) }) else { throw StoreError(.unavailable, "unreadable") }
        return state.withLock { state in
            state.looks += 1
            return state.jobs[id].flatMap { $0.tenant == tenant ? $0 : nil }
        }
    }

    package func jobs(
        of tenant: Tenant.ID,
        matching filter: JobFilter,
        page: JobPage
    ) async throws(StoreError) -> JobList {
        try check()
        return state.withLock { state in
            let jobs = state.jobs.values
                .filter { $0.tenant == tenant && filter.matches($0) && page.place.allows($0.id) }
                .sorted { $0.id > $1.id }
            return JobList(jobs.map { Self.summary($0, state.specs[$0.id]) }, of: page)
        }
    }

    package func count(
        of tenant: Tenant.ID, matching filter: JobFilter, limit: Int
    ) async throws(StoreError) -> JobCount {
        let number = try await jobs(of: tenant, matching: filter, page: JobPage(limit: limit)).count
        return JobCount(number, isWhole: number < limit)
    }

    package func cancel(_ ids: [Job.ID], of tenant: Tenant.ID, _ manner: Cancellation) async throws(StoreError) {
        for id in ids {
            guard let job = try await job(id, of: tenant), !job.state.isFinal else { continue }
            if job.isClaimed || job.state == .running {
                change(id) { $0.isCancelling = true }
                state.withLock { if manner == .keepingPartial { $0.rows[id]?.keepsPartial = true } }
            } else {
                finish(id, .cancelled)
            }
        }
    }

    package func setSuspended(_ ids: [Job.ID], of tenant: Tenant.ID, _ isSuspended: Bool) async throws(StoreError) {
        try check()
        state.withLock { state in
            for id in ids {
                guard let job = state.jobs[id], job.tenant == tenant, !job.state.isFinal else { continue }
                let isEarly = state.rows[id].map { $0.dueAt > .now } ?? false
                state.jobs[id]?.state =
                    isSuspended ? .suspended : job.isClaimed ? .running : isEarly ? .scheduled : .queued
            }
        }
    }

    package func order(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> [Job.ID] {
        try check()
        return state.withLock { state in
            ids.filter { id in
                guard let job = state.jobs[id], job.tenant == tenant else { return false }
                let isEarly = state.rows[id].map { $0.dueAt > .now } ?? false
                return !job.isClaimed && !isEarly && (job.state == .queued || job.state == .suspended)
            }
            .sorted { state.comes($0, before: $1) }
        }
    }

    package func reorder(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) {
        let waiting = try await order(ids, of: tenant)
        state.withLock { state in
            let places = waiting.map { state.places[$0] ?? $0 }
            for (id, place) in zip(ids.filter(Set(waiting).contains), places) { state.places[id] = place }
        }
    }

    package func change(
        _ id: Job.ID,
        of tenant: Tenant.ID,
        from old: RawJSON,
        to spec: JobSpec,
        _ change: JobChange
    ) async throws(StoreError) -> Bool {
        try check()
        return state.withLock { state in
            guard var job = state.jobs[id], job.tenant == tenant, job.spec.text == old.text else { return false }
            job.spec = RawJSON(spec.json)
            if change.runAt != nil, !job.state.isFinal, !job.isClaimed {
                let time = max(spec.runAt ?? .now, .now)
                state.rows[id]?.dueAt = time
                if job.state != .suspended { job.state = spec.firstState }
            }
            (state.jobs[id], state.specs[id]) = (job, spec)
            return true
        }
    }

    package func remove(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> Set<Job.ID> {
        try check()
        return state.withLock { state in
            let final = ids.filter { state.jobs[$0]?.tenant == tenant && state.jobs[$0]?.state.isFinal == true }
            for id in final { state.remove(id) }
            return Set(final)
        }
    }

    package func redrive(_ jobs: [NewJob]) async throws(StoreError) -> Set<Job.ID> {
        try check()
        return state.withLock { state in
            Set(
                jobs.filter { new in
                    guard var job = state.jobs[new.id], job.tenant == new.tenant,
                        job.state.isFinal, job.state != .succeeded
                    else { return false }
                    job.state = .queued
                    (job.startedAt, job.finishedAt, job.response, job.error, job.body) = (nil, nil, nil, nil, nil)
                    (state.jobs[new.id], state.bodies[new.id]) = (job, nil)
                    state.rows[new.id]?.dueAt = .now
                    return true
                }.map(\.id))
        }
    }

    package func body(of id: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> StoredBody? {
        guard try await job(id, of: tenant) != nil else { return nil }
        defer { if let body = state.withLock({ $0.bodiesToCome.removeValue(forKey: id) }) { finish(id, body: body) } }
        return state.withLock { $0.bodies[id] }
    }

    package func statistics(of tenant: Tenant.ID, since time: Timestamp) async throws(StoreError) -> JobStatistics {
        try check()
        return state.withLock { state in
            var statistics = JobStatistics(from: time, to: .now)
            var hour = EndedJobs(start: time)
            for job in state.jobs.values where job.tenant == tenant {
                if job.state.isFinal {
                    hour.jobs[job.state, default: 0] += 1
                } else {
                    statistics.current[job.state, default: 0] += 1
                }
            }
            statistics.hours = [hour]
            return statistics
        }
    }

    private func check() throws(StoreError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    private static func summary(_ job: Job, _ spec: JobSpec?) -> JobSummary {
        JobSummary(
            id: job.id,
            state: job.state,
            createdAt: job.createdAt,
            finishedAt: job.finishedAt,
            method: spec?.request.method.rawValue ?? "GET",
            url: spec.map { String($0.request.url.description.prefix { $0 != "?" && $0 != "#" }) } ?? "",
            status: job.state.isFinal ? job.attempts.last?.status : nil,
            errorName: job.state.isFinal ? job.attempts.last?.errorName : nil
        )
    }
}
