import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct JobStatisticsTests {
    @Test func `jobs are counted by state, hour and host, and their times told`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            for number in 0..<8 {
                let url = "https://h\(number % 2).example/"
                let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"\#(url)"}}"#.utf8))
                _ = try await store.enqueue([NewJob(tenant: fixture.tenant, spec: spec)])
            }
            // Those of one host fail, after two seconds; two jobs wait on.
            for job in try await queue.claim(limit: 6) {
                let fails = job.spec.request.url.host == "h1.example"
                var outcome = JobOutcome.make(fails ? .failed : .succeeded)
                let length = Duration.seconds(fails ? 2 : 4)
                outcome = JobOutcome(outcome, startedAt: outcome.finishedAt.advanced(by: .zero - length))
                #expect(try await queue.settle(job, outcome))
            }
            let since = Timestamp.now.advanced(by: .seconds(-3600))
            let found = try await store.statistics(of: fixture.tenant, since: since)
            #expect(found.current == [.queued: 2])
            #expect(found.hours.reduce(0) { $0 + ($1.jobs[.failed] ?? 0) } == 3)
            #expect(found.hours.reduce(0) { $0 + ($1.jobs[.succeeded] ?? 0) } == 3)
            #expect(found.sample.jobs == 6 && found.sample.unsuccessful == 3)
            #expect(found.sample.duration?.p50 == 3)
            #expect(found.sampleByState[.failed]?.duration?.p99 == 2)
            #expect(found.sampleByHost.map(\.host) == ["h0.example", "h1.example"])
            #expect(found.sampleByHost.map(\.group.unsuccessful) == [0, 3])
            #expect(Set(found.sampleByHour.keys) == Set(found.hours.map(\.start)))
            let other = try await store.statistics(of: Tenant.ID(rawValue: 2), since: since)
            #expect(other.current.isEmpty && other.hours.isEmpty && other.sample.jobs == 0)
            let later = try await store.statistics(of: fixture.tenant, since: .now.advanced(by: .seconds(60)))
            #expect(later.sample.jobs == 0 && later.sample.duration == nil)
        }
    }

    @Test func `jobs that wait are counted up to a bound, beside which others are counted`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            _ = try await store.enqueue([try NewJob.make()])
            #expect(try await queue.claim(limit: 1).count == 1)
            try await fixture.database.client.query(
                """
                WITH job AS (
                    INSERT INTO jobs (tenant_id, id, spec)
                    SELECT 1, gen_random_uuid(), \(RawJSON(try JobSpec.make().json))
                    FROM generate_series(1, \(Int32(BoundedCount.limit) + 1))
                    RETURNING id
                )
                INSERT INTO queue (tenant_id, job_id, rank, claim)
                SELECT 1, id, 500, 0
                FROM job
                """)
            let found = try await store.statistics(of: fixture.tenant, since: .now)
            #expect(found.current == [.running: 1, .queued: BoundedCount.limit])
        }
    }
}

extension JobOutcome {
    /// The same with another beginning.
    fileprivate init(_ outcome: JobOutcome, startedAt start: Timestamp) {
        self.init(state: outcome.state, startedAt: start, finishedAt: outcome.finishedAt)
        (status, response, errorName, error) = (outcome.status, outcome.response, outcome.errorName, outcome.error)
        transfers = outcome.transfers
    }
}
