import FetchJobs
import Hummingbird

/// The actions of clients on stored jobs.
struct JobControlRoutes: Sendable {
    let jobs: any JobStore
    let retrier: JobRetrier

    var routes: [Route] {
        [
            Route(.post, "/v1/jobs/{id}/cancel", tenant: cancel),
            Route(.post, "/v1/jobs/{id}/retry", tenant: retry),
            Route(.post, "/v1/jobs/{id}/suspend", tenant: { try await setSuspended($0, $1, true) }),
            Route(.post, "/v1/jobs/{id}/resume", tenant: { try await setSuspended($0, $1, false) }),
            Route(.patch, "/v1/jobs/{id}", tenant: change),
            Route(.delete, "/v1/jobs/{id}", tenant: remove),
        ]
    }

    private func job(_ call: Call, _ tenant: Tenant.ID) async throws -> Job {
        guard let id = Job.ID(call.parameter), var job = try await jobs.job(id, of: tenant) else {
            throw JobRoutes.notFound
        }
        job.showsCause = call.isOperator
        return job
    }

    private static func response(_ job: Job) -> Response {
        .json(job.json, status: job.state.isFinal ? .ok : .accepted)
    }

    // MARK: Cancel

    private func cancel(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["produceResumeData"])
        let keepsPartial = try query.bool("produceResumeData")
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        guard let id = Job.ID(call.parameter),
            let job = try await jobs.cancel(id, of: tenant, keepsPartial == true ? .keepingPartial : .plainly)
        else {
            throw JobRoutes.notFound
        }
        return Self.response(job)
    }

    // MARK: Suspend and resume

    private func setSuspended(_ call: Call, _ tenant: Tenant.ID, _ isSuspended: Bool) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        let before = try await job(call, tenant)
        guard !before.state.isFinal else { throw Problem(.jobFinal, "The job is \(before.state.rawValue).") }
        try await jobs.setSuspended([before.id], of: tenant, isSuspended)
        return Self.response(try await job(call, tenant))
    }

    // MARK: Change

    private func change(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/merge-patch+json", "application/json")
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let change = try JobChange(json: try JSONParser.parse(body.readableBytesView))
        let job = try await job(call, tenant)
        if let tags = call.headers[.ifMatch], !Representation.matches(tags, job.tag) { throw Self.changed }
        if let obstacle = change.obstacle(in: job.state) { throw Problem(.jobNotWaiting, obstacle) }
        guard let spec = job.storedSpec,
            try await jobs.change(
                job.id, of: tenant, from: job.spec, to: change.applied(to: spec), change)
        else {
            throw Self.changed
        }
        let now = try await self.job(call, tenant)
        var response = Response.json(now.json)
        response.headers[.eTag] = now.tag
        return response
    }

    private static let changed = Problem(.preconditionFailed, "The job is not what If-Match says, or changed just now.")

    // MARK: Delete

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let job = try await job(call, tenant)
        guard job.state.isFinal, try await jobs.remove([job.id], of: tenant).contains(job.id) else {
            throw Problem(.jobNotFinal, "The job is \(job.state.rawValue).")
        }
        return Response(status: .noContent)
    }

    // MARK: Retry

    private func retry(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        let job = try await retrier.retry(try await job(call, tenant), of: tenant, with: try call.requireKey())
        return Self.response(job)
    }
}

extension Job {
    /// Changes whenever anything of the job does but its progress (RFC 9110 §8.8.3).
    var tag: String {
        var job = self
        job.progress = nil
        return SHA256Digest(of: job.json).tag
    }
}
