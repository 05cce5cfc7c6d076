import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// R38: no tenant keeps the others waiting.
@Suite struct FairnessTests {
    /// Stores jobs of a tenant that is made with this weight.
    private static func enqueue(
        _ count: Int, of number: Int64, weight: Int = 1, _ fixture: StoreFixture, more: String = ""
    ) async throws {
        try await fixture.database.client.query(
            """
            INSERT INTO tenants (id, name, weight)
            OVERRIDING SYSTEM VALUE VALUES (\(number), \("tenant \(number)"), \(Int16(weight)))
            ON CONFLICT (id) DO UPDATE SET weight = excluded.weight
            """
        )
        let tenant = Tenant.ID(rawValue: number)
        let jobs = try (0..<count).map { _ in NewJob(tenant: tenant, spec: try .make(more: more)) }
        _ = try await fixture.store().enqueue(jobs)
    }

    /// The tenants whose jobs are claimed, one place at a time.
    private static func order(_ count: Int, _ queue: PostgresWorkQueue) async throws -> [Int64] {
        var tenants: [Int64] = []
        for _ in 0..<count { tenants += try await queue.claim(limit: 1).map(\.tenant.rawValue) }
        return tenants
    }

    // Proves: REL-14.
    @Test func `a flood of a thousand jobs delays a quiet tenant by two places`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            try await Self.enqueue(1000, of: 1, fixture, more: #", "priority": 1"#)
            #expect(try await Self.order(3, queue) == [1, 1, 1])
            try await Self.enqueue(1, of: 2, fixture, more: #", "priority": 0"#)
            let order = try await Self.order(6, queue)
            #expect(order.count == 6 && order.prefix(3).contains(2))
            // Another node is as fair.
            try await Self.enqueue(1, of: 3, fixture)
            #expect(try await Self.order(3, fixture.queue(1)).contains(3))
        }
    }

    @Test func `tenants with more weight have more of the places, and all when nobody else waits`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            try await Self.enqueue(200, of: 1, weight: 3, fixture)
            try await Self.enqueue(20, of: 2, weight: 1, fixture)
            _ = try await Self.order(4, queue)
            let first = try await Self.order(40, queue)
            #expect(first.count { $0 == 1 } == 30 && first.count { $0 == 2 } == 10)
            #expect(try await queue.claim(limit: 150).count == 150)
            #expect(try await queue.claim(limit: 150).count == 26)
            #expect(try await queue.claim(limit: 1).isEmpty)
        }
    }

    @Test func `a weight is changed for the jobs that wait`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let tenants = PostgresTenantStore(client: fixture.database.client)
            for number in Int64(1)...2 { try await Self.enqueue(60, of: number, fixture) }
            _ = try await Self.order(4, queue)
            #expect(try await tenants.change(.init(weight: 4), ofTenant: "tenant 2")?.weight == 4)
            #expect(try await tenants.change(.init(weight: 4), ofTenant: "nobody") == nil)
            #expect(try await tenants.tenants(after: nil, limit: 9).map(\.weight) == [1, 4])
            _ = try await Self.order(10, queue)
            #expect(try await Self.order(20, queue).count { $0 == 2 } == 16)
        }
    }

    @Test func `one claim serves more tenants than it knows of, and every job`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            for number in Int64(1)...20 { try await Self.enqueue(3, of: number, fixture) }
            let jobs = try await queue.claim(limit: 100)
            #expect(jobs.count == 60 && Set(jobs.map(\.id)).count == 60)
        }
    }

    @Test func `a job of higher priority is claimed next, though the scan has gone on behind it`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            try await Self.enqueue(3, of: 1, fixture)
            #expect(try await queue.claim(limit: 2).count == 2)
            try await Self.enqueue(1, of: 1, fixture, more: #", "priority": 1"#)
            #expect(try await queue.claim(limit: 2).count == 2)
        }
    }

    // Proves: REL-12.
    @Test func `a claimed job tells how long it was due, unless it had to pass a gate`() async throws {
        try await StoreFixture.with { fixture in
            try await Self.enqueue(1, of: 1, fixture)
            try await Self.enqueue(1, of: 1, fixture, more: #", "flow": {"key": "f"}"#)
            try await fixture.database.client.query("UPDATE queue SET run_at = now() - interval '10 minutes'")
            let waits = try await fixture.queue().claim(limit: 2).map { ($0.spec.flow != nil, $0.waited) }
            #expect(waits.count == 2)
            for (passedGate, wait) in waits {
                if passedGate {
                    #expect(wait == nil)
                } else {
                    #expect((600.0..<660).contains(try #require(wait) / .seconds(1)))
                }
            }
        }
    }
}
