import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Jobs that may wait for a quiet time.
@Suite struct DiscretionTests {
    private func patient(_ more: String = "") throws -> NewJob { try .make(more: #", "discretionary": true\#(more)"#) }

    @Test func `a discretionary job waits until it is pulled forward, and for an hour at the longest`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = [try patient(), try patient(), try NewJob.make()]
            #expect(jobs.map(\.spec.firstState) == [.scheduled, .scheduled, .queued])
            _ = try await fixture.store().enqueue(jobs)
            let (queue, store) = (fixture.queue(), fixture.store())
            #expect(try await queue.claim(limit: 9).map(\.id) == [jobs[2].id])
            #expect(try await queue.heartbeat().hasDiscretionaryJobs)
            let waiting = try #require(try await store.job(jobs[0].id, of: fixture.tenant))
            let wait = try #require(waiting.nextAttemptAt).microseconds - waiting.createdAt.microseconds
            #expect(waiting.state == .scheduled && wait == 3_600_000_000)

            #expect(try await queue.pullForward(limit: 1) == 1)
            let pulled = try await queue.claim(limit: 9)
            #expect(pulled.map(\.id) == [jobs[0].id])
            try await fixture.database.client.query("UPDATE queue SET run_at = run_at - interval '1 hour'")
            #expect(try await queue.promote().hasQueuedJobs)
            #expect(try await queue.claim(limit: 9).map(\.id) == [jobs[1].id])
            // Its next attempt has a time of its own.
            #expect(try await queue.retry(pulled[0], .make(.failed), after: .seconds(60)))
            #expect(try await queue.pullForward(limit: 9) == 0)
            #expect(try await queue.heartbeat().hasDiscretionaryJobs == false)
        }
    }

    @Test func `a discretionary job is not pulled before its time, nor while it is suspended`() async throws {
        try await StoreFixture.with { fixture in
            let later = Timestamp.now.advanced(by: .seconds(1800))
            let jobs = [try patient(#", "runAt": "\#(later)""#), try patient(#", "suspended": true"#)]
            _ = try await fixture.store().enqueue(jobs)
            #expect(try await fixture.queue().pullForward(limit: 9) == 0)
            try await fixture.store().setSuspended([jobs[1].id], of: fixture.tenant, false)
            #expect(try await fixture.queue().pullForward(limit: 9) == 1)
            try await fixture.database.client.query("UPDATE queue SET run_at = run_at - interval '1 hour'")
            #expect(try await fixture.queue().pullForward(limit: 9) == 1)
        }
    }

    @Test func `a time that the client tells afterwards is meant`() async throws {
        try await StoreFixture.with { fixture in
            let job = try patient()
            _ = try await fixture.store().enqueue([job])
            let change = try JobChange(json: JSONParser.parse(#"{"runAt": "2999-01-01T00:00:00Z"}"#.utf8))
            let spec = try change.applied(to: job.spec)
            #expect(
                try await fixture.store().change(
                    job.id, of: fixture.tenant, from: RawJSON(job.spec.json), to: spec, change))
            #expect(try await fixture.queue().heartbeat().hasDiscretionaryJobs == false)
            let changed = try #require(try await fixture.store().job(job.id, of: fixture.tenant))
            #expect(changed.nextAttemptAt == spec.runAt)
        }
    }
}
