import FetchJobs
import HTTPTypes
import Hummingbird

/// The JSON Web Tokens that are refused before they expire; for operators.
struct TokenRevocationRoutes: Sendable {
    private static let path = "/v1/admin/token-revocations"

    let revocations: any TokenRevocationStore

    var routes: [Route] {
        [
            Route(.post, Self.path, admin: revoke),
            Route(.get, Self.path, admin: list),
            Route(.delete, "\(Self.path)/{id}", admin: restore),
        ]
    }

    private func revoke(_ call: Call) async throws -> Response {
        let (json, _) = try await call.submission(upTo: 4096)
        let revocation = try await revocations.revoke(try TokenRevocation.Target(json: json))
        return .json(status: .created) { revocation.write(&$0) }
    }

    private func list(_ call: Call) async throws -> Response {
        try await .page(call, of: Self.path, id: \.id) {
            try await revocations.revocations(after: $0, limit: $1)
        } write: { revocation, writer in
            revocation.write(&writer)
        }
    }

    private func restore(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard let id = TokenRevocation.ID(call.parameter), try await revocations.restore(id) else {
            throw Problem(.notFound, "There is no revocation with this id.")
        }
        return Response(status: .noContent)
    }
}
