import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Changes by clients of jobs that are stored.
@Suite struct JobControlTests {
    // R7: pause is data.
    @Test func `a held job is claimed by nobody until it is let go`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = [try NewJob.make(), try .make(more: #", "suspended": true"#)]
            _ = try await fixture.store().enqueue(jobs)
            try await fixture.store().setSuspended([jobs[0].id], of: fixture.tenant, true)
            #expect(try await fixture.queue().claim(limit: 9).isEmpty)
            #expect(try await fixture.queue().heartbeat().hasQueuedJobs == false)
            let list = try await fixture.store().jobs(of: fixture.tenant, state: .suspended, page: JobPage(limit: 9))
            #expect(Set(list.map(\.id)) == Set(jobs.map(\.id)))
            try await fixture.store().setSuspended(jobs.map(\.id), of: fixture.tenant, false)
            #expect(try await Set(fixture.queue().claim(limit: 9).map(\.id)) == Set(jobs.map(\.id)))
        }
    }

    @Test func `the node that runs a held job is told of it, and it stays held when the node gives it back`()
        async throws
    {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make()])
            let job = try #require(try await fixture.queue(1).claim(limit: 1).first)
            try await fixture.store(0).setSuspended([job.id], of: Tenant.ID(rawValue: 2), true)
            #expect(try await fixture.queue(1).heartbeat().suspended.isEmpty)
            try await fixture.store(0).setSuspended([job.id], of: fixture.tenant, true)
            #expect(try await fixture.queue(0).heartbeat().suspended.isEmpty)
            #expect(try await fixture.queue(1).heartbeat().suspended == [job.id])
            try await fixture.queue(1).release([job])
            #expect(try await fixture.queue(0).claim(limit: 1).isEmpty)
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .suspended)
        }
    }

    /// Changes a job at the first node.
    private func change(_ job: Job.ID, _ text: String, _ fixture: StoreFixture) async throws -> Bool {
        let change = try JobChange(json: JSONParser.parse(text.utf8))
        let stored = try #require(try await fixture.store().job(job, of: fixture.tenant))
        let spec = try change.applied(to: try #require(stored.storedSpec))
        return try await fixture.store().change(job, of: fixture.tenant, from: stored.spec, to: spec, change)
    }

    // R17
    @Test func `the node that runs a job hears at which pace it is to go on`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = [try NewJob.make(), try .make(), try .make()]
            _ = try await fixture.store().enqueue(jobs)
            // Before it is claimed, too: a claim may have read it just before.
            #expect(try await change(jobs[2].id, #"{"priority": 0.25}"#, fixture))
            #expect(try await fixture.queue(1).claim(limit: 3).map(\.spec.priority) == [0.5, 0.5, 0.25])
            let slower = #"{"configuration": {"connections": {"maximumBytesPerSecond": 2048}}}"#
            #expect(try await change(jobs[0].id, slower, fixture))
            #expect(try await change(jobs[1].id, #"{"labels": {"a": "1"}}"#, fixture))
            #expect(try await fixture.queue(0).heartbeat().paces.isEmpty)
            let own = JobPace(priority: 0.5, maximumBytesPerSecond: 2048)
            let later = JobPace(priority: 0.25, maximumBytesPerSecond: nil)
            // Any change is told: this one changes nothing of its pace.
            let same = JobPace(priority: 0.5, maximumBytesPerSecond: nil)
            let paces = try await fixture.queue(1).heartbeat().paces
            #expect(paces == [jobs[0].id: own, jobs[1].id: same, jobs[2].id: later])
            let inherited = #"{"priority": 1, "configuration": {"connections": {"maximumBytesPerSecond": null}}}"#
            #expect(try await change(jobs[0].id, inherited, fixture))
            let last = JobPace(priority: 1, maximumBytesPerSecond: nil)
            #expect(try await fixture.queue(1).heartbeat().paces[jobs[0].id] == last)
        }
    }

    @Test func `a removed job leaves nothing, and one that is not final stays`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make(), try .make()])
            let jobs = try await fixture.queue().claim(limit: 2)
            #expect(try await fixture.queue().settle(jobs[0], .make(body: .inline([1]))))
            #expect(try await fixture.store().remove(jobs.map(\.id), of: Tenant.ID(rawValue: 2)).isEmpty)
            #expect(try await fixture.store().remove(jobs.map(\.id), of: fixture.tenant) == [jobs[0].id])
            #expect(try await fixture.store().job(jobs[0].id, of: fixture.tenant) == nil)
            #expect(try await fixture.count("attempts") == 0)
            #expect(try await fixture.store().job(jobs[1].id, of: fixture.tenant)?.state == .running)
        }
    }

    // R10: retention is exact.
    @Test func `final jobs go when their time is over, and no others`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make(), try .make(), try .make()])
            let jobs = try await fixture.queue().claim(limit: 2)
            for job in jobs { #expect(try await fixture.queue().settle(job, .make())) }
            #expect(try await fixture.queue().removeFinal(after: .seconds(3600)) == 0)
            try await fixture.database.client.query(
                "UPDATE results SET finished_at = now() - interval '2 hours' WHERE job_id = \(jobs[0].id)")
            // Ids tell how old jobs are at least: this one is not old enough to be looked at.
            #expect(try await fixture.queue().removeFinal(after: .seconds(3600)) == 0)
            #expect(try await fixture.queue().removeFinal(after: .zero) == 2)
            #expect(try await fixture.count("jobs") == 1)
            #expect(try await fixture.count("attempts") == 0)
        }
    }
}
