import FetchJobs
import HTTPTypes
import Hummingbird

// One job: its story, and what can be done with it.

extension DashboardRoutes {
    static let previewBytes = 4096
    private static let cancelPath = "/dashboard/jobs/{id}/cancel"
    private static let retryPath = "/dashboard/jobs/{id}/retry"

    var jobRoutes: [Route] {
        [
            page(.get, "/dashboard/jobs/{id}", job),
            page(.post, Self.cancelPath, cancel),
            page(.post, Self.retryPath, retry),
        ]
    }

    private func job(_ call: Call, _ session: DashboardSession) async throws -> Response {
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: session.tenant) else {
            throw JobRoutes.notFound
        }
        let preview = try await preview(of: job, session.tenant)
        let content = JobDetailPage(
            job, preview: preview, mayCancel: session.may(.post, Self.cancelPath),
            mayRetry: session.may(.post, Self.retryPath), frame: frame("Job \(id)", call, session))
        return page(.job, content)
    }

    private func cancel(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = Job.ID(call.parameter), try await jobs.cancel(id, of: session.tenant, .plainly) != nil else {
            throw JobRoutes.notFound
        }
        return Self.redirect(to: "/dashboard/jobs/\(id)")
    }

    private func retry(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: session.tenant) else {
            throw JobRoutes.notFound
        }
        var key: APIKey?
        if let id = session.signIn.key { key = try await keys.key(id, of: session.tenant)?.key }
        _ = try await retrier.retry(job, of: session.tenant, with: key)
        return Self.redirect(to: "/dashboard/jobs/\(id)")
    }

    private func preview(of job: Job, _ tenant: Tenant.ID) async throws -> String? {
        guard job.state.isFinal, let body = try await jobs.body(of: job.id, tenant: tenant) else { return nil }
        var bytes: [UInt8] = []
        switch body.location {
        case .inline(let inline): bytes = inline
        case .blob(let id):
            let reader = try await blobs.open(id, range: 0..<min(body.bytes, Int64(Self.previewBytes)))
            while let more = try await reader.next() { bytes += more }
        }
        return VisibleText.preview(of: bytes, limit: Self.previewBytes)
    }
}
