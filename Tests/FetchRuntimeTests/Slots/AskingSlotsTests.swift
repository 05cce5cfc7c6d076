import FetchJobs
import Synchronization
import TestSupport
import Testing

@testable import FetchRuntime

/// The slots of jobs whose delegates are asked.
@Suite struct AskingSlotsTests {
    private func slots(_ count: Int, holding jobs: [ClaimedJob]) -> (Slots, [StopSwitch]) {
        let slots = Slots(count: count) { _ in 1 }
        slots.admit(jobs)
        return (slots, jobs.map { StopSwitch(tenant: $0.tenant, originQueue: $0.originQueue) })
    }

    private func jobs(_ count: Int) throws -> [ClaimedJob] { try (0..<count).map { _ in try ClaimedJob.make() } }

    @Test func `a job that asks leaves its slot, and takes one again before it goes on`() async throws {
        let (slots, stops) = slots(8, holding: try jobs(1))
        #expect(!slots.areEmpty)
        _ = slots.leaveToAsk(stops[0])
        #expect(slots.areEmpty)
        await slots.comeBackFromAsking(stops[0])
        #expect(!slots.areEmpty)
        _ = slots.leave(stops[0])
        #expect(slots.areEmpty)
    }

    @Test func `answers at once are no loads at once: those without a slot wait for one, in their order`() async throws
    {
        let (slots, asking) = slots(8, holding: try jobs(2))
        for stop in asking { _ = slots.leaveToAsk(stop) }
        // Others have taken all there is meanwhile.
        let busy = try jobs(9)
        slots.admit(busy)
        let stops = busy.map { StopSwitch(tenant: $0.tenant, originQueue: $0.originQueue) }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await slots.comeBackFromAsking(asking[0]) }
            try await until { slots.returningCount == 1 }
            group.addTask { await slots.comeBackFromAsking(asking[1]) }
            try await until { slots.returningCount == 2 }
            var left = 0
            while slots.returningCount == 2 {
                _ = slots.leave(stops[left])
                left += 1
            }
            #expect(slots.returningCount == 1)
            let isAsking = asking.map { stop in stop.position.withLock { $0.isAsking } }
            #expect(isAsking == [false, true])
            _ = slots.leave(asking[0])
            try await until { slots.returningCount == 0 }
            for stop in stops.dropFirst(left) + [asking[1]] { _ = slots.leave(stop) }
        }
        #expect(slots.areEmpty)
    }

    @Test func `slots that a claim had set aside and gives back go to who waits to go on`() async throws {
        let (slots, asking) = slots(8, holding: try jobs(1))
        _ = slots.leaveToAsk(asking[0])
        slots.noteBacklog()
        let offer = try #require(slots.reserveForClaim(maximum: 200))
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await slots.comeBackFromAsking(asking[0]) }
            try await until { slots.returningCount == 1 }
            slots.assign([], of: offer.count)
            try await until { slots.returningCount == 0 }
        }
        #expect(!slots.areEmpty)
    }

    @Test func `who waits for the share of its tenant keeps nobody else from going on`() async throws {
        let other = try ClaimedJob.make(of: .second)
        let (slots, asking) = slots(8, holding: try jobs(1) + [other])
        for stop in asking { _ = slots.leaveToAsk(stop) }
        // The most jobs that the tenant may have while there are others.
        var held: [NewJob] = []
        while case let job = try NewJob.make(of: .first, host: "\(held.count).example"), slots.reserve([job]) == [true]
        {
            held.append(job)
        }
        #expect(!held.isEmpty)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await slots.comeBackFromAsking(asking[0]) }
            try await until { slots.returningCount == 1 }
            await slots.comeBackFromAsking(asking[1])
            #expect(slots.returningCount == 1)
            slots.release(held)
            try await until { slots.returningCount == 0 }
        }
    }

    @Test func `a job that is over while it waits to go on takes no slot with it`() async throws {
        let (slots, asking) = slots(1, holding: try jobs(1))
        _ = slots.leaveToAsk(asking[0])
        let busy = try jobs(1)
        slots.admit(busy)
        await withDiscardingTaskGroup { group in
            group.addTask { await slots.comeBackFromAsking(asking[0]) }
            asking[0].stop(.cancelled(.plainly))
        }
        _ = slots.leave(asking[0])
        _ = slots.leave(StopSwitch(tenant: busy[0].tenant, originQueue: busy[0].originQueue))
        #expect(slots.areEmpty)
        // An answer that comes later still changes nothing.
        _ = slots.leaveToAsk(asking[0])
        await slots.comeBackFromAsking(asking[0])
        #expect(slots.areEmpty)
    }

    @Test func `a job that its client holds while it asks has one slot when both are over`() async throws {
        let (slots, asking) = slots(4, holding: try jobs(1))
        _ = slots.leaveToAsk(asking[0])
        _ = slots.lend(asking, true)
        await slots.comeBackFromAsking(asking[0])
        #expect(slots.areEmpty)
        _ = slots.lend(asking, false)
        #expect(!slots.areEmpty)
        _ = slots.leave(asking[0])
        #expect(slots.areEmpty)
    }
}
