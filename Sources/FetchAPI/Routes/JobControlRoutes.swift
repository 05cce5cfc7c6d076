import FetchJobs
import Hummingbird

/// Cancelling jobs and letting them run again.
struct JobControlRoutes: Sendable {
    let jobs: any JobStore
    let holds: BlobHolds

    var routes: [Route] {
        [
            Route(.post, "/v1/jobs/{id}/cancel", tenant: cancel),
            Route(.post, "/v1/jobs/{id}/retry", tenant: retry),
        ]
    }

    /// Nothing here does more when it is done twice, so an Idempotency-Key has nothing to add but its form.
    private func open(_ call: Call) async throws {
        _ = try IdempotencyKey(of: call.headers)
        _ = try await call.body(upTo: JobRoutes.maximumBody)
    }

    private func job(_ call: Call, _ tenant: Tenant.ID) async throws -> Job {
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: tenant) else {
            throw JobRoutes.notFound
        }
        return job
    }

    private static func response(_ job: Job) -> Response {
        .json(job.json, status: job.state.isFinal ? .ok : .accepted)
    }

    // MARK: Cancel

    private func cancel(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["produceResumeData"])
        let keepsPartial = try query.bool("produceResumeData")
        try await open(call)
        guard let id = Job.ID(call.parameter),
            let job = try await jobs.cancel(id, of: tenant, keepsPartial == true ? .keepingPartial : .plainly)
        else {
            throw JobRoutes.notFound
        }
        return Self.response(job)
    }

    // MARK: Retry

    private func retry(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await open(call)
        let job = try await job(call, tenant)
        guard job.state.isFinal else { throw Problem(.jobNotFinal, "The job is \(job.state.rawValue).") }
        guard job.state != .succeeded, let spec = job.storedSpec else {
            throw Problem(.jobNotRetriable, "The job is \(job.state.rawValue).")
        }
        let new = NewJob(id: job.id, tenant: tenant, spec: spec)
        try await holds.hold(for: new)
        guard try await jobs.redrive([new]).contains(job.id) else {
            let now = try await self.job(call, tenant)
            guard now.state.isFinal else { throw Problem(.jobNotFinal, "The job is \(now.state.rawValue).") }
            throw Problem(.jobNotRetriable, "Its session takes no jobs any more.")
        }
        return Self.response(try await self.job(call, tenant))
    }
}
