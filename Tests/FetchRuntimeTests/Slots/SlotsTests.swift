import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// The room of a node, and who may have it.
@Suite struct SlotsTests {
    private func slots(_ count: Int = 16, weights: [Tenant.ID: Int] = [:]) -> Slots {
        Slots(count: count) { weights[$0] ?? 1 }
    }

    private func new(_ count: Int, of tenant: Tenant.ID = .first, host: String = "a.example") throws -> [NewJob] {
        try (0..<count).map { _ in try .make(of: tenant, host: host) }
    }

    @Test func `one tenant alone may have all slots, and what it gives back is free again`() throws {
        let slots = slots()
        let jobs = try new(20)
        let taken = slots.reserve(jobs)
        #expect(taken.count(where: \.self) == 16)
        slots.release(Array(jobs.prefix(16)))
        #expect(slots.areEmpty)
    }

    private func large(of tenant: Tenant.ID = .first) throws -> ClaimedJob {
        let body = String(repeating: "a", count: 200_000)
        let text = #"{"request": {"url": "http://a.example/", "method": "POST", "body": {"text": "\#(body)"}}}"#
        let spec = try JobSpec(json: try JSONParser.parse(text.utf8))
        return ClaimedJob(id: Job.ID(), tenant: tenant, spec: spec, claim: 1)
    }

    @Test func `a tenant whose jobs take much memory gets no more until some have ended, and others do`() throws {
        let slots = Slots(count: 16, memory: 1 << 20) { _ in 1 }
        let jobs = [try large(), try large()]
        slots.admit(jobs)
        #expect(slots.reserve(try new(1)) == [false])
        #expect(slots.reserve(try new(1, of: .second)) == [true])
        slots.noteBacklog()
        let offer = try #require(slots.reserveForClaim(maximum: 8))
        #expect(offer.room.of(.first) == 0)
        #expect(offer.room.of(.second) > 0)
        slots.assign([], of: offer.count)
        slots.noteEmpty(since: offer.backlog, full: [.first])
        #expect(slots.reserveForClaim(maximum: 8) == nil)
        let stop = StopSwitch(
            tenant: .first, originQueue: jobs[0].originQueue, bytesInMemory: jobs[0].bytesInMemory)
        #expect(slots.leave(stop))
        #expect(slots.reserveForClaim(maximum: 8)?.room.of(.first) == 1)
    }

    @Test func `a job that takes more memory than there is for all runs where its tenant has no other`() throws {
        let slots = Slots(count: 16, memory: 1000) { _ in 1 }
        let spec = try large().spec
        let jobs = [NewJob(tenant: .first, spec: spec), NewJob(tenant: .first, spec: spec)]
        #expect(slots.reserve(jobs) == [true, false])
        slots.release([jobs[0]])
        #expect(slots.areEmpty)
        #expect(slots.reserve([NewJob(tenant: .second, spec: spec)]) == [true])
    }

    @Test func `a tenant that comes later finds a slot of the reserve`() throws {
        let slots = slots()
        _ = slots.reserve(try new(16))
        #expect(slots.reserve(try new(4, of: .second)).contains(true))
    }

    @Test func `a tenant of more weight may have more of what is left`() throws {
        let room = try [1, 8].map { weight in
            let slots = slots(64, weights: [.second: weight])
            _ = slots.reserve(try new(64))
            return slots.reserve(try new(64, of: .second)).count(where: \.self)
        }
        #expect(room[0] < room[1])
    }

    @Test func `nothing is claimed while nothing waits`() {
        let slots = slots()
        #expect(slots.reserveForClaim(maximum: 8) == nil)
        slots.noteBacklog()
        #expect(slots.reserveForClaim(maximum: 8)?.count == 8)
    }

    @Test func `what a claim set aside and did not get is free again`() throws {
        let slots = slots()
        slots.noteBacklog()
        let offer = try #require(slots.reserveForClaim(maximum: 8))
        let jobs = try (0..<3).map { _ in try ClaimedJob.make() }
        slots.assign(jobs, of: offer.count)
        for job in jobs { _ = slots.leave(StopSwitch(tenant: job.tenant, originQueue: job.originQueue)) }
        #expect(slots.areEmpty)
    }

    @Test func `a look that found nothing ends the backlog, unless more came meanwhile`() throws {
        let slots = slots()
        slots.noteBacklog()
        let first = try #require(slots.reserveForClaim(maximum: 1))
        slots.noteBacklog()
        slots.noteEmpty(since: first.backlog, full: [])
        let second = try #require(slots.reserveForClaim(maximum: 1))
        slots.noteEmpty(since: second.backlog, full: [])
        #expect(slots.reserveForClaim(maximum: 1) == nil)
    }

    @Test func `a tenant that has no room is called when it has some again`() throws {
        let slots = slots(8)
        let jobs = try (0..<8).map { _ in try ClaimedJob.make() }
        slots.admit(jobs)
        #expect(!slots.noteBacklog(of: [.first]))
        #expect(slots.reserveForClaim(maximum: 1) == nil)
        #expect(slots.leave(StopSwitch(tenant: .first, originQueue: jobs[0].originQueue)))
        #expect(slots.reserveForClaim(maximum: 1)?.room.of(.first) == 1)
    }

    @Test func `new jobs do not overtake those that wait where room is scarce`() throws {
        let slots = slots(64)
        slots.admit(try (0..<40).map { _ in try ClaimedJob.make() })
        slots.noteBacklog()
        #expect(slots.reserve(try new(1, host: "b.example")) == [true])
        #expect(!slots.areScarce)
        slots.admit(try (0..<20).map { _ in try ClaimedJob.make() })
        #expect(slots.reserve(try new(1, host: "b.example")) == [false])
        #expect(slots.areScarce)
    }

