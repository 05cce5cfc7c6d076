import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The audit log, as tenants and operators read it.
@Suite struct AuditRoutesTests {
    private func test(
        _ body:
            @escaping @Sendable (_ server: TestServer, _ admin: TestCalls, _ tenant: TestCalls) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { client in
            try await body(
                server, client.with("Bearer \(token.revealed)"),
                client)
        }
    }

    private func event(_ action: AuditAction, _ object: String, of chain: Tenant.ID) -> AuditEvent {
        AuditEvent(action, object, of: chain, by: AuditActor(.key, key: "key_a"))
    }

    @Test func `a tenant reads its own entries and nobody else's`() async throws {
        try await test { server, _, tenant in
            try await server.audit.record(event(.cancelJobs, "mine", of: server.key.tenant))
            try await server.audit.record(event(.cancelJobs, "yours", of: Tenant.ID(rawValue: 99)))
            try await server.audit.record(event(.replaceRules, "ours", of: .service))
            let page = try await tenant(.get, "/v1/audit?action=jobs.*")
            #expect(page.json?["data"]?.count == 1 && page.json?["data"]?[0]?["object"]?.string == "mine")
            #expect(page.json?["data"]?[0]?["tenant"] == nil)
            #expect(try await tenant(.get, "/v1/audit?tenant=default").problem == .invalidParameter)
            #expect(try await tenant(.get, "/v1/admin/audit").problem == .scopeRequired)
            #expect(try await tenant(.get, "/v1/admin/audit/verify").problem == .scopeRequired)
        }
    }

    @Test func `pages go on under their filter, and a cursor of another list is refused`() async throws {
        try await test { server, _, tenant in
            for number in 1...3 {
                try await server.audit.record(event(.cancelJobs, "\(number)", of: server.key.tenant))
            }
            let first = try await tenant(.get, "/v1/audit?action=jobs.*&limit=2")
            #expect(first.json?["data"]?[0]?["object"]?.string == "3" && first.json?["hasMore"]?.bool == true)
            let cursor = try #require(first.json?["nextCursor"]?.string)
            #expect(first.headers[.link]?.contains("action=jobs.%2A") ?? false, "\(first.headers[.link] ?? "-")")
            let second = try await tenant(.get, "/v1/audit?action=jobs.*&limit=2&cursor=\(cursor)")
            #expect(second.json?["data"]?[0]?["object"]?.string == "1" && second.json?["hasMore"]?.bool == false)
            #expect(try await tenant(.get, "/v1/audit?cursor=\(cursor)").problem == .invalidParameter)
            #expect(try await tenant(.get, "/v1/audit?from=yesterday").problem == .invalidParameter)
            #expect(try await tenant(.get, "/v1/audit?action=.*").problem == .invalidParameter)
        }
    }

    @Test func `who accepts lines is given all entries, one a line`() async throws {
        try await test { server, admin, _ in
            for number in 1...1500 {
                try await server.audit.record(event(.cancelJobs, "\(number)", of: server.key.tenant))
            }
            let lines: HTTPFields = [.accept: "application/x-ndjson"]
            let all = try await admin(.get, "/v1/admin/audit?action=jobs.cancel", headers: lines)
            #expect(all.headers[.contentType] == "application/x-ndjson")
            #expect(all.text.split(separator: "\n").count == 1500)
            #expect(try await admin(.get, "/v1/admin/audit?limit=5", headers: lines).problem == .invalidParameter)
        }
    }

    @Test func `a check says that the chains are intact`() async throws {
        try await test { server, admin, _ in
            try await server.audit.record(event(.cancelJobs, "a", of: server.key.tenant))
            let report = try await admin(.get, "/v1/admin/audit/verify")
            #expect(report.json?["isIntact"]?.bool == true)
            #expect(report.json?["chains"]?.count == 2, "the tenant's, and the service's: an operator has read")
        }
    }

    // Proves: SEC-61.
    @Test func `the use of a key is noted once a day for each network`() async throws {
        try await test { server, admin, tenant in
            for _ in 0..<3 {
                _ = try await tenant(.get, "/v1/jobs")
                _ = try await admin(.get, "/v1/admin/rules")
            }
            let used = server.audit.all.filter { $0.action == AuditAction.useKey.rawValue }
            #expect(
                used.map(\.actor) == ["key", "operator"] && used.map(\.chain) == [server.key.tenant, server.key.tenant])
            #expect(used.allSatisfy { $0.object == $0.key && $0.key?.hasPrefix("key_") == true })
        }
        let log = MemoryAuditLog()
        let uses = DailyUses(audit: log)
        let start = Timestamp(microseconds: 86_400_000_000 * 20_000)
        for (client, hours) in [("192.0.2.1", 0), ("192.0.2.1", 23), ("192.0.2.2", 23), ("192.0.2.1", 24)] {
            uses.note(
                AuditActor(.key, key: "key_a", client: client), of: .first,
                at: start.advanced(by: .seconds(hours * 3600)))
        }
        #expect(log.all.map(\.client) == ["192.0.2.1", "192.0.2.2", "192.0.2.1"])
    }

    @Test func `as many keys as anybody likes fill neither the log nor the memory`() {
        let log = MemoryAuditLog()
        let uses = DailyUses(audit: log)
        for number in 0..<2 * DailyUses.maximum {
            uses.note(AuditActor(.token, key: "issuer \(number)"), of: .first, at: Timestamp(microseconds: 0))
        }
        #expect(log.all.count == DailyUses.maximum)
    }

    @Test func `refused requests are noted by their route, never by what they sent`() async throws {
        try await test { server, _, tenant in
            _ = try await tenant(.get, "/v1/jobs/job_unsaid?x=unsaid", headers: [.authorization: "Bearer fk_unsaid"])
            _ = try await tenant(.get, "/v1/admin/rules")
            let refused = server.audit.all.filter { $0.action == AuditAction.refuseRequest.rawValue }
            #expect(refused.map(\.object) == ["GET /v1/jobs/{id}", "GET /v1/admin/rules"])
            #expect(refused.map(\.actor) == ["anonymous", "operator"])
            #expect(refused.map(\.chain) == [.service, server.key.tenant])
            #expect(refused.map(\.details?.text) == [#"{"code":"unauthorized"}"#, #"{"code":"scopeRequired"}"#])
            let text = refused.map { entry in
                String(decoding: JSONWriter.object { entry.write(&$0, isForOperators: true) }, as: UTF8.self)
            }
            #expect(!text.joined().contains("unsaid"))
        }
    }
}
