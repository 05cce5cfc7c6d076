import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The chains of the audit log, and who tampers with them.
@Suite struct AuditLogTests {
    @Test("the audit log in memory keeps the promise", arguments: AuditLogContract.clauses)
    func memory(_ clause: Clause<any AuditLog>) async throws {
        #expect(try await clause.differences(in: MemoryAuditLog()) == [])
    }

    @Test("the audit log in PostgreSQL keeps the promise", arguments: AuditLogContract.clauses)
    func postgres(_ clause: Clause<any AuditLog>) async throws {
        try await Fixture.with { fixture in
            let differences = try await clause.differences(in: fixture.log)
            #expect(differences == [])
        }
    }

    private struct Fixture {
        let stores: StoreFixture
        let log: PostgresAuditLog
        var client: Client { stores.database.client }
        let tenant = Tenant.ID(rawValue: 1)

        static func with(_ body: (Fixture) async throws -> Void) async throws {
            try await StoreFixture.with { stores in
                let log = PostgresAuditLog(client: stores.database.client, logger: TestDatabase.logger)
                try await body(Fixture(stores: stores, log: log))
            }
        }

        /// All entries of a chain, with their places; the oldest first.
        func entries(of chain: Tenant.ID = Tenant.ID(rawValue: 1)) async throws -> [AuditEntry] {
            try await log.entries(matching: AuditFilter(chain: chain), after: nil, limit: 10_000)
                .sorted { $0.sequence < $1.sequence }
        }

        func fill(_ count: Int) async throws {
            for number in 1...count { try await log.record(AuditEvent(.signIn, "\(number)", of: tenant, by: .cli)) }
            _ = try await entries()
        }

        /// Who owns the tables can do this; nobody else can.
        func tamper(_ statement: String) async throws {
            try await client.query("ALTER TABLE audit_entries DISABLE TRIGGER USER")
            try await client.query(Query(verbatim: statement))
            try await client.query("ALTER TABLE audit_entries ENABLE TRIGGER USER")
        }

        func fault() async throws -> AuditChain.Break? { try await log.verify(tenant).first?.fault }
    }

    // MARK: Only added to

