import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// Where jobs wait on the node until their origin has a connection for them.
@Suite struct SlotsOriginQueuesTests {
    private let clock = ManualClock()

    /// A node with one origin queue, and jobs of it that have slots.
    private func queue(
        _ count: Int, priorities: [Double] = []
    ) throws -> (slots: Slots, jobs: [(job: ClaimedJob, stop: StopSwitch)]) {
        let slots = Slots(count: 4096, clock: clock.clock) { _ in 1 }
        let jobs = try (0..<count).map { number in
            try ClaimedJob.make(priority: number < priorities.count ? priorities[number] : 0.5)
        }
        slots.admit(jobs)
        return (slots, jobs.map { ($0, StopSwitch(tenant: $0.tenant, originQueue: $0.originQueue)) })
    }

    private func enter(_ slots: Slots, _ job: (job: ClaimedJob, stop: StopSwitch), maximum: Int = 1) async -> Bool {
        await slots.enter(job.job, job.stop, maximum: maximum, isCounted: false) {}
    }

    @Test func `as many load as there are connections, and the next when one of them has`() async throws {
        let (slots, jobs) = try queue(3)
        #expect(await enter(slots, jobs[0], maximum: 2))
        #expect(await enter(slots, jobs[1], maximum: 2))
        async let third = enter(slots, jobs[2], maximum: 2)
        try await until { slots.waitingCount == 1 }
        slots.exit(jobs[0].stop, isMultiplexed: false)
        #expect(await third)
        #expect(slots.waitingCount == 0)
    }

    @Test func `the most urgent goes first, and of equals who came first`() async throws {
        let (slots, jobs) = try queue(4, priorities: [0.5, 0.5, 0.9, 0.5])
        #expect(await enter(slots, jobs[0]))
        let order = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...3 {
                group.addTask {
                    _ = await self.enter(slots, jobs[number])
                    return number
                }
                try await until { slots.waitingCount == number }
            }
            var order: [Int] = []
            for stop in [jobs[0], jobs[2], jobs[1]].map(\.stop) {
                slots.exit(stop, isMultiplexed: false)
                order.append(try #require(try await group.next()))
            }
            return order
        }
        #expect(order == [2, 1, 3])
    }

    @Test func `a job that is to stop waits no longer`() async throws {
        let (slots, jobs) = try queue(2)
        #expect(await enter(slots, jobs[0]))
        async let second = enter(slots, jobs[1])
        try await until { slots.waitingCount == 1 }
        jobs[1].stop.stop(.cancelled(.plainly))
        #expect(await second)
        #expect(slots.waitingCount == 0)
    }

    @Test func `a connection that carries many loads lets all go on`() async throws {
        let (slots, jobs) = try queue(3)
        #expect(await enter(slots, jobs[0]))
        async let second = enter(slots, jobs[1])
        async let third = enter(slots, jobs[2])
        try await until { slots.waitingCount == 2 }
        slots.exit(jobs[0].stop, isMultiplexed: true)
        #expect(await second)
        #expect(await third)
    }

    @Test func `who loads and is held leaves the connection to the next`() async throws {
        let (slots, jobs) = try queue(2)
        #expect(await enter(slots, jobs[0]))
        async let second = enter(slots, jobs[1])
        try await until { slots.waitingCount == 1 }
        _ = slots.lend([jobs[0].stop], true)
        #expect(await second)
    }

    @Test func `who waits and is held goes on, to be held where it loads`() async throws {
        let (slots, jobs) = try queue(2)
        #expect(await enter(slots, jobs[0]))
        async let second = enter(slots, jobs[1])
        try await until { slots.waitingCount == 1 }
        _ = slots.lend([jobs[1].stop], true)
        #expect(await second)
        #expect(slots.waitingCount == 0)
    }

    @Test func `among nodes each has its part of the connections, one at least`() async throws {
        let (slots, jobs) = try queue(3)
        slots.setNodes(3)
        #expect(await enter(slots, jobs[0], maximum: 6))
        #expect(await enter(slots, jobs[1], maximum: 6))
        async let third = enter(slots, jobs[2], maximum: 6)
        try await until { slots.waitingCount == 1 }
        slots.setNodes(1)
        slots.exit(jobs[0].stop, isMultiplexed: false)
        #expect(await third)
        #expect(slots.isToBeCounted(ofMaximum: 1, isCrowded: true) == false)
        slots.setNodes(3)
        #expect(slots.isToBeCounted(ofMaximum: 1, isCrowded: false))
        #expect(!slots.isToBeCounted(ofMaximum: 6, isCrowded: false))
    }

    @Test func `what a host does not answer within half a second goes back, the last first`() async throws {
        let (slots, jobs) = try queue(5)
        #expect(await enter(slots, jobs[0]))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 1..<5 {
                group.addTask { await self.enter(slots, jobs[number]) }
                // In this order.
                try await until { slots.waitingCount == number }
            }
            // One has ended within the window: another may wait.
            slots.exit(jobs[0].stop, isMultiplexed: false)
            clock.advance(by: OriginQueue.window)
            let (surplus, looksAgain) = slots.judge { _ in nil }
            #expect(looksAgain)
            #expect(surplus.flatMap(\.waiters).map(\.job.id) == [jobs[3], jobs[4]].map(\.job.id))
            #expect(surplus.map(\.limit) == [2])
            for waiter in surplus.flatMap(\.waiters) { waiter.continuation.resume(returning: false) }
            for waiter in slots.takeWaiters() { waiter.continuation.resume(returning: false) }
            var loading = 0
            for try await loads in group where loads { loading += 1 }
            #expect(loading == 1)
        }
    }

    @Test func `an origin queue is not judged before its window is over`() async throws {
        let (slots, jobs) = try queue(2)
        #expect(await enter(slots, jobs[0]))
        async let second = enter(slots, jobs[1])
        try await until { slots.waitingCount == 1 }
        clock.advance(by: OriginQueue.window / 2)
        #expect(slots.judge { _ in nil }.surplus.isEmpty)
        for waiter in slots.takeWaiters() { waiter.continuation.resume(returning: false) }
        #expect(await second == false)
    }

    @Test func `the room of a tenant is none while one of its origin queues is full`() throws {
        let (slots, _) = try queue(OriginQueue.capacity)
        slots.noteBacklog()
        let offer = try #require(slots.reserveForClaim(maximum: 8))
        #expect(offer.room.of(.first) == 0)
        #expect(offer.room.of(.second) > 0)
    }
    @Test func `there is room again when a job says that its origin has more connections than the queue was for`()
        async throws
    {
        let (slots, jobs) = try queue(OriginQueue.capacity)
        slots.noteBacklog()
        #expect(await enter(slots, jobs[0], maximum: 1000))
        let offer = try #require(slots.reserveForClaim(maximum: 8))
        #expect(offer.room.of(.first) > 0)
    }
}
