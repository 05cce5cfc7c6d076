import FetchJobs
import FetchRuntime
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite struct LiveJobFollowerTests {
    private final class Progress: Sendable {
        let left = Atomic(0)
        let isOver = Atomic(false)
    }

    private static let rounds = 10_000

    /// On threads of their own: if one held the other up, neither would ever go on, and the test must.
    @Test func `a follower that leaves while it is told of something holds nobody up`() async throws {
        let job = ClaimedJob(id: Job.ID(), tenant: Tenant.ID(rawValue: 1), spec: try .make(), claim: 1)
        let live = LiveJobs().add(job)
        let progress = Progress()
        defer { progress.isOver.store(true, ordering: .relaxed) }
        Task {
            try await onThread {
                while !progress.isOver.load(ordering: .relaxed) { live.grow(to: 1) }
            }
        }
        Task {
            try await onThread {
                for round in 0..<Self.rounds {
                    let follower = Task { for await _ in live.changes() {} }
                    // Some have begun to wait by then, some have not.
                    if round.isMultiple(of: 2) { usleep(20) }
                    follower.cancel()
                    progress.left.add(1, ordering: .relaxed)
                }
            }
        }
        try await until { progress.left.load(ordering: .relaxed) == Self.rounds }
    }
}
