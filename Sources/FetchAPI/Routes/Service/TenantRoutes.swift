import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// How much of the service each tenant may have and has; for operators, and for the tenant itself what it has.
struct TenantRoutes: Sendable {
    private static let path = "/v1/admin/tenants"

    let tenants: any TenantStore
    let limits: KnownTenantLimits

    var routes: [Route] {
        [
            Route(.get, Self.path, admin: list),
            Route(.get, "\(Self.path)/{name}", admin: get),
            Route(.patch, "\(Self.path)/{name}", admin: change),
            Route(.get, "\(Self.path)/{name}/usage", admin: usage),
            Route(.get, "/v1/usage", tenant: usage),
        ]
    }

    private func list(_ call: Call) async throws -> Response {
        let query = try call.query(allowing: ["limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { text in
            guard let number = OpaqueText.read(text).flatMap({ Int64($0) }), OpaqueText.write(String(number)) == text
            else {
                throw Problem(parameter: "cursor", "is not one that this list gave out")
            }
            return Tenant.ID(rawValue: number)
        }
        let items = try await tenants.tenants(after: after, limit: limit + 1)
        return .page(items, limit: limit, of: Self.path) {
            OpaqueText.write($0.tenant.id.description)
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call) async throws -> Response {
        _ = try call.query()
        return try Self.response(to: try await tenants.tenant(named: try Self.name(call)))
    }

    private func change(_ call: Call) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/json", "application/merge-patch+json")
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let change = try TenantChange(json: JSONParser.parse(body.readableBytesView))
        return try Self.response(to: try await tenants.change(change, ofTenant: try Self.name(call)))
    }

    private func usage(_ call: Call) async throws -> Response {
        guard let share = try await tenants.tenant(named: try Self.name(call)) else { throw Self.notFound }
        return try await usage(call, share.tenant.id)
    }

    private func usage(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let usage = try await tenants.usage(of: tenant)
        return .json { usage.write(&$0, within: limits.limits(of: tenant)) }
    }

    private static func response(to share: TenantShare?) throws -> Response {
        guard let share else { throw notFound }
        return .json { share.write(&$0) }
    }

    /// The name in the path; no name that the database could not hold is one of a tenant.
    private static func name(_ call: Call) throws -> String {
        guard let name = call.parameter.percentDecoded, !name.contains("\0") else { throw notFound }
        return name
    }

    private static let notFound = Problem(.notFound, "There is no tenant of this name.")
}
