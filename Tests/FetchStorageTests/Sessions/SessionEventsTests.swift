import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The events of sessions in their order, and the sessions that have some outstanding.
@Suite struct SessionEventsTests {
    /// Stores events of a session as though they were made so many hours ago.
    private func add(_ hours: [Int], to session: TenantSession.ID, _ fixture: StoreFixture) async throws {
        try await fixture.database.client.query(
            """
            INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, session_id, event, created_at)
            SELECT \(fixture.tenant), uuidv7(), uuidv7(), uuidv7(), \(session), 'job.finished',
                now() - age * interval '1 hour'
            FROM unnest(\(hours.map { Int64($0) })) AS age
            """
        )
    }

    /// How many hours ago the events of a page were made.
    private func ages(
        _ session: TenantSession.ID, _ fixture: StoreFixture, limit: Int = 100, after: WebhookDelivery.ID? = nil
    ) async throws -> [Int]? {
        let found = try await fixture.webhooks().events(
            of: .session(session), fixture.tenant, page: DeliveryPage(limit: limit, after: after))
        return found?.map { Int((Timestamp.now.microseconds - $0.createdAt.microseconds) / 3_600_000_000) }
    }

    @Test func `what is stored later is behind, although it was made before`() async throws {
        try await StoreFixture.with { fixture in
            let (session, other) = (TenantSession.ID(), TenantSession.ID())
            try await add([2, 4, 3], to: session, fixture)
            try await add([1], to: other, fixture)
            #expect(try await ages(session, fixture) == [4, 3, 2])
            try await add([1, 5], to: session, fixture)
            #expect(try await ages(session, fixture) == [4, 3, 2, 5, 1])
            let events = try await fixture.webhooks().events(
                of: .session(session), fixture.tenant, page: DeliveryPage(limit: 2))
            #expect(try await ages(session, fixture, limit: 2, after: events?.last?.id) == [2, 5])
            #expect(try await ages(other, fixture, after: events?.last?.id) == nil)
            let page = DeliveryPage(limit: 2)
            let stranger = Tenant.ID(rawValue: 2)
            #expect(try await fixture.webhooks().events(of: .session(session), stranger, page: page)?.isEmpty == true)
        }
    }

    @Test func `what is being settled is not waited for, and keeps its place before those behind it`() async throws {
        try await StoreFixture.with { fixture in
            let session = TenantSession.ID()
            try await add([4, 3, 2], to: session, fixture)
            try await fixture.database.client.transaction { connection in
                try await connection.query(
                    """
                    UPDATE webhook_deliveries SET state = 'delivered'
                    WHERE created_at BETWEEN now() - interval '210 minutes' AND now() - interval '150 minutes'
                    """
                )
                #expect(try await ages(session, fixture) == [4])
            }
            #expect(try await ages(session, fixture) == [4, 3, 2])
        }
    }

    @Test func `many who ask at once see one order`() async throws {
        try await StoreFixture.with { fixture in
            let session = TenantSession.ID()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        try await add(Array(1...20), to: session, fixture)
                        _ = try await ages(session, fixture)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await ages(session, fixture, limit: 500)?.count == 200)
            let rows = try await fixture.database.client.query(
                "SELECT count(DISTINCT place) FROM webhook_deliveries WHERE session_id = \(session)")
            #expect(try rows.first?.decode(Int64.self, at: 0) == 200)
        }
    }

    // From each to the next, with filters and without, and no further than the page.
    @Test func `sessions with something outstanding are found among many`() async throws {
        try await StoreFixture.with { fixture in
            let sessions = PostgresSessionStore(client: fixture.database.client, jobs: fixture.store())
            var made: [TenantSession.ID] = []
            for _ in 0..<9 {
                let new = NewSession(tenant: fixture.tenant, spec: SessionSpec())
                guard case .made(.created(let session)) = try await sessions.create(new) else { return }
                made.append(session.id)
            }
            made.sort(by: >)
            for id in [made[1], made[1], made[4]] {
                _ = try await fixture.store().enqueue([try NewJob.make(more: #", "session": "\#(id)""#)])
            }
            try await add([1, 2], to: made[4], fixture)
            try await add([1], to: made[7], fixture)
            // Told of, but of no session that there is.
            try await add([1], to: TenantSession.ID(), fixture)
            func outstanding(_ limit: Int, after: TenantSession.ID? = nil, kind: SessionSpec.Kind? = nil) async throws
                -> [TenantSession.ID]
            {
                try await sessions.sessions(
                    of: fixture.tenant, matching: SessionFilter(kind: kind, isOutstanding: true),
                    page: SessionPage(limit: limit, after: after)
                ).map(\.id)
            }
            #expect(try await outstanding(10) == [made[1], made[4], made[7]])
            #expect(try await outstanding(2) == [made[1], made[4]])
            #expect(try await outstanding(2, after: made[4]) == [made[7]])
            #expect(try await outstanding(2, after: made[7]).isEmpty)
            #expect(try await outstanding(10, kind: .default).count == 3)
            #expect(try await outstanding(10, kind: .background).isEmpty)
            try await fixture.database.client.query("UPDATE webhook_deliveries SET state = 'delivered'")
            #expect(try await outstanding(10) == [made[1], made[4]])
        }
    }
}
