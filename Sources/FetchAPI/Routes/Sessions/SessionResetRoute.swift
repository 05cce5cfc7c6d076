import FetchJobs
import HTTPTypes
import Hummingbird

/// Empties the stores that a session keeps from one job to the next.
struct SessionResetRoute: Sendable {
    let cookies: any CookieCatalog
    let cache: any CacheStore
    let credentials: any CredentialCatalog
    let answers: any AnswerCatalog
    let known: KnownCredentials
    let sessions: KnownSessions

    var routes: [Route] { [Route(.post, "/v1/sessions/{id}/reset", tenant: reset)] }

    private func reset(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        guard let id = TenantSession.ID(naming: call.parameter) else { throw Self.notFound }
        if id != .default {
            guard let session = try await sessions.session(id, of: tenant) else { throw Self.notFound }
            guard session.spec.kind != .ephemeral else {
                throw Problem(.notFound, "The session is ephemeral: what it learns is stored nowhere.")
            }
        }
        let session = SessionAddress(tenant: tenant, session: id)
        let kept = try await cookies.cookies(of: session)
        if !kept.isEmpty { try await cookies.remove(kept, from: session) }
        var filter = CacheFilter()
        filter.session = id
        let entries = try await cache.purge(filter, of: tenant)
        let removed = try await credentials.removeCredentials(of: session)
        let forgotten = try await answers.forget(nil, of: session)
        known.forgetAll()
        return .json { writer in
            writer.member("cookies", kept.count)
            writer.member("cacheEntries", entries)
            writer.member("credentials", removed)
            writer.member("answers", forgotten)
        }
    }

    private static let notFound = Problem(.notFound, "There is no session with this id.")
}
