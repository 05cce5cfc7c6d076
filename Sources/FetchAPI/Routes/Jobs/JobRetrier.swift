import FetchJobs

/// Tries jobs again that have ended without success: for clients of the API, and for people at the dashboard.
struct JobRetrier: Sendable {
    let jobs: any JobStore
    let keys: any KeyStore
    let holds: BlobPins

    /// Whether a job can be tried again, as far as the job itself says it.
    static func allows(_ job: Job) -> Bool { job.state.isFinal && job.state != .succeeded }

    /// Tries a job again.
    ///
    /// - Parameter key: The key that it is counted with; nil for none.
    /// - Returns: The job as it is then.
    /// - Throws: ``Problem`` `jobNotFinal`, `jobNotRetriable`, `keyExhausted`, and `notFound` for a job that is gone.
    func retry(_ job: Job, of tenant: Tenant.ID, with key: APIKey?) async throws -> Job {
        guard job.state.isFinal else { throw Problem(.jobNotFinal, "The job is \(job.state.rawValue).") }
        guard Self.allows(job), let spec = job.storedSpec else {
            throw Problem(.jobNotRetriable, "The job is \(job.state.rawValue).")
        }
        let new = NewJob(id: job.id, tenant: tenant, spec: spec)
        try await holds.hold(for: new)
        if let key {
            guard try await keys.count(1, submittedBy: key) == 1 else { throw Problem.keyExhausted(key) }
        }
        guard try await jobs.redrive([new]).contains(job.id) else {
            if let key { _ = try await keys.count(-1, submittedBy: key) }
            let now = try await current(job, tenant)
            guard now.state.isFinal else { throw Problem(.jobNotFinal, "The job is \(now.state.rawValue).") }
            throw Problem(.jobNotRetriable, "Its session takes no jobs any more.")
        }
        return try await current(job, tenant)
    }

    private func current(_ job: Job, _ tenant: Tenant.ID) async throws -> Job {
        guard let job = try await jobs.job(job.id, of: tenant) else { throw JobRoutes.notFound }
        return job
    }
}
