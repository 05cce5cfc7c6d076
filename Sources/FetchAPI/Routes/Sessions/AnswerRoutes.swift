import FetchJobs
import HTTPTypes
import Hummingbird

/// Listing and forgetting the answers that sessions remember.
struct AnswerRoutes: Sendable {
    private static let path = "/v1/sessions/{id}/answers"

    let answers: any AnswerCatalog
    let sessions: KnownSessions

    var routes: [Route] {
        [
            Route(.get, Self.path, tenant: list),
            Route(.delete, Self.path, tenant: forgetAll),
            Route(.delete, "\(Self.path)/{question}", tenant: forget),
        ]
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let session = try await session(call, tenant)
        return try await .page(call, of: "/v1/sessions/\(session.session)/answers", id: \.question) { after, limit in
            try await answers.rememberedAnswers(of: session)
                .sorted { $0.question < $1.question }
                .filter { answer in after.map { answer.question > $0 } ?? true }
                .prefix(limit).map(\.self)
        } write: {
            $0.write(&$1)
        }
    }

    private func forgetAll(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let count = try await answers.forget(nil, of: session(call, tenant))
        return .json { $0.member("removed", count) }
    }

    private func forget(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let session = try await session(call, tenant)
        guard let id = call.parameters.last.flatMap({ Question.ID($0) }),
            try await answers.forget(id, of: session) > 0
        else { throw Problem(.notFound, "The session remembers no answer to a question with this id.") }
        return Response(status: .noContent)
    }

    private func session(_ call: Call, _ tenant: Tenant.ID) async throws -> SessionAddress {
        guard let id = TenantSession.ID(call.parameter), let session = try await sessions.session(id, of: tenant) else {
            throw Problem(.notFound, "There is no session with this id.")
        }
        guard session.spec.kind != .ephemeral else {
            throw Problem(.notFound, "The session is ephemeral: it remembers no answers.")
        }
        return SessionAddress(tenant: tenant, session: id)
    }
}
