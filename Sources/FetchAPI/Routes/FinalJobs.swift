import FetchJobs
import ServiceLifecycle

/// Submits jobs and waits for them to become final.
struct FinalJobs: Sendable {
    struct Submission: Sendable {
        let enqueued: Enqueued
        /// The job as it stands, when it was looked at.
        let job: Job?
    }

    /// How often the store is asked about a job that may have finished on another node.
    static let pollInterval = Duration.seconds(1)

    let jobs: any JobStore
    let finished: FinishedJobs

    /// - Parameter seconds: How long to wait for the job to become final; nil not to wait.
    func submit(_ job: NewJob, waiting seconds: Int?) async throws -> Submission {
        let deadline = seconds.map { ContinuousClock.now + .seconds($0) }
        // Before it is stored, so that an end that comes at once is not missed.
        if deadline != nil { finished.register(job.id) }
        defer { if deadline != nil { finished.unregister(job.id) } }
        guard let enqueued = try await jobs.enqueue([job]).first else {
            throw StoreError(.failed, "the store said nothing about a job")
        }
        switch enqueued {
        case .conflict, .sessionInvalidated, .sessionFull, .groupClosed, .queueFull:
            return Submission(enqueued: enqueued, job: nil)
        case .accepted(let id):
            guard let deadline else { return Submission(enqueued: enqueued, job: nil) }
            let job = try await wait(for: id, of: job.tenant, until: deadline, isLookedAt: false)
            return Submission(enqueued: enqueued, job: job)
        case .replayed(let id):
            let job = try await wait(for: id, of: job.tenant, until: deadline ?? .now, isLookedAt: true)
            return Submission(enqueued: enqueued, job: job)
        }
    }

    /// The job when it is final or time is up; nil when it was not looked at.
    private func wait(
        for id: Job.ID,
        of tenant: Tenant.ID,
        until deadline: ContinuousClock.Instant,
        isLookedAt: Bool
    ) async throws -> Job? {
        var job: Job?
        if isLookedAt { job = try await jobs.job(id, of: tenant) }
        while job?.state.isFinal != true, !Task.isCancelled, !Task.isShuttingDownGracefully {
            let rest = deadline - .now
            guard rest > .zero else { break }
            await pause(for: min(rest, Self.pollInterval), or: id)
            job = try await jobs.job(id, of: tenant)
        }
        return job
    }

    /// Returns when the job has finished in this process, when the time is up, or when the service stops.
    private func pause(for time: Duration, or id: Job.ID) async {
        await withTaskGroup { group in
            group.addTask { await finished.wait(for: id) }
            // Cancelled when the job is done: nothing to tell anyone.
            group.addTask { try? await cancelWhenGracefulShutdown { try await Task.sleep(for: time) } }
            await group.next()
            group.cancelAll()
        }
    }
}
