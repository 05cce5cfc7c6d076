import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The figures in PostgreSQL and those in memory keep the same promises.
@Suite struct FiguresStoreContractTests {
    @Test("the figures in memory keep the promise", arguments: FiguresStoreContract.clauses)
    func memory(_ clause: Clause<FiguresStoreContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let subject = FiguresStoreContract.Subject(jobs: .memory(jobs), store: MemoryFiguresStore(jobs: jobs))
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the figures in PostgreSQL keep the promise", arguments: FiguresStoreContract.clauses)
    func postgres(_ clause: Clause<FiguresStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let subject = FiguresStoreContract.Subject(
                jobs: fixture.jobsSubject, store: PostgresFiguresStore(client: fixture.database.client))
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }

    @Test func `counts end at their bound, and say so`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.database.client.query(
                """
                INSERT INTO queue (tenant_id, job_id, rank, run_at, scheduled)
                SELECT 1, gen_random_uuid(), 500, now() + interval '1 day', n % 2 = 0
                FROM generate_series(1, 24000) AS n
                """)
            let figures = try await PostgresFiguresStore(client: fixture.database.client).figures(of: fixture.tenant)
            #expect(figures.current[.queued] == BoundedCount(20_000))
            #expect(figures.current[.scheduled]?.isLowerBound == true)
            #expect(figures.current[.suspended] == BoundedCount(0, of: 20_000))
            #expect(figures.current[.running] == 0)
        }
    }

    @Test func `the database and the nodes tell of themselves`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue(listeningAt: "http://node.example").heartbeat()
            _ = try await fixture.store().enqueue([try NewJob.make()])
            _ = try await fixture.queue().claim(limit: 1)
            let store = PostgresFiguresStore(client: fixture.database.client)
            let nodes = try await store.nodes()
            #expect(nodes.map(\.id) == [fixture.nodes[0]] && nodes.first?.jobs == 1)
            let database = try await store.database()
            #expect(database.bytes > 1_000_000 && database.version.hasPrefix("15"))
            #expect(database.migrations.map(\.name) == Schema.migrations.map(\.name))
            #expect(database.tables.contains { $0.name == "jobs" } && database.tables.count <= 12)
        }
    }
}
