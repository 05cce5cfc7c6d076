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
