import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Jobs that wait for a time: theirs, or that of their next attempt.
@Suite struct ScheduleTests {
    private func claimed(_ fixture: StoreFixture, more: String = "", on node: Int = 0) async throws -> ClaimedJob {
        _ = try await fixture.store().enqueue([try .make(more: more)])
        return try #require(try await fixture.queue(node).claim(limit: 1).first)
    }

    /// Lets the time come that jobs wait for.
    private func letTimeCome(_ fixture: StoreFixture) async throws {
        try await fixture.database.client.query(
            """
            UPDATE queue
            SET run_at = run_at - interval '1 hour', expires_at = expires_at - interval '1 hour'
            """
        )
    }

    private static let inAnHour = Timestamp.now.advanced(by: .seconds(1800))

    // R36: listed with cause and next time.
    @Test func `a retried job waits for its time and is claimed under the next number`() async throws {
        try await StoreFixture.with { fixture in
            let first = try await claimed(fixture)
            #expect(first.tries == 0)
            #expect(try await fixture.queue().retry(first, .make(.failed), after: .seconds(60)))
            #expect(try await fixture.queue().claim(limit: 1).isEmpty)
            var job = try #require(try await fixture.store().job(first.id, of: fixture.tenant))
            #expect(job.state == .scheduled)
            #expect(job.nextAttemptAt != nil && job.attempts.map(\.nextAttemptAt) == [job.nextAttemptAt])
            #expect(try await fixture.queue().promote().next.map { $0 > .seconds(50) && $0 <= .seconds(60) } == true)

            try await letTimeCome(fixture)
            #expect(try await fixture.queue(1).heartbeat().hasJobsToPromote)
            #expect(try await fixture.queue(1).promote().hasQueuedJobs)
            let second = try #require(try await fixture.queue(1).claim(limit: 1).first)
            #expect(second.claim == 2 && second.tries == 1)
            #expect(try await fixture.queue(1).settle(second, .make()))
            job = try #require(try await fixture.store().job(first.id, of: fixture.tenant))
            #expect(job.state == .succeeded)
            #expect(job.attempts.map(\.errorName) == ["timedOut", nil] && job.attempts.map(\.status) == [nil, 200])
        }
    }

    // Proves: REL-3.
    @Test func `an attempt that lost its claim cannot ask for another`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claimed(fixture, on: 1)
            #expect(try await fixture.queue(0).retry(job, .make(.failed), after: .zero) == false)
            #expect(try await fixture.queue(1).retry(job, .make(.failed), after: .zero))
            #expect(try await fixture.queue(1).retry(job, .make(.failed), after: .zero) == false)
            #expect(try await fixture.queue(1).settle(job, .make(.failed)) == false)
            #expect(try await fixture.count("attempts") == 1)
        }
    }

    @Test func `a job that is being cancelled has no further attempt`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claimed(fixture)
            _ = try await fixture.store().cancel(job.id, of: fixture.tenant, .plainly)
            #expect(try await fixture.queue().retry(job, .make(.failed), after: .zero) == false)
            #expect(try await fixture.queue().settle(job, .make(.failed)))
        }
    }

    @Test func `a job that waits for its next attempt is cancelled at once`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claimed(fixture)
            #expect(try await fixture.queue().retry(job, .make(.failed), after: .seconds(60)))
            #expect(try await fixture.store().cancel(job.id, of: fixture.tenant, .plainly)?.state == .cancelled)
            try await letTimeCome(fixture)
            #expect(try await fixture.queue().promote().hasQueuedJobs == false)
        }
    }

    @Test func `a job does not start before its time`() async throws {
        try await StoreFixture.with { fixture in
            let job = try NewJob.make(more: #", "runAt": "\#(Self.inAnHour)""#)
            #expect(job.spec.firstState == .scheduled)
            let late = try NewJob.make(more: #", "runAt": "2020-01-01T00:00:00Z""#)
            _ = try await fixture.store().enqueue([job, late])
            #expect(try await fixture.queue().claim(limit: 9).map(\.id) == [late.id])
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .scheduled)
            let page = JobPage(limit: 9)
            #expect(try await fixture.store().jobs(of: fixture.tenant, state: .scheduled, page: page).count == 1)
            try await letTimeCome(fixture)
            #expect(try await fixture.queue().promote().hasQueuedJobs)
            #expect(try await fixture.queue().claim(limit: 9).map(\.id) == [job.id])
        }
    }

    // R2: the wait in the queue has a deadline of its own.
    @Test func `a job that could not be started in time fails, once`() async throws {
        try await StoreFixture.with { fixture in
            let job = try NewJob.make(more: #", "expiresAt": "\#(Self.inAnHour)""#)
            _ = try await fixture.store().enqueue([job])
            #expect(try await fixture.queue().promote().hasEndedJobs == false)
            try await letTimeCome(fixture)
            #expect(try await fixture.queue().claim(limit: 1).isEmpty)
            #expect(try await fixture.queue(0).promote().hasEndedJobs)
            #expect(try await fixture.queue(1).promote().hasEndedJobs == false)
            let failed = try #require(try await fixture.store().job(job.id, of: fixture.tenant))
            #expect(failed.state == .failed)
            #expect(failed.error?.text.contains(#""name":"timedOut""#) == true)
        }
    }

    @Test func `a claim tells until when the job is good`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claimed(fixture, more: #", "expiresAt": "2999-01-01T00:00:00Z""#)
            #expect(job.expiresAt == job.spec.expiresAt)
        }
    }

    // MARK: Redriving

    @Test(arguments: [JobState.failed, .cancelled])
    func `a job that did not succeed runs again under its id`(state: JobState) async throws {
        try await StoreFixture.with { fixture in
            let job = try await claimed(fixture)
            #expect(try await fixture.queue().settle(job, .make(state)))
            let again = NewJob(id: job.id, tenant: job.tenant, spec: job.spec)
            #expect(try await fixture.store().redrive([again]) == [job.id])
            #expect(try await fixture.store().redrive([again]) == [])
            // A later write of the old attempt is fenced off.
            #expect(try await fixture.queue().settle(job, .make()) == false)
            let second = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(second.claim == 2)
            #expect(try await fixture.queue().settle(second, .make()))
            #expect(try await fixture.store().redrive([again]) == [])
            let done = try #require(try await fixture.store().job(job.id, of: fixture.tenant))
            #expect(done.state == .succeeded && done.attempts.map(\.state) == [state, .succeeded])
        }
    }

    // Proves: SEC-41.
    @Test func `a job is redriven for its own tenant alone`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claimed(fixture)
            #expect(try await fixture.queue().settle(job, .make(.failed)))
            let foreign = NewJob(id: job.id, tenant: Tenant.ID(rawValue: 2), spec: job.spec)
            #expect(try await fixture.store().redrive([foreign]) == [])
        }
    }
}
