import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// How many jobs a tenant may run at once.
@Suite struct RunningLimitsTests {
    private func slots(_ limits: RunningLimits, nodes: Int = 1) -> Slots {
        let slots = Slots(count: 64) { _ in 1 }
        slots.setNodes(nodes)
        slots.setLimits(limits)
        return slots
    }

    private func new(_ count: Int, of tenant: Tenant.ID = .first) throws -> [NewJob] {
        try (0..<count).map { number in try .make(of: tenant, host: "\(number).example") }
    }

    private func reserve(_ count: Int, of tenant: Tenant.ID = .first, in slots: Slots) throws -> Int {
        slots.reserve(try new(count, of: tenant)).count(where: \.self)
    }

    @Test func `a tenant has as many slots as its limit says, and others have theirs`() throws {
        let slots = slots(RunningLimits(standard: 5, own: [.second: 3]))
        #expect(try reserve(20, in: slots) == 5)
        #expect(try reserve(20, of: .second, in: slots) == 3)
        slots.release(Array(try new(2)))
        #expect(try reserve(20, in: slots) == 2)
    }

    @Test(arguments: [(1, 1, 1), (1, 3, 1), (5, 2, 3), (6, 2, 3), (7, 1, 7)])
    func `nodes divide a limit, and round their parts up`(limit: Int, nodes: Int, part: Int) throws {
        #expect(try reserve(20, in: slots(RunningLimits(standard: limit), nodes: nodes)) == part)
    }

    @Test func `claims are told how many each tenant may have, known or not`() throws {
        let slots = slots(RunningLimits(standard: 5, own: [.second: 2]))
        _ = try reserve(3, in: slots)
        slots.noteBacklog()
        let room = try #require(slots.reserveForClaim(maximum: 64)).room
        #expect(room.of(.first) == 2 && room.of(.second) == 2 && room.of(Tenant.ID(rawValue: 3)) == 5)
    }

    @Test func `of very many limits, a claim is told the least`() throws {
        let own = Dictionary(uniqueKeysWithValues: (2...500).map { (Tenant.ID(rawValue: $0), Int($0)) })
        let slots = slots(RunningLimits(own: own))
        slots.noteBacklog()
        let room = try #require(slots.reserveForClaim(maximum: 64)).room
        #expect(room.ofOthers == 2 && room.ofTenants.isEmpty)
    }

    @Test func `while a claim is under way, no job of a limited tenant starts beside it`() throws {
        let slots = slots(RunningLimits(own: [.first: 5]))
        slots.noteBacklog()
        let offer = try #require(slots.reserveForClaim(maximum: 8))
        #expect(try reserve(1, in: slots) == 0)
        #expect(try reserve(1, of: .second, in: slots) == 1)
        slots.assign(try (0..<4).map { _ in try ClaimedJob.make() }, of: offer.count)
        #expect(try reserve(9, in: slots) == 1)
    }

    @Test func `a higher limit calls the jobs that waited, and a lower one stops none`() throws {
        let slots = slots(RunningLimits(standard: 2))
        #expect(try reserve(2, in: slots) == 2)
        #expect(!slots.noteBacklog(of: [.first]))
        slots.setLimits(RunningLimits(standard: 1))
        #expect(slots.reserveForClaim(maximum: 8) == nil)
        slots.setLimits(RunningLimits(standard: 4))
        #expect(slots.reserveForClaim(maximum: 8)?.room.of(.first) == 2)
    }
}
