import FetchJobs
import FetchRuntime

/// Submits jobs and waits for them to become final.
struct JobSubmitter: Sendable {
    struct Submission: Sendable {
        let enqueued: Enqueued
        /// The job as it stands, when it was looked at.
        let job: Job?
    }

    let jobs: any JobStore
    let keys: any KeyStore
    let waiters: CompletionWaiters

    /// Submits a job.
    ///
    /// - Parameters:
    ///   - key: The key that it counts for; nil for none.
    ///   - seconds: How long to wait for the job to become final; nil not to wait.
    ///   - client: The connection that waits; the wait ends when its client leaves.
    /// - Throws: ``Problem`` `keyExhausted` when no more may be submitted with the key.
    func submit(
        _ job: NewJob, by key: APIKey?, waiting seconds: Int?, for client: Connection? = nil
    ) async throws -> Submission {
        let deadline = seconds.map { ContinuousClock.now + .seconds($0) }
        // Before it is stored, so that an end that comes at once is not missed.
        let wait = deadline.map { _ in waiters.wait(for: job.id) }
        defer { if let wait { waiters.end(wait) } }
        guard let enqueued = try await keys.submitting([job], with: key, jobs.enqueue).first else {
            throw key.map { Problem.keyExhausted($0) } ?? Problem(.internalError)
        }
        switch enqueued {
        case .conflict, .sessionInvalidated, .sessionFull, .noRoom, .groupClosed, .queueFull:
            return Submission(enqueued: enqueued, job: nil)
        case .accepted:
            guard let deadline, let wait else { return Submission(enqueued: enqueued, job: nil) }
            let final = try await end(wait, of: job.tenant, until: deadline, for: client)
            return Submission(enqueued: enqueued, job: final)
        case .replayed(let id), .duplicate(let id):
            return Submission(
                enqueued: enqueued, job: try await self.job(id, of: job.tenant, until: deadline, for: client))
        }
    }

    /// A job as it is stored, or nil when there is none.
    ///
    /// - Parameter seconds: How long to wait for the job to become final.
    func job(
        _ id: Job.ID, of tenant: Tenant.ID, waiting seconds: Int?, for client: Connection?
    ) async throws -> Job? {
        try await job(id, of: tenant, until: seconds.map { ContinuousClock.now + .seconds($0) }, for: client)
    }

    private func job(
        _ id: Job.ID, of tenant: Tenant.ID, until deadline: ContinuousClock.Instant?, for client: Connection?
    ) async throws -> Job? {
        guard let deadline else { return try await jobs.job(id, of: tenant) }
        let wait = waiters.wait(for: id)
        defer { waiters.end(wait) }
        let known = try await jobs.job(id, of: tenant)
        guard known?.state.isFinal == false else { return known }
        return try await end(wait, of: tenant, until: deadline, for: client) ?? known
    }

    /// The job when it is final or time is up; nil when it was not looked at.
    private func end(
        _ wait: CompletionWaiter, of tenant: Tenant.ID, until deadline: ContinuousClock.Instant, for client: Connection?
    ) async throws -> Job? {
        var job: Job?
        try await wait.condition.wait(until: deadline, for: client) {
            job = if let final = wait.finalJob { final } else { try await jobs.job(wait.id, of: tenant) }
            return job?.state.isFinal == true
        }
        return job
    }
}
