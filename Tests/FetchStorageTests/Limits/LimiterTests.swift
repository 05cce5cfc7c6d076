import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Limits of hosts and flows, as two nodes keep them.
@Suite struct LimiterTests {
    private static let host = Limiter.Address(tenant: Tenant.ID(rawValue: 1), kind: .host, key: "origin.example")
    private static let flow = Limiter.Address(tenant: Tenant.ID(rawValue: 1), kind: .flow, key: "k")

    private static func limits(_ text: String, of kind: Limiter.Kind = .host) throws -> SharedLimits {
        try SharedLimits(json: try JSONParser.parse(text.utf8), of: kind)
    }

    private static func store(_ fixture: StoreFixture, _ node: Int = 0) -> PostgresLimiterStore {
        PostgresLimiterStore(client: fixture.database.client, known: fixture.limiters[node], intake: nil, announce: {})
    }

    /// Lets through the jobs that may pass, and claims them.
    private static func next(_ fixture: StoreFixture, _ node: Int = 0, limit: Int = 100) async throws -> [ClaimedJob] {
        let gated = try await fixture.queue(node).gatedLimiters(after: nil, limit: 100)
        _ = try await fixture.queue(node).admit(gated)
        return try await fixture.queue(node).claim(limit: limit)
    }

    private static func enqueue(
        _ count: Int, _ fixture: StoreFixture, _ node: Int = 0, more: String = ""
    ) async throws -> [Job.ID] {
        let jobs = try (0..<count).map { _ in try NewJob.make(more: more) }
        _ = try await fixture.store(node).enqueue(jobs)
        return jobs.map(\.id)
    }

    // MARK: Hosts

