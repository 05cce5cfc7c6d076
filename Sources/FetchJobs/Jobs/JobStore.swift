/// The jobs, as those see them who submit and query.
package protocol JobStore: Sendable {
    /// Stores jobs durably, all or none, and returns their outcomes one for one, in order.
    func enqueue(_ jobs: [NewJob]) async throws(StoreError) -> [Enqueued]

    /// The job of this id, or nil when the tenant has no such job.
    func job(_ id: Job.ID, of tenant: Tenant.ID) async throws(StoreError) -> Job?

    /// Jobs of some tenants, in any order; those that are not there are left out.
    func jobs(_ ids: [Tenant.ID: Set<Job.ID>]) async throws(StoreError) -> [Job]

    /// A page of the tenant's jobs that match, the newest first.
    func jobs(of tenant: Tenant.ID, matching filter: JobFilter, page: JobPage) async throws(StoreError) -> JobList

    /// How many of the tenant's jobs match; no more than `limit` are counted, so that it takes a bounded time.
    func count(of tenant: Tenant.ID, matching filter: JobFilter, limit: Int) async throws(StoreError) -> JobCount

    /// Asks jobs to stop.
    ///
    /// Jobs that wait are cancelled at once. Jobs that run are told; they end soon, wherever they run.
    func cancel(_ ids: [Job.ID], of tenant: Tenant.ID, _ manner: Cancellation) async throws(StoreError)

    /// Holds jobs that are not final where they are, or lets them go on.
    ///
    /// A running one is told; it stops soon, wherever it runs, and goes on from there.
    func setSuspended(_ ids: [Job.ID], of tenant: Tenant.ID, _ isSuspended: Bool) async throws(StoreError)

    /// Those of some jobs that wait for a node, or would if they were not held, in the order in which nodes take them.
    func order(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> [Job.ID]

    /// Gives jobs that wait for a node the places in its queue that they have together in another order: this one.
    ///
    /// Those that do not wait for a node, or no more, are passed over.
    func reorder(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError)

    /// Puts another spec in place of a job's, unless that has changed meanwhile.
    ///
    /// - Parameter old: The stored spec, as it was read.
    /// - Returns: false when something else is there.
    func change(
        _ id: Job.ID,
        of tenant: Tenant.ID,
        from old: RawJSON,
        to spec: JobSpec,
        _ change: JobChange
    ) async throws(StoreError) -> Bool

    /// Removes final jobs with their results and attempts.
    ///
    /// - Returns: The jobs that were there.
    func remove(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> Set<Job.ID>

    /// Lets failed and cancelled jobs run again, each under its id; their results are forgotten but for the
    /// attempts.
    ///
    /// - Parameter jobs: Of one tenant.
    /// - Returns: The jobs that wait now. The others have succeeded, are not final, or their session takes no jobs.
    func redrive(_ jobs: [NewJob]) async throws(StoreError) -> Set<Job.ID>

    /// Where the body of a finished job is, or nil when the tenant has no such job or it has no body.
    func body(of id: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> StoredBody?
}

extension JobStore {
    package func jobs(_ ids: [Tenant.ID: Set<Job.ID>]) async throws(StoreError) -> [Job] {
        var jobs: [Job] = []
        for (tenant, ids) in ids {
            for id in ids { if let job = try await job(id, of: tenant) { jobs.append(job) } }
        }
        return jobs
    }

    /// A page of the tenant's jobs in a state, the newest first.
    package func jobs(
        of tenant: Tenant.ID,
        state: JobState?,
        page: JobPage
    ) async throws(StoreError) -> JobList {
        try await jobs(of: tenant, matching: JobFilter(state: state), page: page)
    }

    /// Asks a job to stop; the job as it is then, or nil when the tenant has no such job.
    package func cancel(
        _ id: Job.ID,
        of tenant: Tenant.ID,
        _ manner: Cancellation
    ) async throws(StoreError) -> Job? {
        try await cancel([id], of: tenant, manner)
        return try await job(id, of: tenant)
    }
}

/// The remains of a cancelled job.
package enum Cancellation: Sendable, Equatable {
    case plainly
    /// The partial file of a download is kept, so that another job can continue it.
    case keepingPartial
}

/// A job about to be stored.
///
/// An object, since it goes through many hands, and a spec is long to copy.
package final class NewJob: Sendable {
    package let id: Job.ID
    package let tenant: Tenant.ID
    package let spec: JobSpec
    package let idempotency: Idempotency?
    /// The origin queue of its first attempt; nil for a URL without a host.
    package let originQueue: OriginQueue.Key?
    /// See ``JobSpec/bytesInMemory``.
    package let bytesInMemory: Int

    package init(id: Job.ID = Job.ID(), tenant: Tenant.ID, spec: JobSpec, idempotency: Idempotency? = nil) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.idempotency = idempotency
        originQueue = OriginQueue.Key(spec, of: tenant)
        bytesInMemory = spec.bytesInMemory
    }
}

/// A client's promise that two requests with this key are one.
package struct Idempotency: Sendable, Equatable {
    package let key: String
    /// The digest of the request: the same key with another request is a mistake.
    package let fingerprint: SHA256Digest

    package init(key: String, fingerprint: SHA256Digest) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// The result of a submission.
package enum Enqueued: Sendable, Equatable {
    case accepted(Job.ID)
    /// The key was used for the same request before: this is the job it made.
    case replayed(Job.ID)
    /// This job has the same ``JobSpec/unique`` key, and its window is not over.
    case duplicate(of: Job.ID)
    /// The key was used for another request before.
    case conflict
    /// The session takes no jobs any more.
    case sessionInvalidated
    /// The group takes no jobs any more.
    case groupClosed
    /// The session has as many jobs as fit into memory.
    case sessionFull
    /// The node has no room for more jobs of the tenant's ephemeral sessions.
    case noRoom(EphemeralRoom)
    /// The tenant has as many jobs waiting as it may.
    case queueFull(quota: Int)

    package var isAccepted: Bool { if case .accepted = self { true } else { false } }
}

/// Which part of a list is asked for.
package struct JobPage: Sendable {
    /// Where a page lies in its list, the newest first.
    package enum Place: Sendable {
        /// It begins with the newest.
        case start
        /// It goes on after this job, with older ones.
        case after(Job.ID)
        /// It ends before this job: the next newer ones.
        case before(Job.ID)

        /// Whether it goes towards newer jobs.
        package var isBackward: Bool { if case .before = self { true } else { false } }

        /// Whether the page may have a job.
        package func allows(_ id: Job.ID) -> Bool {
            switch self {
            case .start: true
            case .after(let last): id < last
            case .before(let first): id > first
            }
        }
    }

    package let limit: Int
    package let place: Place

    package init(limit: Int, at place: Place) {
        self.limit = limit
        self.place = place
    }

    /// - Parameter after: The list goes on after this job; nil for its start.
    package init(limit: Int, after: Job.ID? = nil) { self.init(limit: limit, at: after.map(Place.after) ?? .start) }

    /// The page of a list, from jobs that it may have in the order of the list.
    package func cut<Element>(_ jobs: [Element]) -> [Element] {
        if place.isBackward { Array(jobs.suffix(limit)) } else { Array(jobs.prefix(limit)) }
    }
}
