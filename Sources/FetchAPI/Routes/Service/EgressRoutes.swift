import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// Where loads may go, for all tenants and for each; for operators.
struct EgressRoutes: Sendable {
    private static let path = "/v1/admin/egress"
    private static let item = "/v1/admin/tenants/{name}/egress"

    let egress: any EgressStore
    let known: KnownEgress
    let tenants: any TenantStore

    var routes: [Route] {
        [
            Route(.get, Self.path, admin: { try await get($0, of: .service) }),
            Route(.put, Self.path, admin: { try await replace($0, of: .service) }),
            Route(.get, Self.item, admin: { try await get($0, of: tenant(named: $0)) }),
            Route(.put, Self.item, admin: { try await replace($0, of: tenant(named: $0)) }),
            Route(.delete, Self.item, admin: { try await remove($0, of: tenant(named: $0)) }),
        ]
    }

    /// The owner of a document: a tenant, or nobody, which means all.
    fileprivate struct Owner {
        let id: Tenant.ID
        let name: String?

        static let service = Self(id: .service, name: nil)
    }

    private func tenant(named call: Call) async throws -> Owner {
        guard let name = call.parameter.percentDecoded, !name.contains("\0"),
            let share = try await tenants.tenant(named: name)
        else { throw Problem(.notFound, "There is no tenant of this name.") }
        return Owner(id: share.tenant.id, name: name)
    }

    private func get(_ call: Call, of owner: Owner) async throws -> Response {
        _ = try call.query()
        return try Self.response(to: try await egress.egress(of: owner.id), of: owner).unlessKnown(to: call)
    }

    private func replace(_ call: Call, of owner: Owner) async throws -> Response {
        let (json, _) = try await call.submission(upTo: EgressDocument.maximumBytes)
        let rules = try EgressDocument.rules(json: json)
        let stored = try await store(call, of: owner) { version in
            try await egress.replaceEgress(of: owner.id, named: owner.name, version, with: rules)
        }
        return try Self.response(to: stored, of: owner)
    }

    private func remove(_ call: Call, of owner: Owner) async throws -> Response {
        _ = try call.query()
        _ = try await store(call, of: owner) { version in
            try await egress.replaceEgress(of: owner.id, named: owner.name, version, with: nil)
        }
        return Response(status: .noContent)
    }

    /// Changes a document; when the client says which it has seen, only if it still is that one.
    ///
    /// - Parameter change: Changes the document of a version, or whichever there is; nil when it has another one.
    private func store(
        _ call: Call, of owner: Owner, _ change: (Int64?) async throws -> EgressDocument?
    ) async throws -> EgressDocument {
        let seen = call.headers[values: .ifMatch].joined(separator: ",")
        let isRemoval = call.request.method == .delete
        while true {
            var version: Int64?
            if !seen.isEmpty || isRemoval {
                let current = try await egress.egress(of: owner.id)
                guard !isRemoval || current.rules != nil else { throw Self.notFound }
                guard seen.isEmpty || owner.has(current) && Representation.matches(seen, current.tag) else {
                    throw Problem(
                        .preconditionFailed,
                        owner.has(current) ? "The document is at \(current.tag)." : "There is no document.")
                }
                version = current.version
            }
            // Nil when another request has changed it first; then it is read again.
            guard let stored = try await change(version) else { continue }
            known.note(stored, of: owner.id)
            return stored
        }
    }

    private static func response(to document: EgressDocument, of owner: Owner) throws -> Response {
        guard owner.has(document) else { throw notFound }
        var response = Response.json { writer in document.write(&writer) }
        response.headers[.eTag] = document.tag
        return response
    }

    private static let notFound = Problem(.notFound, "The tenant has no egress document of its own.")
}

extension EgressRoutes.Owner {
    /// Whether there is a document: for all tenants there always is one, which refuses nothing at first.
    fileprivate func has(_ document: EgressDocument) -> Bool { name == nil || document.rules != nil }
}

extension EgressDocument {
    /// As an entity tag.
    fileprivate var tag: String { "\"\(version)\"" }
}