    @Test func `a host's jobs run so many at once on all nodes, whenever the limit was set`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.enqueue(3, fixture)
            let early = try await fixture.queue(1).claim(limit: 1)
            #expect(early.count == 1)
            try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 3}"#), of: Self.host)
            // Another node has not heard of it yet: the next claim finds the jobs that it stores.
            _ = try await Self.enqueue(6, fixture, 1)
            #expect(try await fixture.queue(0).claim(limit: 100).isEmpty)
            let first = try await Self.next(fixture)
            #expect(first.count == 2)
            _ = try await fixture.queue(1).heartbeat()
            #expect(try await Self.next(fixture, 1).isEmpty)
            #expect(try await fixture.queue(0).settle(first[0], .make()))
            #expect(try await fixture.queue(0).retry(first[1], .make(.failed), after: .seconds(60)))
            #expect(try await Self.next(fixture, 1).count == 2)
            let limiter = try await Self.store(fixture).limiter(Self.host)
            #expect(limiter?.running == 3 && limiter?.waiting == 4)

            try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 5}"#), of: Self.host)
            #expect(try await Self.next(fixture).count == 2)
            #expect(try await Self.store(fixture).remove(Self.host))
            #expect(try await Self.store(fixture).remove(Self.host) == false)
            #expect(try await Self.next(fixture).count == 2)
        }
    }

    @Test func `a job waits at the gate of the host whose URL is next in turn`() async throws {
        try await StoreFixture.with { fixture in
            let mirror = Limiter.Address(tenant: Self.host.tenant, kind: .host, key: "mirror.example")
            try await Self.store(fixture).setPaused(true, mirror)
            let text =
                #"{"kind": "download", "request": {"url": "http://origin.example/", "mirrors": ["http://mirror.example/"]}}"#
            let spec = try JobSpec(json: try JSONParser.parse(text.utf8))
            _ = try await fixture.store().enqueue([NewJob(tenant: fixture.tenant, spec: spec)])
            let first = try #require(try await Self.next(fixture).first)
            #expect(first.hostLimiter?.key == "origin.example" && first.nextHost == "mirror.example")
            #expect(try await fixture.queue().retry(first, .make(.failed), after: .zero))
            _ = try await fixture.queue().promote()
            #expect(try await Self.next(fixture).isEmpty)
            #expect(try await Self.store(fixture).limiter(mirror)?.waiting == 1)
            try await Self.store(fixture).setPaused(false, mirror)
            let second = try #require(try await Self.next(fixture).first)
            #expect(second.hostLimiter?.key == "mirror.example" && second.tries == 1)
            // Its URLs change only while it waits, and so does the host whose limits hold.
            try await Self.store(fixture).setPaused(true, Self.host)
            #expect(try await fixture.queue().retry(second, .make(.failed), after: .zero))
            var change = JobChange()
            change.urls = spec.request.urls.reversed()
            let stored = try #require(try await fixture.store().job(first.id, of: fixture.tenant))
            let isChanged = try await fixture.store().change(
                first.id, of: fixture.tenant, from: stored.spec,
                to: try change.applied(to: try #require(stored.storedSpec)), change)
            #expect(isChanged)
            _ = try await fixture.queue().promote()
            let third = try #require(try await Self.next(fixture).first)
            #expect(third.hostLimiter?.key == "mirror.example" && third.tries == 2)
        }
    }

    @Test func `two nodes that look at once let no more through than may run`() async throws {
        try await StoreFixture.with { fixture in
            try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 2}"#), of: Self.host)
            _ = try await fixture.queue(1).heartbeat()
            _ = try await Self.enqueue(30, fixture)
            for _ in 0..<5 {
                async let one = Self.next(fixture, 0)
                async let other = Self.next(fixture, 1)
                let jobs = try await (fixture.queue(0), one, fixture.queue(1), other)
                #expect(jobs.1.count + jobs.3.count <= 2)
                for job in jobs.1 { #expect(try await jobs.0.settle(job, .make())) }
                for job in jobs.3 { #expect(try await jobs.2.settle(job, .make())) }
            }
        }
    }

    // At the gate of a host too.
    @Test func `jobs of higher priority pass first, also when it was changed while they wait`() async throws {
        try await StoreFixture.with { fixture in
            try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 1}"#), of: Self.host)
            let jobs = try await Self.enqueue(3, fixture)
            let urgent = try await Self.enqueue(1, fixture, more: #", "priority": 0.8"#)
            let stored = try #require(try await fixture.store().job(jobs[2], of: fixture.tenant))
            var change = JobChange()
            change.priority = 1
            let changed = try change.applied(to: try #require(stored.storedSpec))
            let isChanged = try await fixture.store().change(
                jobs[2], of: fixture.tenant, from: stored.spec, to: changed, change)
            #expect(isChanged)
            for id in [jobs[2], urgent[0], jobs[0], jobs[1]] {
                let job = try #require(try await Self.next(fixture).first)
                #expect(job.id == id)
                #expect(try await fixture.queue().settle(job, .make()))
            }
        }
    }

    @Test func `a limiter that somebody has locked holds up no other, and is looked at again soon`() async throws {
        try await StoreFixture.with { fixture in
            let other = Limiter.Address(tenant: Self.host.tenant, kind: .host, key: "other.example")
            for host in [Self.host, other] {
                try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 1}"#), of: host)
            }
            _ = try await Self.enqueue(1, fixture)
            let job = NewJob(tenant: fixture.tenant, spec: try .make(url: "http://other.example/"))
            _ = try await fixture.store().enqueue([job])
            #expect(try await fixture.queue().claim(limit: 10).isEmpty)
            let admission = try await fixture.database.client.transaction { connection in
                try await connection.query("SELECT FROM limiters WHERE key = \(Self.host.key) FOR UPDATE")
                return try await fixture.queue().admit([Self.host, other])
            }
            #expect(admission.hasQueuedJobs)
            #expect(admission.next[Self.host].map { $0 < .seconds(1) } == true && admission.next[other] == nil)
            #expect(try await fixture.queue().claim(limit: 10).map(\.id) == [job.id])
            #expect(try await Self.next(fixture).count == 1)
        }
    }

    @Test func `so many start in a time, and no more`() async throws {
        try await StoreFixture.with { fixture in
            let limits = try Self.limits(#"{"rate": {"jobs": 2, "period": 3600}}"#)
            try await Self.store(fixture).set(limits, of: Self.host)
            _ = try await Self.enqueue(5, fixture)
            let admission = try await fixture.queue().admit([Self.host])
            #expect(admission.hasQueuedJobs)
            #expect(admission.next[Self.host].map { $0 > .seconds(3590) && $0 <= .seconds(3600) } == true)
            let jobs = try await fixture.queue().claim(limit: 10)
            #expect(jobs.count == 2)
            for job in jobs { #expect(try await fixture.queue().settle(job, .make())) }
            #expect(try await Self.next(fixture, 1).isEmpty)
            try await fixture.database.client.query(
                "UPDATE limiter_starts SET started_at = started_at - interval '1 hour'")
            #expect(try await Self.next(fixture, 1).count == 2)
            let store = Self.store(fixture)
            let flow = try #require(try await store.limiter(Self.host))
            #expect(flow.started == 2 && flow.periodBegan != nil)
            try await store.resetRate(of: Self.host)
            #expect(try await store.limiter(Self.host)?.started == 0)
            #expect(try await Self.next(fixture, 1).count == 1)
        }
    }

    // MARK: Pausing

    // R11
    @Test func `while a host is paused its jobs wait and others go on, on nodes that start later too`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.enqueue(2, fixture)
            try await Self.store(fixture).setPaused(true, Self.host)
            _ = try await Self.enqueue(2, fixture)
            let other = NewJob(tenant: fixture.tenant, spec: try .make(url: "http://other.example/"))
            _ = try await fixture.store().enqueue([other])
            _ = try await fixture.queue(1).heartbeat()
            #expect(try await Self.next(fixture, 1).map(\.id) == [other.id])
            #expect(try await fixture.queue(1).heartbeat().hasGatedJobs)
            try await Self.store(fixture).setPaused(false, Self.host)
            #expect(try await Self.next(fixture, 1).count == 4)
        }
    }

    // R17
    @Test func `a tenant that is paused is passed over, and all of them are when the service is`() async throws {
        try await StoreFixture.with { fixture in
            let (store, tenants) = (Self.store(fixture), PostgresTenantStore(client: fixture.database.client))
            _ = try await Self.enqueue(2, fixture)
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('second')")
            let other = NewJob(tenant: Tenant.ID(rawValue: 2), spec: try .make())
            _ = try await fixture.store().enqueue([other])
            let queue = fixture.queue(0)
            try await store.setPaused(true, of: fixture.tenant)
            #expect(try await store.queue(of: fixture.tenant).isPaused)
            #expect(try await queue.claim(limit: 10).map(\.id) == [other.id])
            try await store.setPaused(false, of: fixture.tenant)
            #expect(try await tenants.setPaused(true, ofTenant: nil))
            _ = try await queue.heartbeat()
            #expect(try await queue.claim(limit: 10).isEmpty)
            #expect(try await store.queue(of: fixture.tenant).isServicePaused)
            #expect(try await tenants.setPaused(false, ofTenant: nil))
            #expect(try await tenants.setPaused(true, ofTenant: "nobody") == false)
            _ = try await queue.heartbeat()
            #expect(try await queue.claim(limit: 10).count == 2)
        }
    }

    // R35
    @Test func `jobs of a host with an open circuit wait; then one is tried, and an answer lets more go on`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            _ = try await Self.enqueue(4, fixture)
            let early = try #require(try await queue.claim(limit: 1).first)
            #expect(try await queue.heed(.proceed, of: Self.host, askedAt: .now) == false)
            let until = Timestamp.now.advanced(by: .seconds(60))
            let signal = Limiter.Signal.open(.init(until: until, reason: "429, Retry-After"))
            #expect(try await queue.heed(signal, of: Self.host, askedAt: .now))
            #expect(try await queue.heed(signal, of: Self.host, askedAt: .now) == false)
            #expect(try await queue.claim(limit: 10).isEmpty)
            let admission = try await queue.admit([Self.host])
            #expect(admission.next[Self.host].map { $0 > .zero && $0 <= .seconds(60) } == true)
            let limiter = try await Self.store(fixture).limiter(Self.host)
            #expect(
                limiter?.circuit == .open && limiter?.waiting == 3 && limiter?.openCircuit?.reason == "429, Retry-After"
            )
            // A response to an earlier request says nothing of the time after.
            #expect(try await queue.heed(.proceed, of: Self.host, askedAt: until.advanced(by: .seconds(-1))) == false)

            try await Self.closeCircuit(fixture)
            #expect(try await Self.store(fixture).limiter(Self.host)?.circuit == .halfOpen)
            let probe = try await Self.next(fixture)
            #expect(probe.count == 1)
            #expect(try await Self.next(fixture, 1).isEmpty)
            #expect(try await fixture.queue(1).heed(.proceed, of: Self.host, askedAt: .now))
            #expect(try await Self.store(fixture).limiter(Self.host)?.circuit == .halfOpen)
            for job in [early, probe[0]] { #expect(try await queue.settle(job, .make())) }
            #expect(try await Self.next(fixture).count == 2)
            #expect(try await fixture.queue(1).heed(.proceed, of: Self.host, askedAt: .now))
            // Nothing waits: nothing is known of it any more.
            #expect(try await Self.store(fixture).limiter(Self.host) == nil)
        }
    }

    // R35
    @Test func `twice as many go on with each answer, until there are enough or one is refused`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            _ = try await Self.enqueue(300, fixture)
            func open() async throws {
                let circuit = Limiter.OpenCircuit(until: .now.advanced(by: .seconds(60)), reason: "503, Retry-After")
                #expect(try await queue.heed(.open(circuit), of: Self.host, askedAt: .now))
                // The claim that finds them sends them to the gate.
                #expect(try await queue.claim(limit: 300).isEmpty)
                try await Self.closeCircuit(fixture)
            }
            func expectRound(_ count: Int) async throws {
                let asked = Timestamp.now
                let jobs = try await Self.next(fixture)
                #expect(jobs.count == count)
                for job in jobs { #expect(try await queue.settle(job, .make())) }
                #expect(try await queue.heed(.proceed, of: Self.host, askedAt: asked))
                // Another answer of the same round.
                #expect(try await queue.heed(.proceed, of: Self.host, askedAt: asked) == false)
            }
            try await open()
            for count in [1, 2, 4] { try await expectRound(count) }
            try await open()
            for count in [1, 2, 4, 8, 16, 32, 64] { try await expectRound(count) }
            #expect(try await Self.store(fixture).limiter(Self.host) == nil)
            #expect(try await Self.next(fixture, limit: 300).count == 300 - 7 - 127)
        }
    }

    // R35
    @Test func `a host keeps its limits while its circuit is open; who resumes it knows better than it`() async throws {
        try await StoreFixture.with { fixture in
            let (queue, store) = (fixture.queue(), Self.store(fixture))
            try await store.set(try Self.limits(#"{"parallelism": 2}"#), of: Self.host)
            _ = try await Self.enqueue(4, fixture)
            let circuit = Limiter.OpenCircuit(until: .now.advanced(by: .seconds(60)), reason: "503, Retry-After")
            #expect(try await queue.heed(.open(circuit), of: Self.host, askedAt: .now))
            try await store.setPaused(true, Self.host)
            #expect(try await store.limiter(Self.host)?.circuit == .open)
            try await store.setPaused(false, Self.host)
            #expect(try await store.limiter(Self.host)?.circuit == .closed)
            #expect(try await Self.next(fixture).count == 2)
        }
    }

    // R35
    @Test func `a host that names no time is left alone for twice as long each time, until it answers`() async throws {
        try await StoreFixture.with { fixture in
            let (queue, store) = (fixture.queue(), Self.store(fixture))
            let refusal = Limiter.Signal.backOff(reason: "429")
            func expectRefusal(toLast seconds: Int64) async throws {
                let before = Timestamp.now
                #expect(try await queue.heed(refusal, of: Self.host, askedAt: before))
                let until = try #require(try await store.limiter(Self.host)?.openCircuit?.until)
                #expect(until >= before.advanced(by: .seconds(seconds)))
                #expect(until <= Timestamp.now.advanced(by: .seconds(seconds)))
            }
            let start = Timestamp.now
            try await expectRefusal(toLast: 1)
            // Others were under way, here and on a node that has not heard of it.
            #expect(try await queue.heed(refusal, of: Self.host, askedAt: start) == false)
            _ = try await fixture.queue(1).heed(refusal, of: Self.host, askedAt: start)
            for seconds in [2, 4, 8, 16, 32, 64, 128, 256, 256] as [Int64] {
                try await Self.closeCircuit(fixture)
                try await expectRefusal(toLast: seconds)
            }
            try await Self.closeCircuit(fixture)
            #expect(try await queue.heed(.proceed, of: Self.host, askedAt: .now))
            try await expectRefusal(toLast: 1)
        }
    }

    /// Lets the time pass that circuits are open until, for all nodes.
    private static func closeCircuit(_ fixture: StoreFixture) async throws {
        try await fixture.database.client.query(
            """
            WITH changed AS (UPDATE queue_state SET version = version + 1 RETURNING version)
            UPDATE limiters SET circuit_open_until = now() - interval '30 seconds', version = changed.version FROM changed
            """)
        for node in [0, 1] { _ = try await fixture.queue(node).heartbeat() }
    }

    // MARK: Flows

    // R37
    @Test func `jobs of a flow in order run one after the other, whatever their priority, and across retries`()
        async throws
    {
        try await StoreFixture.with { fixture in
            try await Self.store(fixture).set(try Self.limits(#"{"order": "fifo"}"#, of: .flow), of: Self.flow)
            var jobs = try await Self.enqueue(2, fixture, more: #", "flow": {"key": "k"}"#)
            jobs += try await Self.enqueue(1, fixture, more: #", "flow": {"key": "k"}, "priority": 1"#)
            let first = try #require(try await Self.next(fixture).first)
            #expect(first.id == jobs[0])
            #expect(try await fixture.queue().retry(first, .make(.failed), after: .zero))
            #expect(try await Self.next(fixture, 1).isEmpty)
            #expect(try await fixture.queue().promote().hasQueuedJobs)
            for id in jobs {
                let claimed = try await Self.next(fixture)
                #expect(claimed.map(\.id) == [id])
                #expect(try await fixture.queue().settle(claimed[0], .make(.failed)))
            }
        }
    }

    @Test(arguments: [true, false])
    func `the next job of a flow waits for the callback about the end of the last, where that is in the flow`(
        _ isInOrder: Bool
    ) async throws {
        try await StoreFixture.with { fixture in
            let limits = isInOrder ? #"{"order": "fifo"}"# : #"{"parallelism": 1}"#
            try await Self.store(fixture).set(try Self.limits(limits, of: .flow), of: Self.flow)
            let callback = #"{"url": "https://b.example/", "inFlow": true}"#
            let jobs = try await Self.enqueue(
                2, fixture, more: #", "flow": {"key": "k"}, "callbacks": {"attempt": \#(callback)}"#)
            func outcome(of job: ClaimedJob, isEnd: Bool) -> JobOutcome {
                var outcome = JobOutcome.make(isEnd ? .succeeded : .failed)
                let report = AttemptReport(of: job, outcome, body: nil)
                outcome.callbacks = report.callbacks([.attempt], isEnd: isEnd)
                return outcome
            }
            var first = try #require(try await Self.next(fixture).first)
            if isInOrder {
                let early = outcome(of: first, isEnd: false)
                #expect(try await fixture.queue().retry(first, early, after: .zero))
                #expect(try await fixture.queue().promote().hasQueuedJobs)
                // What tells of an attempt that another one follows goes beside the flow.
                let claimed = try await Self.next(fixture)
                #expect(Set(claimed.map(\.id)) == [first.id, early.callbacks[0].id])
                first = try #require(claimed.first { $0.id == jobs[0] })
            }
            let end = outcome(of: first, isEnd: true)
            #expect(try await fixture.queue().settle(first, end))
            let told = try #require(try await Self.next(fixture).first)
            #expect(told.id == end.callbacks[0].id)
            #expect(try await Self.next(fixture, 1).isEmpty)
            #expect(try await fixture.queue().settle(told, .make(.failed)))
            #expect(try await Self.next(fixture).map(\.id) == [jobs[1]])
        }
    }

    // R37
    @Test(arguments: ["redrive", "remove", "skip"])
    func `a job that failed holds up its flow, when that is set, until something is done about it`(
        _ remedy: String
    ) async throws {
        try await StoreFixture.with { fixture in
            let limits = try Self.limits(#"{"order": "fifo", "onFailure": "block"}"#, of: .flow)
            try await Self.store(fixture).set(limits, of: Self.flow)
            let jobs = try (0..<2).map { _ in try NewJob.make(more: #", "flow": {"key": "k"}"#) }
            _ = try await fixture.store().enqueue(jobs)
            let first = try #require(try await Self.next(fixture).first)
            #expect(try await fixture.queue().settle(first, .make(.failed)))
            #expect(try await Self.next(fixture).isEmpty)
            #expect(try await Self.store(fixture).limiter(Self.flow)?.blockedBy == first.id)
            switch remedy {
            case "redrive":
                #expect(try await fixture.store().redrive([jobs[0]]).count == 1)
                let again = try #require(try await Self.next(fixture).first)
                #expect(again.id == first.id)
                #expect(try await Self.next(fixture).isEmpty)
                #expect(try await fixture.queue().settle(again, .make()))
            case "remove": #expect(try await fixture.store().remove([first.id], of: fixture.tenant).count == 1)
            default: try await Self.store(fixture).skip(Self.flow)
            }
            #expect(try await Self.next(fixture).map(\.id) == [jobs[1].id])
            #expect(try await Self.store(fixture).limiter(Self.flow)?.blockedBy == nil)
        }
    }

    @Test func `a job keeps the limits of its flow and those of its host`() async throws {
        try await StoreFixture.with { fixture in
            try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 3}"#, of: .flow), of: Self.flow)
            try await Self.store(fixture).set(try Self.limits(#"{"parallelism": 2}"#), of: Self.host)
            _ = try await Self.enqueue(5, fixture, more: #", "flow": {"key": "k"}"#)
            #expect(try await Self.next(fixture).isEmpty)
            let jobs = try await Self.next(fixture)
            #expect(jobs.count == 2)
            #expect(try await fixture.queue().settle(jobs[0], .make()))
            #expect(try await Self.next(fixture).count == 1)
        }
    }

    @Test func `all limiters with jobs at their gates are found, part by part, whosever and however many they are`()
        async throws
    {
        try await StoreFixture.with { fixture in
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('second')")
            var gated: [Limiter.Address] = []
            for (tenant, count) in [(Tenant.ID(rawValue: 1), 3), (Tenant.ID(rawValue: 2), 1)] {
                for number in 0..<count {
                    for (kind, more) in [(Limiter.Kind.flow, #", "flow": {"key": "k\#(number)"}"#), (.host, "")] {
                        let key = kind == .flow ? "k\(number)" : "h\(number).example"
                        let limiter = Limiter.Address(tenant: tenant, kind: kind, key: key)
                        try await Self.store(fixture).setPaused(true, limiter)
                        let spec = try JobSpec.make(url: "http://h\(number).example/", more: more)
                        let jobs = (0..<2).map { _ in NewJob(tenant: tenant, spec: spec) }
                        _ = try await fixture.store().enqueue(jobs)
                        gated.append(limiter)
                    }
                }
            }
            _ = try await fixture.queue().claim(limit: 100)
            var found: [Limiter.Address] = []
            while true {
                let part = try await fixture.queue().gatedLimiters(after: found.last, limit: 3)
                found += part
                guard part.count == 3 else { break }
            }
            #expect(found.count == 8 && Set(found) == Set(gated))
        }
    }

    // Proves: SEC-41.
    @Test func `limiters are their tenant's own`() async throws {
        try await StoreFixture.with { fixture in
            let other = Tenant.ID(rawValue: 2)
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('second')")
            try await Self.store(fixture).setPaused(true, Self.host)
            let job = NewJob(tenant: other, spec: try .make())
            _ = try await fixture.store().enqueue([job])
            #expect(try await Self.next(fixture).map(\.id) == [job.id])
            #expect(try await Self.store(fixture).limiters(of: other, .host, after: "", limit: 10).isEmpty)
        }
    }
}
