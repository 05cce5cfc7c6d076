import FetchJobs
import FetchRuntime
import Logging
import TestSupport
import Testing

@testable import FetchWorker

/// When sessions and groups are looked at, by a clock that the test moves.
@Suite struct CompletionNotifierTests {
    /// Counts how often it is woken.
    private final class Woken: Notifiable {
        let count = Progress()

        func notify() { count.add(1) }
    }

    private let clock = ManualClock()
    private let jobs = MemoryJobStore()
    private let courier = Woken()

    private func with(
        _ body: (CompletionNotifier, MemoryGroupStore) async throws -> Void
    ) async throws {
        let groups = MemoryGroupStore(jobs: jobs)
        let notifier = CompletionNotifier(
            sessions: MemorySessionStore(jobs: jobs), groups: groups, courier: courier, logger: .silent,
            clock: clock.clock)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await notifier.run() }
            try await body(notifier, groups)
            tasks.cancelAll()
        }
    }

    /// Closed groups, in the order of a look at all, and the job of each, which waits.
    private func closed(_ count: Int, in groups: MemoryGroupStore) async throws -> [(group: JobGroup.ID, job: NewJob)] {
        let spec = try JobGroupSpec(json: JSONParser.parse("{}".utf8))
        var closed: [(group: JobGroup.ID, job: NewJob)] = []
        for _ in 0..<count {
            let group = JobGroup(tenant: .first, spec: spec)
            _ = try await groups.create(group, nil)
            let job = try NewJob.make(more: #", "group": "\#(group.id)""#)
            _ = try await jobs.enqueue([job])
            _ = try await groups.close(group.id, of: .first)
            closed.append((group.id, job))
        }
        return closed.sorted { $0.group < $1.group }
    }

    @Test func `the group of a job that ends here is looked at, and no other`() async throws {
        try await with { notifier, groups in
            let closed = try await closed(2, in: groups)
            for (_, job) in closed { jobs.finish(job.id) }
            let job = closed[1].job
            notifier.noteEnd(of: ClaimedJob(id: job.id, tenant: job.tenant, spec: job.spec, claim: 1))
            try await until { courier.count.value == 1 }
            #expect(try await groups.group(closed[1].group, of: .first)?.state == .finished)
            #expect(try await groups.group(closed[0].group, of: .first)?.state == .closed)
        }
    }

    @Test func `a look at all goes on until it has seen the last, and wakes the courier once`() async throws {
        try await with { notifier, groups in
            let closed = try await closed(CompletionNotifier.limit * 2 + 1, in: groups)
            let last = try #require(closed.last)
            jobs.finish(last.job.id)
            notifier.notify()
            for _ in 0..<2 {
                await clock.untilAsleep(for: CompletionNotifier.pause)
                #expect(courier.count.value == 0)
                #expect(try await groups.group(last.group, of: .first)?.state == .closed)
                clock.advance(by: CompletionNotifier.pause)
            }
            await clock.untilAsleep(for: CompletionNotifier.pause)
            #expect(courier.count.value == 1)
            #expect(try await groups.group(last.group, of: .first)?.state == .finished)
        }
    }

    @Test func `a group whose last job has ended is finished, and its client can be told`() async throws {
        try await with { notifier, groups in
            let spec = try JobGroupSpec(json: JSONParser.parse("{}".utf8))
            let group = JobGroup(tenant: .first, spec: spec)
            _ = try await groups.create(group, nil)
            let job = try NewJob.make(more: #", "group": "\#(group.id)""#)
            _ = try await jobs.enqueue([job])
            _ = try await groups.close(group.id, of: .first)
            jobs.finish(job.id)
            notifier.notify()
            try await until { courier.count.value == 1 }
            #expect(try await groups.group(group.id, of: .first)?.state == .finished)
        }
    }

    @Test func `ends that come together are looked at together`() async throws {
        try await with { notifier, _ in
            notifier.notify()
            for round in 1...3 {
                await clock.untilAsleep(for: CompletionNotifier.pause)
                #expect(courier.count.value == round)
                for _ in 0..<100 { notifier.notify() }
                clock.advance(by: CompletionNotifier.pause)
            }
        }
    }
}
