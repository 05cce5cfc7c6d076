import FetchJobs
import FetchStorage
import HTTPTypes
import Postgres
import TestSupport
import Testing

extension PostgresWorkQueue {
    /// The periodic work of a node.
    func heartbeatAndRescue() async throws -> Heartbeat {
        _ = try await rescue()
        return try await heartbeat()
    }
}

/// The jobs of a node that is gone, or was away for longer than its lease.
@Suite struct LeaseTests {
    /// A job that node 1 has claimed, after which node 1's lease ran out.
    private func lostJob(
        _ fixture: StoreFixture,
        method: String = "GET",
        begins: Bool = false,
        lasting limit: Duration? = nil,
        in session: TenantSession.ID? = nil
    ) async throws -> ClaimedJob {
        let job = try NewJob.make(method: method, more: session.map { #", "session": "\#($0)""# } ?? "")
        var spec = job.spec
        spec.configuration.timeouts.timeoutIntervalForResource = limit
        _ = try await fixture.store().enqueue([NewJob(tenant: job.tenant, spec: spec)])
        _ = try await fixture.queue(1).heartbeat()
        let claimed = try #require(try await fixture.queue(1).claim(limit: 1).first)
        if begins { #expect(try await fixture.queue(1).begin(claimed)) }
        try await fixture.database.client.query(
            "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[1])"
        )
        return claimed
    }

    // Proves: REL-2.
    @Test func `a lost job is claimed again under the next number`() async throws {
        try await StoreFixture.with { fixture in
            let lost = try await lostJob(fixture)
            #expect(try await fixture.queue(0).heartbeatAndRescue().hasQueuedJobs)
            let claimed = try #require(try await fixture.queue(0).claim(limit: 1).first)
            #expect(claimed.id == lost.id)
            #expect(claimed.claim == 2)
            #expect(try await fixture.queue(0).settle(claimed, .make()))
            let job = try #require(try await fixture.store().job(lost.id, of: fixture.tenant))
            #expect(job.attempts.map(\.errorName) == ["networkConnectionLost", nil])
        }
    }

    // Twice, as its node may be lost between the two statements.
    @Test func `the failure callback of a job that no node ends is stored once`() async throws {
        try await StoreFixture.with { fixture in
            let hook = #"{"url": "https://b.example/", "headers": {"Authorization": "Basic eDp5"}}"#
            let job = try NewJob.make(
                more: #", "callbacks": {"failure": \#(hook), "attempt": {"url": "https://c.example/"}}"#)
            _ = try await fixture.store().enqueue([job])
            let client = fixture.database.client
            try await client.query(
                "UPDATE queue SET node_id = NULL, claimed_at = NULL, expires_at = now() - interval '1 second'")
            #expect(try await fixture.queue(0).promote().hasEndedJobs)
            #expect(try await client.query("SELECT FROM owed_callbacks").count == 1)
            for node in [0, 1, 0] { _ = try await fixture.queue(node).rescue() }
            #expect(try await client.query("SELECT FROM owed_callbacks").isEmpty)
            let claimed = try await fixture.queue(0).claim(limit: 10)
            let callback = try #require(claimed.first)
            #expect(claimed.count == 1 && callback.spec.request.headers[.authorization] == "Basic eDp5")
            guard case .json(let content) = callback.spec.request.body else { throw InvalidInput([]) }
            #expect(content.member("error")?.text == "timedOut" && content.member("status")?.integer == 0)
            #expect(content.member("sourceMessageId")?.text == job.id.description)
        }
    }

    // Said by the job, or by its session.
    @Test(arguments: [true, false])
    func `the time of all attempts together goes on while a node is lost`(_ isOfSession: Bool) async throws {
        try await StoreFixture.with { fixture in
            var spec = SessionSpec(kind: .default)
            spec.configuration.timeouts.timeoutIntervalForResource = .seconds(1000)
            let session = NewSession(tenant: fixture.tenant, spec: spec)
            _ = try await PostgresSessionStore(client: fixture.database.client, jobs: fixture.store()).create(session)
            let lost =
                isOfSession
                ? try await lostJob(fixture, in: session.id) : try await lostJob(fixture, lasting: .seconds(1000))
            #expect(lost.expiresAt == nil)
            _ = try await fixture.queue(0).heartbeatAndRescue()
            let claimed = try #require(try await fixture.queue(0).claim(limit: 1).first)
            let end = try #require(claimed.expiresAt)
            #expect(end > .now && end < Timestamp.now.advanced(by: .seconds(1000)))
        }
    }

    // Proves: REL-2.
    @Test func `the node that has a job is told to others, and where it is while it has its lease`() async throws {
        try await StoreFixture.with { fixture in
            let directory = PostgresNodeDirectory(client: fixture.database.client, node: fixture.nodes[0])
            let job = try NewJob.make()
            _ = try await fixture.store().enqueue([job])
            #expect(try await directory.owner(of: job.id, tenant: fixture.tenant) == nil)
            let queue = fixture.queue(1, listeningAt: "http://10.0.0.1:8080")
            _ = try await queue.heartbeat()
            _ = try await queue.claim(limit: 1)
            let owner = NodeAddress(id: fixture.nodes[1], url: "http://10.0.0.1:8080")
            #expect(try await directory.owner(of: job.id, tenant: fixture.tenant) == owner)
            // A heartbeat from before the node listened, which comes late.
            _ = try await fixture.queue(1).heartbeat()
            #expect(try await directory.owner(of: job.id, tenant: fixture.tenant) == owner)
            #expect(try await directory.owner(of: job.id, tenant: Tenant.ID(rawValue: 2)) == nil)
            let own = PostgresNodeDirectory(client: fixture.database.client, node: fixture.nodes[1])
            #expect(try await own.owner(of: job.id, tenant: fixture.tenant) == nil)
            try await fixture.database.client.query("UPDATE nodes SET lease_until = now() - interval '1 second'")
            let lost = NodeAddress(id: fixture.nodes[1], url: nil)
            #expect(try await directory.owner(of: job.id, tenant: fixture.tenant) == lost)
        }
    }

    // Proves: REL-3.
    @Test func `a node that comes back after its lease writes nothing`() async throws {
        try await StoreFixture.with { fixture in
            let lost = try await lostJob(fixture)
            _ = try await fixture.queue(0).heartbeatAndRescue()
            #expect(try await fixture.queue(1).settle(lost, .make()) == false)
            #expect(try await fixture.queue(1).begin(lost) == false)
            let claimed = try #require(try await fixture.queue(0).claim(limit: 1).first)
            #expect(try await fixture.queue(1).settle(lost, .make()) == false)
            #expect(try await fixture.queue(0).settle(claimed, .make()))
            #expect(try await fixture.queue(1).settle(lost, .make(.failed)) == false)
            #expect(try await fixture.count("results") == 1)
            #expect(try await fixture.queue(1).heartbeat().leaseWasLost)
        }
    }

    // Proves: REL-6.
    @Test func `a request that must not be repeated fails when it may have left`() async throws {
        try await StoreFixture.with { fixture in
            let lost = try await lostJob(fixture, method: "POST", begins: true)
            _ = try await fixture.queue(0).heartbeatAndRescue()
            let job = try #require(try await fixture.store().job(lost.id, of: fixture.tenant))
            #expect(job.state == .failed)
            #expect(job.error?.text.contains("networkConnectionLost") == true)
            #expect(try await fixture.queue(0).claim(limit: 1).isEmpty)
        }
    }

    // Proves: REL-6.
    @Test func `a request that had not begun is repeated whatever its method`() async throws {
        try await StoreFixture.with { fixture in
            let lost = try await lostJob(fixture, method: "POST")
            _ = try await fixture.queue(0).heartbeatAndRescue()
            #expect(try await fixture.queue(0).claim(limit: 1).map(\.id) == [lost.id])
        }
    }

    @Test func `a lost job that was being cancelled is cancelled`() async throws {
        try await StoreFixture.with { fixture in
            let lost = try await lostJob(fixture)
            _ = try await fixture.store().cancel(lost.id, of: fixture.tenant, .plainly)
            _ = try await fixture.queue(0).heartbeatAndRescue()
            #expect(try await fixture.store().job(lost.id, of: fixture.tenant)?.state == .cancelled)
        }
    }

    @Test func `released jobs wait again, unless they had begun`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make(), try .make(method: "POST")])
            let jobs = try await fixture.queue(1).claim(limit: 2)
            let begun = try #require(jobs.first { !$0.spec.request.isIdempotent })
            #expect(try await fixture.queue(1).begin(begun))
            try await fixture.queue(1).release(jobs)
            #expect(try await fixture.queue(0).claim(limit: 2).map(\.id) == jobs.map(\.id).filter { $0 != begun.id })
        }
    }

