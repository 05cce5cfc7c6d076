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

    var routes: [Route] {
        [
            Route(.post, "/v1/jobs", tenant: submit).taking(.jobs),
            Route(.get, "/v1/jobs", tenant: list),
            Route(.get, "/v1/jobs/{id}", tenant: get),
        ]
    }

    // MARK: Submit

    private func submit(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, key) = try await call.submission(upTo: Self.maximumBody)
        var spec = try await KeyReading.shared.read(json, of: tenant) { json throws(InvalidInput) in
            try JobSpec(json: json)
        }
        let owner = try call.requireKey()
        try owner.bind(&spec)
        try await endpoints.settle(&spec.webhook, asking: spec.configuration.delegate, of: tenant)
        try await groups.require(spec.group, of: tenant)
        let job = try await sessions.job(spec, of: tenant, idempotency: key?.idempotency(for: spec))
        try await holds.hold(for: job)
        let preferences = Preferences(of: call.headers)
        let result = try await submitter.submit(
            job, by: owner, waiting: preferences.wait, for: call.connection)
        if case .sessionInvalidated = result.enqueued, let session = spec.session {
            sessions.forget(session, of: tenant)
        }
        var response = try response(to: result, of: spec, preferences: preferences)
        if case .replayed = result.enqueued {
            response.headers[.idempotencyReplayed] = "true"
        } else {
            submitted.add()
        }
        return response
    }

    private func response(
        to result: JobSubmitter.Submission, of spec: JobSpec, preferences: Preferences
    ) throws -> Response {
        let id: Job.ID
        switch result.enqueued {
        case .accepted(let accepted): id = accepted
        case .replayed(let first): id = first
        case .conflict:
            throw Problem(parameter: "Idempotency-Key", "was used for another body", code: .idempotencyKeyReused)
        case .sessionInvalidated: throw Problem.sessionInvalidated
        case .sessionFull: throw Problem.sessionFull
        case .queueFull(let quota): throw Problem.queueFull(quota: quota)
        case .groupClosed: throw Problem.groupClosed
        }
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
        let items = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: limit + 1, after: after))
        return .page(items, limit: limit, of: "/v1/jobs", Query.text(filter.items)) {
            JobCursor(after: $0.id, filter: filter).text
        } write: {
            $0.write(&$1)
        }
    }

    static let notFound = Problem(.notFound, "There is no job with this id.")
}
