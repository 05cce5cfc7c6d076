import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// The audit log: a tenant's own for the tenant, all of it for operators.
struct AuditRoutes: Sendable {
    private static let pageSize = 1000
    private static let path = "/v1/audit"
    private static let adminPath = "/v1/admin/audit"

    let audit: any AuditLog
    let tenants: any TenantStore

    var routes: [Route] {
        [
            Route(.get, Self.path, tenant: list),
            Route(.get, Self.adminPath, admin: listAll),
            Route(.get, "\(Self.adminPath)/verify", admin: verify),
        ]
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await list(call, try call.query(allowing: AuditFilter.parameters), chain: tenant, path: Self.path)
    }

    private func listAll(_ call: Call) async throws -> Response {
        let query = try call.query(allowing: AuditFilter.parameters.union(["tenant"]))
        return try await list(call, query, chain: try await chain(query), path: Self.adminPath)
    }

    private func verify(_ call: Call) async throws -> Response {
        let reports = try await audit.verify(try await chain(try call.query(allowing: ["tenant"])))
        return .json { writer in
            writer.member("isIntact", reports.allSatisfy { $0.fault == nil })
            writer.member("chains", array: { writer in for report in reports { writer.object(report.write) } })
        }
    }

    /// The chain of the tenant that a query names; nil for all.
    private func chain(_ query: Query) async throws -> Tenant.ID? {
        guard let name = query["tenant"] else { return nil }
        guard let share = try await tenants.tenant(named: name) else {
            throw Problem(parameter: "tenant", "is not the name of a tenant")
        }
        return share.tenant.id
    }

    private func list(_ call: Call, _ query: Query, chain: Tenant.ID?, path: String) async throws -> Response {
        let filter = try AuditFilter(query, chain: chain)
        let word = filter.word
        let after = try query["cursor"].map { try Cursor<AuditEntry.IDKind>($0, filter: word).after }
        let isForOperators = path == Self.adminPath
        if call.headers.accepts("application/x-ndjson", "application/jsonl") {
            guard query["limit"] == nil else {
                throw Problem(parameter: "limit", "is not for lines, of which there are as many as entries")
            }
            return try await lines(matching: filter, after: after, isForOperators: isForOperators)
        }
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let entries = try await audit.entries(matching: filter, after: after, limit: limit + 1)
        var response = Response.page(entries, limit: limit, of: path, AuditFilter.text(of: query)) {
            Cursor(after: $0.id, filter: word).text
        } write: { entry, writer in
            entry.write(&writer, isForOperators: isForOperators)
        }
        response.headers[.vary] = "Accept"
        return response
    }

    /// All entries, one a line.
    private func lines(
        matching filter: AuditFilter, after: AuditEntry.ID?, isForOperators: Bool
    ) async throws -> Response {
        // Looked at before the status is sent, so that a store that is away is not a broken answer.
        let first = try await audit.entries(matching: filter, after: after, limit: Self.pageSize)
        let audit = audit
        var response = Response.lines(pages: first) { page in
            guard page.count == Self.pageSize, let last = page.last else { return nil }
            return try await audit.entries(matching: filter, after: last.id, limit: Self.pageSize)
        } write: { page, writer in
            var bytes: [UInt8] = []
            for entry in page {
                bytes += JSONWriter.object { entry.write(&$0, isForOperators: isForOperators) }
                bytes.append(UInt8(ascii: "\n"))
            }
            try await writer.write(ByteBuffer(bytes: bytes))
        }
        response.headers[.vary] = "Accept"
        return response
    }
}

extension AuditFilter {
    /// The parameters of a list that choose entries, and its page.
    static let parameters: Set<String> = ["from", "to", "actor", "action", "object", "limit", "cursor"]

    init(_ query: Query, chain: Tenant.ID?) throws(Problem) {
        self.init(chain: chain)
        from = try query.time("from")
        to = try query.time("to")
        actor = try query.text("actor", maximumLength: 600)
        action = try query.text("action", maximumLength: 64)
        object = try query.text("object", maximumLength: AuditEvent.maximumObject)
        if let action, action.hasSuffix(".*"), action.count == 2 {
            throw Problem(parameter: "action", "names no subject before \".*\"")
        }
    }

    /// The filters of a query, for the link to the next page.
    fileprivate static func text(of query: Query) -> String {
        Query.text(["from", "to", "actor", "action", "object", "tenant"].map { ($0, query[$0]) })
    }

    /// The filter as one word, for cursors.
    fileprivate var word: String {
        let values: [String?] = [
            chain?.description, from?.exact, to?.exact, actor, action, object,
        ]
        guard values.contains(where: { $0 != nil }) else { return "" }
        return Cursor<AuditEntry.IDKind>.digest(of: values.map { $0.map { "\($0.utf8.count):\($0)" } ?? "-" }.joined())
    }
}