    // Proves: SEC-61.
    @Test(
        "entries and chains are only added to",
        arguments: [
            "UPDATE audit_entries SET object = 'x'", "UPDATE audit_entries SET hash = '\\x00', sequence = 9",
            "DELETE FROM audit_entries", "TRUNCATE audit_entries", "DELETE FROM audit_chains", "TRUNCATE audit_chains",
            "UPDATE audit_chains SET head_sequence = 1, anchor_sequence = 0",
            "INSERT INTO audit_entries (tenant_id, actor, action, sequence, hash) VALUES (1, 'cli', 'x', 99, '\\x00')",
        ])
    func appendOnly(_ statement: String) async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(3)
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.client.query(Query(verbatim: statement))
            }
            #expect(error.map { "\($0)" }?.contains("only") ?? false, "\(String(describing: error))")
            #expect(try await fixture.entries().count == 3)
            #expect(try await fixture.fault() == nil)
        }
    }

    @Test func `an entry that waits for its place can be given no other content with it`() async throws {
        try await Fixture.with { fixture in
            try await fixture.log.record(AuditEvent(.signIn, "a", of: fixture.tenant, by: .cli))
            await #expect(throws: PostgresError.self) {
                try await fixture.client.query(
                    "UPDATE audit_entries SET object = 'b', sequence = 1, hash = '\\x00' WHERE sequence IS NULL")
            }
            #expect(try await fixture.entries().map(\.object) == ["a"])
        }
    }

    // Proves: SEC-61.
    @Test(
        "a check finds the entry that breaks the chain",
        arguments: [
            ("UPDATE audit_entries SET object = 'x' WHERE sequence = 3", AuditChain.Break(sequence: 3, .changed)),
            ("UPDATE audit_entries SET count = 2 WHERE sequence = 5", AuditChain.Break(sequence: 5, .changed)),
            ("UPDATE audit_entries SET key = object, object = NULL WHERE sequence = 2", .init(sequence: 2, .changed)),
            ("UPDATE audit_entries SET details = '{}' WHERE sequence = 1", AuditChain.Break(sequence: 1, .changed)),
            ("DELETE FROM audit_entries WHERE sequence = 1", AuditChain.Break(sequence: 1, .missing)),
            ("DELETE FROM audit_entries WHERE sequence = 3", AuditChain.Break(sequence: 3, .missing)),
            ("DELETE FROM audit_entries WHERE sequence = 5", AuditChain.Break(sequence: 5, .missing)),
            ("DELETE FROM audit_entries", AuditChain.Break(sequence: 1, .missing)),
        ])
    func tampering(_ statement: String, _ expected: AuditChain.Break) async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(5)
            #expect(try await fixture.fault() == nil)
            try await fixture.tamper(statement)
            #expect(try await fixture.fault() == expected)
        }
    }

    @Test func `who writes the hash of a forged entry too breaks the next one`() async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(5)
            try await fixture.tamper("UPDATE audit_entries SET object = 'x' WHERE sequence = 3")
            try await fixture.tamper(
                """
                UPDATE audit_entries e SET hash = audit_hash(p.hash, e)
                FROM audit_entries p WHERE e.sequence = 3 AND p.sequence = 2
                """)
            #expect(try await fixture.fault() == AuditChain.Break(sequence: 4, .changed))
        }
    }

    @Test func `the chain of one tenant cannot stand in for that of another`() async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(3)
            try await fixture.tamper("UPDATE audit_entries SET tenant_id = 2")
            try await fixture.client.query(
                """
                INSERT INTO audit_chains (tenant_id, head_sequence, head_hash, anchor_sequence, anchor_hash)
                SELECT 2, head_sequence, head_hash, 0, sha256('fetchd audit 2') FROM audit_chains
                """)
            let fault = try await fixture.log.verify(Tenant.ID(rawValue: 2)).first?.fault
            #expect(fault == AuditChain.Break(sequence: 1, .changed))
        }
    }

    // MARK: With the change

    // Proves: SEC-61.
    @Test func `a change and its entry are stored together or not at all`() async throws {
        try await Fixture.with { fixture in
            let keys = PostgresKeyStore(client: fixture.client, ring: try KeyRing(KeyRing.generate()))
            let actor = AuditActor(.key, key: "key_x", client: "192.0.2.9", request: "r1")
            let (key, _) = try await AuditActor.$current.withValue(actor) {
                try await keys.create(name: "ci", tenant: "default", scopes: [.keys])
            }
            let made = try #require(try await fixture.entries().last)
            #expect(made.action == "keys.create" && made.object == key.id.description)
            #expect(made.actor == "key" && made.key == "key_x" && made.client == "192.0.2.9" && made.request == "r1")
            #expect(made.details?.text == #"{"name":"ci","scopes":["keys"]}"#)
            try await fixture.client.query(
                "ALTER TABLE audit_entries ADD CONSTRAINT full_up CHECK (action <> 'keys.revoke') NOT VALID")
            await #expect(throws: StoreError.self) { try await keys.revoke(key.id, of: nil) }
            #expect(
                try await keys.keys(of: nil, after: nil, limit: 10).first { $0.key.id == key.id }?.key.revokedAt == nil)
        }
    }

    @Test func `what changes nothing has no entry`() async throws {
        try await Fixture.with { fixture in
            let keys = PostgresKeyStore(client: fixture.client, ring: try KeyRing(KeyRing.generate()))
            #expect(try await !keys.revoke(APIKey.ID(), of: nil))
            let tenants = PostgresTenantStore(client: fixture.client)
            #expect(try await tenants.change(TenantChange(weight: 2), ofTenant: "nobody") == nil)
            #expect(try await !tenants.setPaused(true, ofTenant: "nobody"))
            try await fixture.stores.store().cancel([Job.ID()], of: fixture.tenant, .plainly)
            #expect(try await fixture.entries() == [])
            #expect(try await fixture.entries(of: .service) == [])
        }
    }

    @Test func `many things that are done at once are one entry`() async throws {
        try await Fixture.with { fixture in
            let store = fixture.stores.store()
            let jobs = try (0..<300).map { _ in try NewJob.make() }
            _ = try await store.enqueue(jobs)
            try await store.cancel(jobs.map(\.id), of: fixture.tenant, .plainly)
            let cancelled = try #require(try await fixture.entries().last)
            #expect(cancelled.action == "jobs.cancel" && cancelled.count == 300 && cancelled.object == nil)
            #expect(cancelled.details?.text.contains(jobs[0].id.description) ?? false)
            try await store.cancel([jobs[0].id], of: fixture.tenant, .plainly)
            #expect(try await store.redrive(jobs).count == 300)
            #expect(try await store.redrive(jobs).isEmpty)
            let retried = try #require(try await fixture.entries().last)
            #expect(retried.action == "jobs.retry" && retried.count == 300)
            try await store.cancel(jobs.map(\.id), of: fixture.tenant, .plainly)
            #expect(try await store.remove(jobs.map(\.id), of: fixture.tenant).count == 300)
            let entries = try await fixture.entries()
            #expect(entries.map(\.action) == ["jobs.cancel", "jobs.retry", "jobs.cancel", "jobs.delete"])
        }
    }

    @Test func `no entry waits for that of another transaction`() async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(1)
            let slow = try await fixture.stores.database.connect()
            try await slow.query("BEGIN")
            try await slow.query("INSERT INTO audit_entries (tenant_id, actor, action) VALUES (1, 'cli', 'slow')")
            try await fixture.fill(2)
            #expect(try await fixture.entries().map(\.sequence) == [1, 2, 3])
            try await slow.query("COMMIT")
            await slow.close()
            // It comes after what has a place already.
            #expect(try await fixture.entries().map(\.action).last == "slow")
            #expect(try await fixture.fault() == nil)
        }
    }

    @Test func `several nodes give places at once, and each entry has one`() async throws {
        try await Fixture.with { fixture in
            for number in 1...200 {
                try await fixture.log.record(AuditEvent(.signIn, "\(number)", of: fixture.tenant, by: .cli))
            }
            let logs = (0..<4).map { _ in PostgresAuditLog(client: fixture.client, logger: TestDatabase.logger) }
            try await withThrowingDiscardingTaskGroup { group in
                for log in logs {
                    group.addTask {
                        _ = try await log.entries(matching: AuditFilter(), after: nil, limit: 1)
                    }
                }
            }
            #expect(try await fixture.entries().map(\.sequence) == Array(1...200))
            #expect(try await fixture.fault() == nil)
        }
    }

    // MARK: Notes

    @Test func `what is noted often is one entry with its count and its times`() async throws {
        try await Fixture.with { fixture in
            let event = AuditEvent(.refuseTarget, "http://a.example/", of: fixture.tenant, by: .service)
            for _ in 0..<1000 { fixture.log.note(event) }
            try await fixture.log.writeNotes()
            let entry = try #require(try await fixture.entries().last)
            #expect(entry.count == 1000 && entry.until != nil && entry.object == "http://a.example/")
            fixture.log.note(event)
            try await fixture.log.writeNotes()
            #expect(try await fixture.entries().count == 1)
            try await fixture.log.writeNotes(at: .now.advanced(by: .seconds(61)))
            #expect(try await fixture.entries().map(\.count) == [1000, 1])
            #expect(try await fixture.fault() == nil)
        }
    }

    // MARK: Retention

    @Test func `what is old goes, and the rest can still be checked`() async throws {
        try await Fixture.with { fixture in
            try await fixture.client.query(
                """
                INSERT INTO audit_entries (tenant_id, at, actor, action)
                SELECT 1, now() - interval '400 days', 'cli', 'old' FROM generate_series(1, 25)
                """)
            _ = try await fixture.entries()
            try await fixture.fill(3)
            let store = PostgresExpiredRowStore(client: fixture.client, limit: 10)
            var removed: [Int] = []
            repeat {
                removed.append(try await store.remove(.auditEntries, keeping: Retention()))
            } while removed.last != 0
            #expect(removed == [10, 10, 5, 0])
            #expect(try await fixture.entries().map(\.sequence) == [26, 27, 28])
            let report = try #require(try await fixture.log.verify(fixture.tenant).first)
            #expect(report.fault == nil && report.anchor.sequence == 25)
            try await fixture.tamper("UPDATE audit_entries SET object = 'x' WHERE sequence = 26")
            #expect(try await fixture.fault() == AuditChain.Break(sequence: 26, .changed))
        }
    }

    @Test func `nobody can have the log forget the last day`() async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(3)
            let removed = try await fixture.client.query("SELECT remove_audit_entries(1, interval '0', 0, 1000)")
            #expect(try removed.first?.decode(Int64.self, at: 0) == 0)
            #expect(try await fixture.entries().count == 3)
        }
    }

    @Test func `a tenant has so many entries at most`() async throws {
        try await Fixture.with { fixture in
            try await fixture.client.query(
                """
                INSERT INTO audit_entries (tenant_id, actor, action)
                SELECT 1, 'cli', 'flood' FROM generate_series(1, 10500)
                """)
            _ = try await fixture.entries()
            var retention = Retention()
            retention.auditEntries = 10_000
            let store = PostgresExpiredRowStore(client: fixture.client)
            #expect(try await store.remove(.auditEntries, keeping: retention) == 500)
            #expect(try await store.remove(.auditEntries, keeping: retention) == 0)
            let report = try #require(try await fixture.log.verify(fixture.tenant).first)
            #expect(report.fault == nil && report.anchor.sequence == 500)
        }
    }
}
