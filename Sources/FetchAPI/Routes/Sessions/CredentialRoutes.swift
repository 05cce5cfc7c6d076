import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Storing, listing and removing the credentials of sessions; a secret goes in and never comes out.
struct CredentialRoutes: Sendable {
    let credentials: any CredentialCatalog
    let known: KnownCredentials
    let sessions: KnownSessions

    var routes: [Route] {
        [
            Route(.post, "/v1/credentials", tenant: create),
            Route(.get, "/v1/credentials", tenant: list),
            Route(.delete, "/v1/credentials", tenant: removeAll),
            Route(.get, "/v1/credentials/{id}", tenant: get),
            Route(.delete, "/v1/credentials/{id}", tenant: remove),
            Route(.get, "/v1/credentials/uses", tenant: audit),
        ]
    }

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let submission = try await KeyReading.shared.read(json, of: tenant, CredentialSubmission.init(json:))
        try await sessions.requireStores(of: submission.session, tenant: tenant)
        let stored = try await credentials.add(submission, to: tenant)
        var response = Response.json(status: .created) { stored.write(&$0) }
        response.headers[.location] = "/v1/credentials/\(stored.id)"
        return response
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["session", "host", "limit", "cursor"])
        let session = try query.session()
        let host = query["host"]?.lowercased()
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try Cursor<StoredCredential.IDKind>($0, filter: "").after }
        let all = try await credentials.credentials(of: sessions.address(session, of: tenant))
            .filter { credential in host.map { credential.host == $0 } ?? true }
            .sorted { $0.id < $1.id }
            .filter { credential in after.map { credential.id > $0 } ?? true }
        let filter = Query.text([
            ("session", session == .default ? nil : session.description), ("host", host),
        ])
        return .page(all, limit: limit, of: "/v1/credentials", filter) {
            Cursor(after: $0.id, filter: "").text
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = StoredCredential.ID(call.parameter),
            let credential = try await credentials.credential(id, of: tenant)
        else { throw Self.notFound }
        return .json { credential.write(&$0) }
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = StoredCredential.ID(call.parameter), try await credentials.remove(id, of: tenant) else {
            throw Self.notFound
        }
        known.forget(id, of: tenant)
        return Response(status: .noContent)
    }

    private func removeAll(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["session", "all"])
        try query.requireFilter(["session"])
        let session = try query.session()
        let count = try await credentials.removeCredentials(of: sessions.address(session, of: tenant))
        known.forgetAll()
        return .json { $0.member("removed", count) }
    }

    private func audit(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["credential", "limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        var credential: StoredCredential.ID?
        if let text = query["credential"] {
            credential = StoredCredential.ID(text)
            if credential == nil { throw Problem(parameter: "credential", "is not the id of a credential (crd_…)") }
        }
        let filter = credential?.description ?? ""
        let after = try query["cursor"].map { try Cursor<CredentialUse.IDKind>($0, filter: filter).after }
        let items = try await credentials.uses(of: credential, tenant: tenant, after: after, limit: limit + 1)
        let text = Query.text([("credential", credential?.description)])
        return .page(items, limit: limit, of: "/v1/credentials/uses", text) {
            Cursor(after: $0.id, filter: filter).text
        } write: {
            $0.write(&$1)
        }
    }

    private static let notFound = Problem(.notFound, "There is no credential with this id.")
}
