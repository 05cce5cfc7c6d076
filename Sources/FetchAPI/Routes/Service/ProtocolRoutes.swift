import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// The protocols that loads have: for operators to register, and for tenants to see.
struct ProtocolRoutes: Sendable {
    private static let path = "/v1/admin/protocols"
    private static let item = "\(path)/{name}"

    let protocols: any ProtocolStore
    let known: KnownProtocols
    let tenants: any TenantStore
    let schemes: OptionalSchemes
    let check: WebhookURLCheck

    var routes: [Route] {
        [
            Route(.get, "/v1/protocols", tenant: listForTenant),
            Route(.get, Self.path, admin: list),
            Route(.get, Self.item, admin: get),
            Route(.put, Self.item, admin: register),
            Route(.delete, Self.item, admin: remove),
            Route(.post, "\(Self.item)/rotate", admin: rotate),
        ]
    }

    // MARK: For tenants

    /// Lists the protocols that load for the tenant, in the order of asking, without their addresses.
    private func listForTenant(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let registered = known.protocols(of: tenant)
        return .json { writer in
            writer.member(
                "data",
                array: { writer in
                    for one in registered { writer.object(one.writeForTenant) }
                    for scheme in schemes.loaded {
                        writer.object { writer in
                            writer.member("scheme", scheme)
                            writer.member("builtIn", true)
                        }
                    }
                })
        }
    }

    // MARK: For operators

    private func list(_ call: Call) async throws -> Response {
        _ = try call.query()
        let all = try await protocols.protocols()
        return .json { writer in
            writer.member("data", array: { writer in for one in all { writer.object(one.write) } })
        }
    }

    private func get(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard let found = try await protocols.protocol(named: try Self.name(call)) else { throw Self.notFound }
        return .json(found.write)
    }

    private func register(_ call: Call) async throws -> Response {
        guard let name = call.parameter.percentDecoded, RegisteredProtocolSpec.isName(name) else {
            throw Problem(parameter: "name", "must have 1 to 64 lower-case letters, digits and hyphens")
        }
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let spec = try RegisteredProtocolSpec(json: json)
        if let refusal = await check(spec.url, .service) { throw InvalidInput(pointer: "/url", message: refusal) }
        let owners = try await tenants(of: spec)
        try await requireRoom(for: name)
        let (registered, isNew) = try await protocols.register(spec.named(name, for: owners))
        try await known.refresh()
        return Self.response(isNew ? .created : .ok, to: registered, revealingSecret: isNew)
    }

    private func tenants(of spec: RegisteredProtocolSpec) async throws -> [Tenant]? {
        guard let names = spec.tenants else { return nil }
        var owners: [Tenant] = []
        for (index, name) in names.enumerated() {
            guard let share = name.contains("\0") ? nil : try await tenants.tenant(named: name) else {
                throw InvalidInput(pointer: "/tenants/\(index)", message: "is not the name of a tenant")
            }
            owners.append(share.tenant)
        }
        return owners
    }

    private func requireRoom(for name: String) async throws {
        let names = try await protocols.protocols().map(\.name)
        guard names.count < RegisteredProtocol.maximumCount || names.contains(name) else {
            let message = "is new, and there are \(RegisteredProtocol.maximumCount) protocols: remove some"
            throw Problem(parameter: "name", message, code: .invalidInput)
        }
    }

    private func remove(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard try await protocols.remove(try Self.name(call)) else { throw Self.notFound }
        try await known.refresh()
        return Response(status: .noContent)
    }

    private func rotate(_ call: Call) async throws -> Response {
        _ = try call.query()
        let name = try Self.name(call)
        let rotation = try await WebhookRoutes.rotation(call)
        guard let rotated = try await protocols.rotate(rotation, ofProtocol: name) else { throw Self.notFound }
        try await known.refresh()
        return Self.response(to: rotated, revealingSecret: true)
    }

    private static func response(
        _ status: HTTPResponse.Status = .ok, to one: RegisteredProtocol, revealingSecret: Bool
    ) -> Response {
        .json(status: status) { writer in
            one.write(&writer)
            if revealingSecret { writer.member("secret", one.secret.revealed) }
        }
    }

    /// The name in the path, where it is one that a protocol may have.
    private static func name(_ call: Call) throws -> String {
        guard let name = call.parameter.percentDecoded, RegisteredProtocolSpec.isName(name) else {
            throw notFound
        }
        return name
    }

    private static let notFound = Problem(.notFound, "There is no protocol of this name.")
}
