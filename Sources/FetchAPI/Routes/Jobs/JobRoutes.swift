import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// Submitting, reading and listing jobs.
struct JobRoutes: Sendable {
    static let maximumBody = 1 << 20

    let jobs: any JobStore
    let endpoints: KnownEndpoints
    let groups: KnownGroups
    let holds: BlobPins
    let submitter: JobSubmitter
    let sessions: KnownSessions
    let defaults: @Sendable (SessionSpec.Kind) -> Configuration
    let live: LiveJobs
    let forwarding: Forwarding
    let warnings: Warnings
    let submitted: Counter
    let storage: StorageGate

    var routes: [Route] {
        [
            Route(.post, "/v1/jobs", tenant: submit).taking(.job),
            Route(.get, "/v1/jobs", tenant: list),
            Route(.get, "/v1/jobs/{id}", tenant: get),
        ]
    }

    // MARK: Submit

    private func submit(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, key) = try await call.submission(upTo: Self.maximumBody)
        let owner = try call.requireKey()
        let job = try await job(json, of: tenant, by: owner, key, in: call.trace)
        let preferences = Preferences(of: call.headers)
        let result = try await submitter.submit(
            job, by: owner, waiting: preferences.wait, for: call.connection)
        note(result.enqueued, job)
        var response = try response(to: result, of: job.spec, preferences: preferences)
        if case .replayed = result.enqueued { response.headers[.idempotencyReplayed] = "true" }
        return response
    }

    /// Stores a job for somebody at the dashboard.
    ///
    /// - Parameters:
    ///   - owner: The key that it counts for; nil for none.
    ///   - trace: The trace of the request that submits it; nil for none.
    func submit(
        _ json: JSONValue, of tenant: Tenant.ID, by owner: APIKey?, in trace: TraceContext?
    ) async throws -> Job.ID {
        let job = try await job(json, of: tenant, by: owner, in: trace)
        let enqueued = try await submitter.submit(job, by: owner, waiting: nil).enqueued
        note(enqueued, job)
        return try Self.id(enqueued)
    }

    /// Checks a submission as storing it would, and changes nothing.
    func check(_ json: JSONValue, of tenant: Tenant.ID, by owner: APIKey?) async throws {
        var spec = try await Self.spec(json, of: tenant)
        try owner?.bind(&spec)
        try await endpoints.check(spec.webhook, asking: spec.configuration.delegate, of: tenant, by: owner)
        try await groups.require(spec.group, of: tenant)
        _ = try await sessions.job(spec, of: tenant, idempotency: nil)
    }

    private static func spec(_ json: JSONValue, of tenant: Tenant.ID) async throws -> JobSpec {
        try await KeyReading.shared.read(json, of: tenant) { json throws(InvalidInput) in try JobSpec(json: json) }
    }

    /// Makes a job of a submission, with what it names: its endpoint is there then, and its blobs are held.
    private func job(
        _ json: JSONValue, of tenant: Tenant.ID, by owner: APIKey?, _ key: IdempotencyKey? = nil,
        in trace: TraceContext? = nil
    ) async throws -> NewJob {
        var spec = try await Self.spec(json, of: tenant)
        try owner?.bind(&spec)
        if spec.mayLeaveBody { try await storage.require(of: tenant) }
        try await endpoints.settle(&spec.webhook, asking: spec.configuration.delegate, of: tenant, by: owner)
        try await groups.require(spec.group, of: tenant)
        let job = try await sessions.job(
            spec, of: tenant, idempotency: key?.idempotency(for: spec), in: trace)
        try await holds.hold(for: job)
        return job
    }

    private func note(_ enqueued: Enqueued, _ job: NewJob) {
        switch enqueued {
        case .accepted: submitted.add()
        case .sessionInvalidated: if let session = job.spec.session { sessions.forget(session, of: job.tenant) }
        case .replayed, .duplicate, .conflict, .sessionFull, .noRoom, .queueFull, .groupClosed: break
        }
    }

    /// The job that is there now.
    private static func id(_ enqueued: Enqueued) throws(Problem) -> Job.ID {
        switch enqueued {
        case .accepted(let accepted): return accepted
        case .replayed(let first), .duplicate(let first): return first
        case .conflict:
            throw Problem(parameter: "Idempotency-Key", "was used for another body", code: .idempotencyKeyReused)
        case .sessionInvalidated: throw Problem.sessionInvalidated
        case .sessionFull: throw Problem.sessionFull
        case .noRoom(let room): throw Problem.noRoom(room)
        case .queueFull(let quota): throw Problem.queueFull(quota: quota)
        case .groupClosed: throw Problem.groupClosed
        }
    }

    private func response(
        to result: JobSubmitter.Submission, of spec: JobSpec, preferences: Preferences
    ) throws -> Response {
        let id = try Self.id(result.enqueued)
        let href = "/v1/jobs/\(id)"
        var response: Response
        if let job = result.job, job.state.isFinal {
            response = .json(job.json, status: .created)
        } else {
            let state = result.job?.state ?? spec.firstState
            response = .json(status: .accepted) { writer in
                writer.member("id", id.description)
                writer.member("state", state.rawValue)
                writer.member("href", href)
                if case .duplicate = result.enqueued { writer.member("duplicate", true) }
                warnings.write(&writer)
            }
        }
        response.headers[.location] = href
        response.headers[.preferenceApplied] = preferences.applied
        return response
    }

    // MARK: Read

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let isExplained = try call.query(allowing: ["include"]).includes(EffectiveConfiguration.name)
        let preferences = Preferences(of: call.headers)
        guard let id = Job.ID(call.parameter),
            var job = try await submitter.job(id, of: tenant, waiting: preferences.wait, for: call.connection)
        else { throw Self.notFound }
        job.showsCause = call.isOperator
        let tag = job.tag
        if job.isClaimed {
            let running = live.job(id, of: tenant)
            job.progress = running?.progress
            // How far it is elsewhere is worth a question, and the answer is not worth waiting for.
            if running == nil, let response = try await forwarding.promptAnswer(to: call, about: id, of: tenant) {
                return response
            }
        }
        // It is longer than all else, and the same for most jobs.
        let effective = isExplained ? try await effectiveConfiguration(of: job) : nil
        var response = Response.json { writer in
            job.write(&writer)
            if let effective { writer.member(EffectiveConfiguration.name, object: effective.write) }
        }
        response.headers[.eTag] = tag
        if preferences.wait != nil { response.headers[.preferenceApplied] = preferences.applied }
        // The tag tells neither how far the job is nor what its session has.
        return job.isClaimed || effective != nil ? response : response.unlessKnown(to: call)
    }

    /// The configuration of the job; nil when an earlier release stored it under rules that are no longer valid.
    private func effectiveConfiguration(of job: Job) async throws -> EffectiveConfiguration? {
        guard let spec = job.storedSpec else { return nil }
        var session: SessionSpec?
        if let id = spec.session { session = try await sessions.session(id, of: job.tenant)?.spec }
        var standard = defaults(session?.kind ?? .default)
        if spec.session == nil { standard.cookies.jar = Configuration.Cookies.Jar.none }
        return EffectiveConfiguration(
            job: spec.configuration, session: session?.configuration, standard: standard)
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: JobFilter.parameters.union(["limit", "cursor"]))
        let filter = try JobFilter(query)
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try JobCursor($0, filter: filter).after }
        let list = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: limit, after: after))
        let next = list.rest.map { JobCursor(after: $0, filter: filter).text }
        return .page(list.jobs, next: next, limit: limit, of: "/v1/jobs", Query.text(filter.items)) { $0.write(&$1) }
    }

    static let notFound = Problem(.notFound, "There is no job with this id.")
}
