import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

/// What jobs have moved, and what tenants use, in PostgreSQL.
@Suite struct TrafficStoreTests {
    private func store(_ fixture: StoreFixture, node: Int = 0) -> PostgresTrafficStore {
        PostgresTrafficStore(client: fixture.database.client, node: fixture.nodes[node])
    }

    @Test func `what nodes add is one sum for the day, and each node has a row of its own`() async throws {
        try await StoreFixture.with { fixture in
            let (first, second) = (store(fixture), store(fixture, node: 1))
            let traffic = Traffic(sentBytes: 3, receivedBytes: 4)
            let day = try await first.add([.first: traffic], reading: [.first, .second])
            #expect(day.ofTenants == [.first: traffic, .second: Traffic()])
            #expect(try await second.add([.first: traffic, .second: traffic], reading: []).ofTenants.isEmpty)
            let both = try await first.add([.first: traffic], reading: [.first, .second])
            #expect(both.ofTenants == [.first: Traffic(sentBytes: 9, receivedBytes: 12), .second: traffic])
            #expect(try await fixture.count("traffic") == 3)
            let now = Timestamp.now
            #expect(day.end > now && day.end <= now.advanced(by: .seconds(86_400)))
        }
    }

    @Test func `the day before does not count, and goes in the end`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await store(fixture).add([.first: Traffic(sentBytes: 5)], reading: [])
            try await fixture.database.client.query("UPDATE traffic SET day = day - 1")
            #expect(try await store(fixture).add([:], reading: [.first]).ofTenants == [.first: Traffic()])
            let expired = PostgresExpiredRowStore(client: fixture.database.client)
            #expect(try await expired.remove(.traffic, keeping: Retention()) == 0)
            try await fixture.database.client.query("UPDATE traffic SET day = day - 90")
            #expect(try await expired.remove(.traffic, keeping: Retention()) == 1)
        }
    }

    @Test func `a tenant's usage has all that is limited`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue((0..<3).map { _ in try NewJob.make() })
            _ = try await fixture.queue().claim(limit: 1)
            let sessions = PostgresSessionStore(client: fixture.database.client, jobs: fixture.store())
            _ = try await sessions.create(NewSession(tenant: fixture.tenant, spec: SessionSpec(kind: .default)))
            _ = try await store(fixture).add([.first: Traffic(sentBytes: 1, receivedBytes: 2)], reading: [])
            let tenants = PostgresTenantStore(client: fixture.database.client)
            let usage = try await tenants.usage(of: .first)
            var expected = TenantUsage(dayEnd: usage.dayEnd)
            expected.waitingJobs = 2
            expected.runningJobs = 1
            expected.sessions = 1
            expected.traffic = Traffic(sentBytes: 1, receivedBytes: 2)
            #expect(usage == expected)
            #expect(try await tenants.usage(of: .second) == TenantUsage(dayEnd: usage.dayEnd))
        }
    }

    @Test func `a tenant may have so many sessions, and more when one has ended`() async throws {
        try await StoreFixture.with { fixture in
            let limits = KnownTenantLimits(standard: [.maximumSessions: 2])
            let store = PostgresSessionStore(
                client: fixture.database.client, jobs: fixture.store(),
                quota: .sessions(of: limits, client: fixture.database.client))
            func create(_ tenant: Tenant.ID, key: String? = nil) async throws -> SessionCreation {
                let idempotency = key.map { Idempotency(key: $0, fingerprint: SHA256Digest(of: [])) }
                return try await store.create(
                    NewSession(tenant: tenant, spec: SessionSpec(kind: .default), idempotency: idempotency))
            }
            guard case .made(.created(let first)) = try await create(.first, key: "k"),
                case .made(.created) = try await create(.first)
            else { throw StoreError(.failed, "not made") }
            guard case .tooMany(maximum: 2) = try await create(.first),
                case .tooMany = try await create(.first, key: "l"),
                // A repeated request is answered as ever.
                case .made(.replayed(let again)) = try await create(.first, key: "k"), again.id == first.id
            else { throw StoreError(.failed, "not refused") }
            _ = try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            guard case .made(.created) = try await create(.second) else { throw StoreError(.failed, "not made") }
            _ = try await store.invalidate(first.id, of: .first, .finish)
            try await fixture.database.client.query(
                "UPDATE sessions SET state = 'invalidated', ended_at = now() WHERE id = \(first.id)")
            try await until { if case .made(.created) = try await create(.first, key: "m") { true } else { false } }
        }
    }
}
