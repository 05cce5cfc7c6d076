import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct StoredSpecsTests {
    @Test func `a job that waits is claimed here as it was stored, and its spec is kept no longer`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try (0..<3).map { _ in try NewJob.make(more: #", "labels": {"a": "b"}, "priority": 0.25"#) }
            _ = try await fixture.store().enqueue(jobs)
            #expect(fixture.specs[0].count == 3)
            let claimed = try await fixture.queue().claim(limit: 10)
            #expect(Set(claimed.map(\.id)) == Set(jobs.map(\.id)))
            #expect(claimed.allSatisfy { $0.spec == jobs[0].spec })
            #expect(fixture.specs[0].count == 0)
        }
    }

    @Test func `a spec that was changed since it was stored is read`() async throws {
        try await StoreFixture.with { fixture in
            let job = try NewJob.make()
            _ = try await fixture.store().enqueue([job])
            try await fixture.database.client.query(
                "UPDATE jobs SET spec = jsonb_set(spec::jsonb, '{priority}', '0.125')::json WHERE id = \(job.id)")
            let claimed = try await fixture.queue().claim(limit: 10)
            #expect(claimed.map(\.spec.priority) == [0.125])
        }
    }

    @Test func `what has secrets or times is not kept`() async throws {
        try await StoreFixture.with { fixture in
            let secret = """
                {"request": {"url": "http://a.example/", "headers": [{"name": "Authorization", "value": "Bearer x"}]}}
                """
            let waiting = [
                NewJob(tenant: fixture.tenant, spec: try JobSpec(json: try JSONParser.parse(secret.utf8))),
                try NewJob.make(more: #", "suspended": true"#),
                try NewJob.make(more: #", "delay": 3600"#),
                try NewJob.make(more: #", "expiresAt": "2999-01-01T00:00:00.5Z""#),
            ]
            _ = try await fixture.store().enqueue(waiting)
            #expect(fixture.specs[0].count == 0)
        }
    }

    @Test func `there is no room for more than so many, until some are claimed`() async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let specs = StoredSpecs(maximumBytes: 10_000)
            let fixture = try StoreFixture(database: database, specs: [specs, StoredSpecs()])
            let jobs = try (0..<20).map { _ in try NewJob.make() }
            _ = try await fixture.store().enqueue(jobs)
            #expect((1...5).contains(specs.count))
            // The others are claimed all the same.
            let claimed = try await fixture.queue().claim(limit: 100)
            #expect(Set(claimed.map(\.id)) == Set(jobs.map(\.id)))
            #expect(specs.count == 0)
            _ = try await fixture.store().enqueue([try NewJob.make()])
            #expect(specs.count == 1)
        }
    }
}