    @Test func `no slot is given out while something runs alone, or after the node closes`() throws {
        let slots = slots()
        slots.noteBacklog()
        slots.setQuiet(true)
        #expect(slots.reserve(try new(1)) == [false])
        #expect(slots.reserveForClaim(maximum: 1) == nil)
        slots.setQuiet(false)
        #expect(slots.reserve(try new(1)) == [true])
        slots.close()
        #expect(slots.reserve(try new(1)) == [false])
        #expect(slots.reserveForClaim(maximum: 1) == nil)
    }

    @Test func `a job that is held leaves its slot to others and takes one when it goes on`() throws {
        let slots = slots(8)
        let job = try ClaimedJob.make()
        slots.admit([job])
        let stop = StopSwitch(tenant: job.tenant, originQueue: job.originQueue)
        let lent = slots.lend([stop], true)
        #expect(slots.areEmpty)
        #expect(lent.limiters == [try #require(job.originQueue?.limiter)])
        #expect(slots.lend([stop], false).limiters.isEmpty)
        #expect(!slots.areEmpty)
        _ = slots.leave(stop)
        #expect(slots.areEmpty)
    }

    @Test func `a job that ends while it is held gives nothing back twice`() throws {
        let slots = slots(8)
        let job = try ClaimedJob.make()
        slots.admit([job])
        let stop = StopSwitch(tenant: job.tenant, originQueue: job.originQueue)
        _ = slots.lend([stop], true)
        _ = slots.leave(stop)
        #expect(slots.reserve(try new(20)).count(where: \.self) == 8)
    }

    // MARK: Many jobs that are held

    /// Jobs of a tenant that run.
    private func running(_ count: Int, on slots: Slots) throws -> [StopSwitch] {
        let jobs = try (0..<count).map { _ in try ClaimedJob.make() }
        slots.admit(jobs)
        return jobs.map { StopSwitch(tenant: $0.tenant, originQueue: $0.originQueue) }
    }

    @Test func `jobs that are resumed at once wait for the room of their tenant, and leave others theirs`() throws {
        let slots = slots(16)
        let held = try running(16, on: slots)
        _ = slots.lend(held, true)
        let others = try new(16, host: "b.example")
        #expect(slots.reserve(others).count(where: \.self) == 16)
        _ = slots.lend(held, false)
        #expect(slots.returningCount == 16)
        #expect(held.allSatisfy { $0.isSuspended })
        let other = try new(1, of: .second)
        #expect(slots.reserve(other) == [true])
        slots.release(others)
        for stop in held {
            #expect(!stop.isSuspended)
            _ = slots.leave(stop)
        }
        #expect(slots.returningCount == 0)
        slots.release(other)
        #expect(slots.areEmpty)
    }

    @Test func `jobs that are resumed are no more than their tenant may run`() throws {
        let slots = slots(16)
        slots.setLimits(RunningLimits(standard: 2))
        let held = try running(2, on: slots)
        _ = slots.lend(held, true)
        let others = try new(2, host: "b.example")
        #expect(slots.reserve(others) == [true, true])
        _ = slots.lend(held, false)
        #expect(held.map(\.isSuspended) == [true, true])
        slots.release([others[0]])
        #expect(held.map(\.isSuspended) == [false, true])
        slots.release([others[1]])
        #expect(held.map(\.isSuspended) == [false, false])
    }

    @Test func `a job that waits to go on takes no slot when it is held again or ends`() throws {
        let slots = slots(16)
        slots.setLimits(RunningLimits(standard: 1))
        let held = try running(2, on: slots)
        _ = slots.lend(held, true)
        let other = try new(1, host: "b.example")
        #expect(slots.reserve(other) == [true])
        _ = slots.lend(held, false)
        #expect(slots.returningCount == 2)
        _ = slots.lend([held[0]], true)
        #expect(slots.returningCount == 1)
        _ = slots.leave(held[1])
        #expect(slots.returningCount == 0)
        slots.release(other)
        #expect(held[0].isSuspended)
        #expect(slots.areEmpty)
        _ = slots.lend([held[0]], false)
        #expect(!held[0].isSuspended)
        #expect(!slots.areEmpty)
        _ = slots.leave(held[0])
        #expect(slots.areEmpty)
    }

    @Test func `a tenant has so many jobs held, and those beyond keep their slots until they are given back`() throws {
        let slots = slots(16)
        let stops = try running(Slots.leastHeld + 2, on: slots)
        let lent = slots.lend(stops, true)
        #expect(lent.surplus.map(ObjectIdentifier.init) == stops.suffix(2).map(ObjectIdentifier.init))
        #expect(stops.allSatisfy { $0.isSuspended })
        #expect(slots.freeCount == 16)
        // They have nothing to wait for.
        #expect(slots.lend([stops[Slots.leastHeld]], false).surplus.isEmpty)
        #expect(!stops[Slots.leastHeld].isSuspended)
        // Of another tenant as many may be held.
        let job = try ClaimedJob.make(of: .second)
        slots.admit([job])
        #expect(slots.lend([StopSwitch(tenant: .second, originQueue: job.originQueue)], true).surplus.isEmpty)
        // One that ends makes room.
        _ = slots.leave(stops[0])
        #expect(slots.lend([stops[Slots.leastHeld]], true).surplus.isEmpty)
        for stop in stops.dropFirst() { _ = slots.leave(stop) }
        #expect(slots.areEmpty)
    }
}
