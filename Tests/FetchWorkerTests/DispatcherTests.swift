import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// A node that claims jobs, runs them, keeps its lease and stops.
@Suite struct DispatcherTests {
    /// An origin that answers when the gate opens, and counts its requests.
    private static func held(by gate: Gate, _ asked: Progress = Progress()) throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                asked.add(1)
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
    }

    // MARK: Claiming

    @Test func `jobs that wait are claimed, run, and leave their slots`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        try await fixture.run {
            var jobs: [Job.ID] = []
            for _ in 0..<20 { jobs.append(try await fixture.submit(origin.url)) }
            for job in jobs {
                try await until {
                    // Claims pause while slots are scarce.
                    fixture.node.clock.advance(by: .milliseconds(1))
                    return try await fixture.job(job)?.state == .succeeded
                }
            }
            #expect(try await fixture.job(jobs[0])?.attempts.map(\.number) == [1])
            try await until { fixture.intake.slots.areEmpty && fixture.intake.running.ids.isEmpty }
        }
    }

    @Test func `what nobody told of is found by the heartbeat`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        try await fixture.run {
            let job = NewJob(tenant: fixture.tenant, spec: try JobSpec.make(url: origin.url))
            _ = try await fixture.store.enqueue([job])
            #expect(try await fixture.job(job.id)?.state == .queued)
            await fixture.node.beat()
            try await fixture.until(job.id, .succeeded)
        }
    }

    @Test func `jobs of a claim whose answer was lost go back to the queue and run`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        try await fixture.run {
            await fixture.node.settleIn()
            fixture.queue.fail(.claim, with: StoreError(.unavailable, "cut"), losingTheAnswer: true)
            let job = try await fixture.submit(origin.url)
            try await fixture.until(job, .running)
            try await until { fixture.intake.hasUncertainCommits }
            #expect(fixture.intake.running.ids.isEmpty)
            fixture.queue.letPass(.seconds(10))
            await fixture.node.beat()
            try await fixture.until(job, .succeeded)
            #expect(try await fixture.job(job)?.attempts.map(\.number) == [1, 2])
        }
    }

    // MARK: The lease

    // Proves: REL-2, REL-3.
    @Test func `jobs of a lease that was lost are stopped, and nothing of them is stored`() async throws {
        let gate = Gate()
        let origin = try Self.held(by: gate)
        let fixture = try await WorkerFixture()
        try await fixture.run {
            let job = try await fixture.submit(origin.url)
            try await until { fixture.intake.running.count == 1 }
            fixture.queue.lose()
            _ = try await fixture.other.rescue()
            let claimed = try await fixture.other.claim(upTo: 1, room: ClaimRoom()).jobs
            await fixture.node.beat()
            try await until { fixture.intake.running.ids.isEmpty }
            #expect(try await fixture.job(job)?.state == .running)
            #expect(try await fixture.other.settle(try #require(claimed.first), .make()))
        }
        gate.open()
    }

    @Test func `a job is cancelled or held as the heartbeat says`() async throws {
        let gate = Gate()
        let origin = try Self.held(by: gate)
        let fixture = try await WorkerFixture()
        try await fixture.run {
            let cancelled = try await fixture.submit(origin.url)
            let held = try await fixture.submit(origin.url)
            try await until { fixture.intake.running.count == 2 }
            try await fixture.store.cancel([cancelled], of: fixture.tenant, .plainly)
            try await fixture.store.setSuspended([held], of: fixture.tenant, true)
            await fixture.node.beat()
            try await fixture.until(cancelled, .cancelled)
            try await until { fixture.intake.running.suspendedCount == 1 && fixture.intake.slots.areEmpty }
            try await fixture.store.setSuspended([held], of: fixture.tenant, false)
            gate.open()
            await fixture.node.beat()
            try await fixture.until(held, .succeeded)
        }
    }

    @Test func `a job that is held when its time is over ends`() async throws {
        let (gate, asked) = (Gate(), Progress())
        let origin = try Self.held(by: gate, asked)
        let fixture = try await WorkerFixture()
        try await fixture.run {
            let time = fixture.clock.date.advanced(by: .seconds(10))
            let job = try await fixture.submit(
                origin.url, more: #", "expiresAt": "\#(time)", "configuration": {"retry": {"maximumAttempts": 1}}"#)
            try await until { asked.value == 1 }
            fixture.intake.setSuspended([job], true)
            fixture.clock.advance(by: .seconds(11))
            try await fixture.until(job, .failed)
            #expect(try await fixture.job(job)?.attempts.map(\.errorName) == ["timedOut"])
        }
        gate.open()
    }

    @Test func `jobs beyond those that a node holds wait in the queue until they are resumed`() async throws {
        let gate = Gate()
        let origin = try Self.held(by: gate)
        let fixture = try await WorkerFixture()
        try await fixture.run {
            var jobs: [Job.ID] = []
            // A node of 16 slots holds 16.
            for _ in 0..<12 { jobs.append(try await fixture.submit(origin.url)) }
            try await until { fixture.intake.running.count == 12 }
            try await fixture.store.setSuspended(jobs, of: fixture.tenant, true)
            fixture.intake.setSuspended(jobs, true)
            var later: [Job.ID] = []
            for _ in 0..<8 { later.append(try await fixture.submit(origin.url)) }
            try await until { fixture.intake.running.count == 20 }
            try await fixture.store.setSuspended(later, of: fixture.tenant, true)
            fixture.intake.setSuspended(later, true)
            try await until { fixture.intake.running.ids.count == 16 && fixture.intake.slots.areEmpty }
            jobs += later
            for job in jobs { #expect(try await fixture.job(job)?.state == .suspended) }
            try await fixture.store.setSuspended(jobs, of: fixture.tenant, false)
            gate.open()
            await fixture.node.beat()
            for job in jobs {
                try await until {
                    // Claims pause while slots are scarce.
                    fixture.clock.advance(by: .milliseconds(1))
                    return try await fixture.job(job)?.state == .succeeded
                }
            }
        }
    }

    @Test func `a client's word during a heartbeat keeps nothing else from being done`() async throws {
        let gate = Gate()
        let (held, origin) = (try Self.held(by: gate), try WireOrigin.answering())
        let fixture = try await WorkerFixture()
        try await fixture.run {
            let first = try await fixture.submit(held.url)
            try await until { fixture.intake.running.count == 1 }
            let asked = fixture.clock.now
            fixture.clock.advance(by: .milliseconds(1))
            try await fixture.store.setSuspended([first], of: fixture.tenant, true)
            fixture.intake.setSuspended([first], true)
            // The database was asked before, and knew nothing of it.
            fixture.dispatcher.setSuspended([], asOf: asked)
            let second = try await fixture.submit(origin.url)
            try await fixture.until(second, .succeeded)
            #expect(fixture.intake.running.suspendedCount == 1)
            try await fixture.store.cancel([first], of: fixture.tenant, .plainly)
            fixture.intake.cancel(first, .plainly)
            try await fixture.until(first, .cancelled)
        }
        gate.open()
    }

    // MARK: Suspects

    @Test func `a job that was lost twice is tried, and counts as any other when it succeeds`() async throws {
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        let job = try await fixture.submit(origin.url)
        for _ in 0..<2 {
            _ = try await fixture.other.heartbeat()
            _ = try await fixture.other.claim(upTo: 1, room: ClaimRoom())
            fixture.other.lose()
            _ = try await fixture.queue.rescue()
        }
        try await fixture.run {
            try await fixture.until(job, .succeeded)
            #expect(try await fixture.job(job)?.attempts.map(\.number) == [1, 2, 3])
            try await until { fixture.dispatcher.quarantine.isFree }
        }
    }

    @Test func `one that is tried alone waits until nothing else runs, and others wait for it`() async throws {
        let gate = Gate()
        let held = try Self.held(by: gate)
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture()
        let suspect = try await fixture.submit(origin.url)
        for company in [nil, nil, 16] {
            _ = try await fixture.other.heartbeat()
            let jobs =
                if let company { try await fixture.other.claimSuspects(company) } else {
                    try await fixture.other.claim(upTo: 1, room: ClaimRoom()).jobs
                }
            _ = try await fixture.other.beginTrial(jobs, isAlone: false)
            fixture.other.lose()
            _ = try await fixture.queue.rescue()
        }
        #expect(try await fixture.queue.nextTrial() == 1)
        let before = try await fixture.submit(held.url)
        let claimed = try await fixture.queue.claim(upTo: 1, room: ClaimRoom()).jobs
        fixture.intake.slots.admit(claimed)
        fixture.intake.run(claimed)
        try await fixture.run {
            // It looks every 20 ms whether it is alone.
            try await until { fixture.intake.slots.reserve([try NewJob.make(of: .second)]) == [false] }
            #expect(try await fixture.job(suspect)?.state == .queued)
            gate.open()
            try await fixture.until(before, .succeeded)
            try await until {
                fixture.clock.advance(by: .milliseconds(20))
                return try await fixture.job(suspect)?.state == .succeeded
            }
        }
    }

    // MARK: Stopping

    // Proves: REL-13.
    @Test func `a node that stops lets its jobs end, and takes no more`() async throws {
        let (gate, asked) = (Gate(), Progress())
        let origin = try Self.held(by: gate, asked)
        let fixture = try await WorkerFixture()
        let job = try await fixture.submit(origin.url)
        try await fixture.run {
            try await until { asked.value == 1 }
            await fixture.stop()
            try await until { fixture.intake.reserve([try NewJob.make()]) == [false] }
            let late = try await fixture.submit(origin.url)
            gate.open()
            try await until {
                fixture.clock.advance(by: .milliseconds(20))
                return try await fixture.job(job)?.state == .succeeded
            }
            #expect(try await fixture.job(late)?.state == .queued)
        }
    }

    // Proves: REL-13.
    @Test func `what does not end in time goes back, unless its request must not be repeated`() async throws {
        let (gate, asked) = (Gate(), Progress())
        let origin = try Self.held(by: gate, asked)
        let fixture = try await WorkerFixture(drainTimeout: .seconds(20))
        let repeatable = try await fixture.submit(origin.url)
        let once = try await fixture.submit(origin.url, method: "POST")
        try await fixture.run {
            try await until { asked.value == 2 }
            await fixture.stop()
            await fixture.clock.untilAsleep()
            fixture.clock.advance(by: .seconds(10))
            #expect(try await fixture.job(repeatable)?.state == .running)
            try await until {
                fixture.clock.advance(by: .seconds(10))
                return try await fixture.job(once)?.state == .failed
            }
            try await fixture.until(repeatable, .queued)
            #expect(try await fixture.job(once)?.attempts.map(\.errorName) == ["networkConnectionLost"])
        }
        gate.open()
    }

    // No heartbeat has told the node yet.
    @Test func `what is being cancelled does not go back when the node stops, and ends as cancelled`() async throws {
        let (gate, asked) = (Gate(), Progress())
        let origin = try Self.held(by: gate, asked)
        let fixture = try await WorkerFixture(drainTimeout: .zero)
        let jobs = [try await fixture.submit(origin.url), try await fixture.submit(origin.url, method: "POST")]
        try await fixture.run {
            try await until { asked.value == 2 }
            try await fixture.store.cancel(jobs, of: fixture.tenant, .plainly)
            await fixture.stop()
            for job in jobs { try await fixture.until(job, .cancelled) }
        }
        gate.open()
    }

    @Test func `jobs that wait for a connection go back when the node stops`() async throws {
        let (gate, asked) = (Gate(), Progress())
        let origin = try Self.held(by: gate, asked)
        let fixture = try await WorkerFixture()
        let more = #", "configuration": {"connections": {"maximumPerHost": 1}}"#
        let first = try await fixture.submit(origin.url, more: more)
        let second = try await fixture.submit(origin.url, more: more)
        try await fixture.run {
            try await until { asked.value == 1 && fixture.intake.slots.waitingCount == 1 }
            await fixture.stop()
            try await fixture.until(second, .queued)
            gate.open()
            try await until {
                fixture.clock.advance(by: .milliseconds(20))
                return try await fixture.job(first)?.state == .succeeded
            }
        }
    }
}
