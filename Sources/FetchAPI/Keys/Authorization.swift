import FetchJobs
import HTTPTypes
import Hummingbird

/// Refuses what a key may not do: operations of scopes that it lacks, and what lies beyond its bounds.
struct Authorization: Sendable {
    let jobs: any JobStore

    /// - Throws: ``Problem`` `scopeRequired` and `keyBound`, and `notFound` for a job beyond the bounds of the key.
    func require(_ access: Access?, of key: APIKey, for call: Call) async throws {
        guard let access else { throw Problem(.scopeRequired, "No key may do this.") }
        try key.require(access.scope)
        switch access.reach {
        case .own, .submission: break
        case .job:
            try await requireJob(call, key)
        case .jobAndTarget:
            try requireNoHosts(key)
            try await requireJob(call, key)
        case .session:
            try requireNoHosts(key)
            try require(TenantSession.ID(naming: call.parameter), key)
        case .sessionOfQuery:
            try requireNoHosts(key)
            guard key.spec.session != nil else { break }
            let name = try call.request.uri.query.map { try Query($0) }?["session"]
            try require(name.flatMap { TenantSession.ID(naming: $0) }, key)
        case .tenant:
            try requireNoHosts(key)
            try requireNoSession(key)
        case .work:
            try requireNoHosts(key)
            try requireNoSession(key)
            guard key.spec.maximumJobs == nil else {
                throw Problem(
                    .keyBound, "The key may submit a number of jobs only, and this makes work that is not counted.")
            }
        }
    }

    private func requireJob(_ call: Call, _ key: APIKey) async throws {
        guard key.spec.seesPart else { return }
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: key.tenant), key.spec.covers(job)
        else { throw JobRoutes.notFound }
    }

    private func require(_ session: TenantSession.ID?, _ key: APIKey) throws {
        guard let bound = key.spec.session, session != bound else { return }
        throw Problem(.keyBound, "The key is bound to the session \(bound.name): name it.")
    }

    private func requireNoHosts(_ key: APIKey) throws {
        guard let names = key.spec.hostNames else { return }
        throw Problem(.keyBound, "The key is bound to the hosts \(names), and this is about others too.")
    }

    private func requireNoSession(_ key: APIKey) throws {
        guard let session = key.spec.session else { return }
        throw Problem(.keyBound, "The key is bound to the session \(session.name), and this is about others too.")
    }
}

extension APIKey {
    /// - Throws: ``Problem`` `scopeRequired` when the key lacks a scope.
    func require(_ scope: Scope) throws(Problem) {
        guard !spec.scopes.contains(scope) else { return }
        var problem = Problem(.scopeRequired, "The key lacks the scope \(scope.rawValue).")
        // RFC 6750 §3.1.
        problem.headers[.wwwAuthenticate] =
            "Bearer realm=\"fetchd\", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""
        throw problem
    }

    /// Fits a submission to the bounds of the key.
    ///
    /// - Throws: ``Problem`` `keyBound`, naming every rule that the submission breaks.
    func bind(_ job: inout JobSpec) throws(Problem) {
        let violations = spec.bind(&job)
        guard violations.isEmpty else { throw Problem(beyondKey: violations) }
    }
}

extension Problem {
    init(beyondKey violations: [Violation]) {
        let input = Problem(InvalidInput(violations))
        self.init(.keyBound, input.detail)
        errors = input.errors
    }

    static func keyExhausted(_ key: APIKey) -> Problem {
        let maximum = key.spec.maximumJobs ?? 0
        return Problem(.keyExhausted, "\(maximum) jobs may be submitted with the key (maximumJobs), and they were.")
    }
}