    @Test func `the end of a job that was being cancelled when it was given back is counted and told`() async throws {
        try await StoreFixture.with { fixture in
            let endpoint = try fixture.endpoint()
            try await fixture.webhooks().add(endpoint)
            _ = try await fixture.store().enqueue([try .make(more: #", "webhook": {"endpoint": "\#(endpoint.id)"}"#)])
            let jobs = try await fixture.queue(1).claim(limit: 1)
            try await fixture.store().cancel(jobs.map(\.id), of: fixture.tenant, .keepingPartial)
            #expect(try await fixture.queue(1).release(jobs) == [jobs[0].id])
            #expect(try await fixture.store().job(jobs[0].id, of: fixture.tenant)?.state == .cancelled)
            #expect(try await fixture.count("job_counts WHERE state = 'cancelled' AND jobs = 1") == 1)
            #expect(try await fixture.deliveryStates() == ["pending": 1])
            #expect(try await fixture.queue(0).claim(limit: 1).isEmpty)
        }
    }

    // R3: the answer to a claim or a submission was lost, and with it the jobs, although their node lives.
    @Test func `a node gives back what it has without knowing`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make(), try .make(method: "POST"), try .make(), try .make()])
            let jobs = try await fixture.queue(1).claim(limit: 3)
            let others = try await fixture.queue(0).claim(limit: 1)
            #expect(try await fixture.queue(1).begin(jobs[1]))
            #expect(try await fixture.queue(1).reconcile(except: [], unsent: []) == 0)
            try await fixture.database.client.query("UPDATE queue SET claimed_at = now() - interval '3 seconds'")
            #expect(try await fixture.queue(1).reconcile(except: [jobs[2].id], unsent: []) == 2)
            #expect(try await fixture.store().job(jobs[1].id, of: fixture.tenant)?.state == .failed)
            #expect(try await fixture.queue(1).settle(jobs[0], .make()) == false)
            let again = try await fixture.queue(0).claim(limit: 3)
            #expect(again.map(\.id) == [jobs[0].id] && again.map(\.claim) == [2])
            #expect(try await fixture.queue(1).settle(jobs[2], .make()))
            #expect(try await fixture.queue(0).settle(others[0], .make()))
            let job = try #require(try await fixture.store().job(jobs[0].id, of: fixture.tenant))
            #expect(job.attempts.map(\.errorName) == ["networkConnectionLost"])
        }
    }

    // R3
    // Proves: REL-6.
    @Test func `a job whose request was held back is repeated whatever its method`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make(method: "POST"), try .make(method: "POST")])
            let queue = fixture.queue()
            let jobs = try await queue.claim(limit: 2)
            for job in jobs { #expect(try await queue.begin(job)) }
            try await fixture.database.client.query("UPDATE queue SET claimed_at = now() - interval '3 seconds'")
            #expect(try await queue.reconcile(except: [], unsent: [jobs[0]]) == 2)
            #expect(try await queue.claim(limit: 2).map(\.id) == [jobs[0].id])
            #expect(try await fixture.store().job(jobs[1].id, of: fixture.tenant)?.state == .failed)
        }
    }

    // R3
    @Test func `an outcome that cannot be stored spares those that are stored with it`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue((0..<40).map { _ in try .make() })
            let queue = fixture.queue()
            let jobs = try await queue.claim(limit: 40)
            let settled = try await withThrowingTaskGroup(of: Bool.self) { group in
                for job in jobs {
                    group.addTask {
                        var outcome = JobOutcome.make()
                        if job.id == jobs[17].id { outcome.response = StoredResponse(json: RawJSON(Array("{".utf8))) }
                        do throws(StoreError) { return try await queue.settle(job, outcome) } catch { return false }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(settled == 39)
            #expect(try await fixture.count("results") == 39)
        }
    }

    /// Has node 1 claim all jobs and be lost; it tries suspects, at most as many as are given.
    private func loseNode(_ fixture: StoreFixture, trying count: Int? = nil, isAlone: Bool = false) async throws {
        let queue = fixture.queue(1)
        _ = try await queue.heartbeat()
        _ = try await queue.claim(limit: 100)
        if let count {
            #expect(try await queue.nextTrial() == count)
            let suspects = try await queue.claimSuspects(count)
            #expect(suspects.allSatisfy { $0.mayHaveBeenLost })
            #expect(try await queue.beginTrial(suspects, isAlone: isAlone) == Set(suspects.map(\.id)))
        }
        try await fixture.database.client.query("UPDATE nodes SET lease_until = now() - interval '1 second'")
        _ = try await fixture.queue(0).heartbeatAndRescue()
    }

    // R3
    // Proves: REL-4, REL-5.
    @Test func `a job that is lost alone time after time ends, and those beside it do not`() async throws {
        try await StoreFixture.with { fixture in
            let (poison, innocent) = (try NewJob.make(more: #", "priority": 1"#), try NewJob.make())
            _ = try await fixture.store().enqueue([poison, innocent])
            for _ in 0..<2 { try await loseNode(fixture) }
            #expect(try await fixture.queue().heartbeat().hasSuspects)
            #expect(try await fixture.queue().claim(limit: 10).isEmpty)
            try await loseNode(fixture, trying: 16)
            for _ in 0..<2 { try await loseNode(fixture, trying: 1, isAlone: true) }
            #expect(try await fixture.store().job(poison.id, of: fixture.tenant)?.state == .queued)
            try await loseNode(fixture, trying: 1, isAlone: true)
            let ended = try #require(try await fixture.store().job(poison.id, of: fixture.tenant))
            #expect(ended.state == .failed && ended.attempts.count == 6)
            #expect(ended.error?.text.contains(#""name":"workerCrashed""#) == true)
            #expect(try await fixture.store().job(innocent.id, of: fixture.tenant)?.state == .queued)
        }
    }

    // Proves: REL-5, REL-4.
    @Test func `a suspect is blamed only for what happens while it has its node for itself`() async throws {
        try await StoreFixture.with { fixture in
            let job = try NewJob.make()
            _ = try await fixture.store().enqueue([job])
            for _ in 0..<2 { try await loseNode(fixture) }
            try await loseNode(fixture, trying: 16)
            for _ in 0..<5 { try await loseNode(fixture, trying: 1) }
            let claimed = try #require(try await fixture.queue(1).claimSuspects(1).first)
            #expect(try await fixture.queue(1).beginTrial([claimed], isAlone: true) == [job.id])
            #expect(try await fixture.queue(0).beginTrial([claimed], isAlone: true).isEmpty)
            try await fixture.queue(1).release([claimed])
            try await loseNode(fixture)
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .queued)
        }
    }

    // Proves: REL-5.
    @Test func `suspects are tried on all nodes, many at a time, and fewer after each loss`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue((0..<40).map { _ in try .make() })
            for _ in 0..<2 { try await loseNode(fixture) }
            #expect(try await fixture.queue(0).nextTrial() == 16)
            let here = try await fixture.queue(0).claimSuspects(16)
            #expect(here.count == 16)
            try await loseNode(fixture, trying: 16)
            for job in here { #expect(try await fixture.queue(0).settle(job, .make())) }
            let rest = try await fixture.queue(0).claimSuspects(16)
            #expect(rest.count == 8)
            try await loseNode(fixture, trying: 4)
            #expect(try await fixture.queue(0).nextTrial() == 4)
            #expect(try await fixture.count("queue WHERE company = 4") == 4)
        }
    }

    @Test func `a node with a lease keeps its jobs`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make()])
            #expect(try await fixture.queue(1).heartbeat().leaseWasLost)
            _ = try await fixture.queue(1).claim(limit: 1)
            #expect(try await fixture.queue(1).heartbeat().leaseWasLost == false)
            #expect(try await fixture.queue(0).heartbeatAndRescue().hasQueuedJobs == false)
        }
    }
}
