import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Making, reading, rotating and revoking API keys: by tenants for themselves, and by operators for all.
struct KeyRoutes: Sendable {
    private static let path = "/v1/keys"
    private static let adminPath = "/v1/admin/keys"

    let keys: any KeyStore
    let tenants: any TenantStore
    let sessions: KnownSessions

    var routes: [Route] {
        [
            Route(.post, Self.path, tenant: create),
            Route(.get, Self.path, tenant: { try await list($0, of: $1) }),
            Route(.get, "\(Self.path)/{id}", tenant: { try await get($0, of: $1) }),
            Route(.delete, "\(Self.path)/{id}", tenant: { try await revoke($0, of: $1) }),
            Route(.post, "\(Self.path)/{id}/rotate", tenant: { try await rotate($0, of: $1) }),
            Route(.post, Self.adminPath, admin: createForTenant),
            Route(.get, Self.adminPath, admin: { try await list($0, of: nil) }),
            Route(.get, "\(Self.adminPath)/{id}", admin: { try await get($0, of: nil) }),
            Route(.delete, "\(Self.adminPath)/{id}", admin: { try await revoke($0, of: nil) }),
            Route(.post, "\(Self.adminPath)/{id}/rotate", admin: { try await rotate($0, of: nil) }),
        ]
    }

    // MARK: Making

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let spec = try APIKeySpec(json: json)
        try await requireSession(of: spec, tenant)
        let own = try call.requireKey()
        try Self.require(spec, within: own)
        let (key, token) = try await keys.create(spec, for: .tenantOf(own))
        return Self.response(revealing: token, of: key, at: Self.path) { key.write(&$0) }
    }

    private func createForTenant(_ call: Call) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let name = try Self.tenantName(json)
        let spec = try APIKeySpec(json: json, besides: ["tenant"])
        let tenant = try await tenants.tenant(named: name)?.tenant
        try await requireSession(of: spec, tenant?.id)
        let owner = KeyOwner.tenant(named: name, by: try call.requireKey().storedID)
        let (key, token) = try await keys.create(spec, for: owner)
        return Self.response(revealing: token, of: key, at: Self.adminPath) { writer in
            writer.member("tenant", name)
            key.write(&writer)
        }
    }

    private static func tenantName(_ json: JSONValue) throws(InvalidInput) -> String {
        let check = InputCheck()
        guard case .object(let members) = json, let member = members.first(where: { $0.name == "tenant" }) else {
            _ = try APIKeySpec(json: json, besides: ["tenant"])
            throw InvalidInput(pointer: "/tenant", message: "is required")
        }
        let name = JSONReader(member.value, pointer: "/tenant", check: check).tenantName()
        try check.finish()
        return name ?? ""
    }

    /// Refuses a key that is bound to a session that its tenant does not have.
    private func requireSession(of spec: APIKeySpec, _ tenant: Tenant.ID?) async throws {
        guard let session = spec.session, session != .default else { return }
        if let tenant, try await sessions.session(session, of: tenant) != nil { return }
        throw InvalidInput(pointer: "/session", message: "is not a session of the tenant")
    }

    /// Refuses to give a key more rights than the one that asks has.
    private static func require(_ spec: APIKeySpec, within own: APIKey) throws {
        let excess = spec.excess(over: own.spec)
        guard excess.isEmpty else { throw Problem(beyondKey: excess) }
    }

    /// The one response that has a token.
    private static func response(
        revealing token: APIKeyToken, of key: APIKey, at path: String, _ write: (inout JSONWriter) -> Void
    ) -> Response {
        var response = Response.json(status: .created) { writer in
            write(&writer)
            writer.member("token", token.revealed)
        }
        response.headers[.location] = "\(path)/\(key.id)"
        return response
    }

    // MARK: Reading

    private func list(_ call: Call, of tenant: Tenant.ID?) async throws -> Response {
        let path = tenant == nil ? Self.adminPath : Self.path
        return try await .page(call, of: path, id: \.key.id) {
            try await keys.keys(of: tenant, after: $0, limit: $1)
        } write: { item, writer in
            if tenant == nil { writer.member("tenant", item.tenant.name) }
            item.key.write(&writer)
        }
    }

    private func get(_ call: Call, of tenant: Tenant.ID?) async throws -> Response {
        _ = try call.query()
        let (key, owner) = try await key(call, of: tenant)
        return .json { writer in
            if tenant == nil { writer.member("tenant", owner.name) }
            key.write(&writer)
        }
    }

    private func key(_ call: Call, of tenant: Tenant.ID?) async throws -> (key: APIKey, tenant: Tenant) {
        guard let id = APIKey.ID(call.parameter), let found = try await keys.key(id, of: tenant) else {
            throw Self.notFound
        }
        return found
    }

    // MARK: The end

    private func revoke(_ call: Call, of tenant: Tenant.ID?) async throws -> Response {
        _ = try call.query()
        let (key, _) = try await key(call, of: tenant)
        if tenant != nil { try Self.require(key.spec, within: try call.requireKey()) }
        guard try await keys.revoke(key.id, of: tenant) else { throw Self.notFound }
        return Response(status: .noContent)
    }

    private func rotate(_ call: Call, of tenant: Tenant.ID?) async throws -> Response {
        _ = try call.query()
        let rotation = try await WebhookRoutes.rotation(call)
        let (old, owner) = try await key(call, of: tenant)
        let own = try call.requireKey()
        if tenant != nil { try Self.require(old.spec, within: own) }
        guard
            let (new, token) = try await keys.rotate(old.id, of: tenant, overlap: rotation.overlap, by: own.storedID)
        else {
            throw Problem(.keyNotRotatable, "The key \(old.id) is not valid, or it is one of two already.")
        }
        return Self.response(revealing: token, of: new, at: tenant == nil ? Self.adminPath : Self.path) { writer in
            if tenant == nil { writer.member("tenant", owner.name) }
            new.write(&writer)
        }
    }

    private static let notFound = Problem(.notFound, "There is no key with this id.")
}

extension JSONReader {
    fileprivate func tenantName() -> String? {
        guard let name = string(maximumLength: 256) else { return nil }
        guard !name.isEmpty, !name.contains("\0") else {
            refuse("must have a character, and no zero")
            return nil
        }
        return name
    }
}
