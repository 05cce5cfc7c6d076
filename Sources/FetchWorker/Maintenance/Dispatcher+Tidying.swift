import FetchJobs
import FetchRuntime
import Logging

// The removal of expired data of jobs.

extension Dispatcher {
    /// Tidies now and every hour; beside the heartbeat, which must not wait for it.
    func keepTidy() async {
        while !Task.isCancelled {
            await tidy()
            // Cancelled at shutdown: nothing to tell anyone.
            try? await clock.sleep(for: .seconds(3600))
        }
    }

    private func tidy() async {
        guard let retention = configuration.retention else { return }
        await prune { () async throws(StoreError) in try await queue.maintainPartitions(for: retention) }
        await prune { () async throws(StoreError) in
            // Each look ends when nothing is left, so that the next is as short.
            while !Task.isCancelled, try await queue.removeFinal(after: retention) > 0 {}
        }
    }

    /// Each alone: a failed step is tried again with the next round, and keeps nothing else from being done.
    private func prune(_ body: () async throws(StoreError) -> Void) async {
        do throws(StoreError) { try await body() } catch { report([UpkeepFailure(.pruning, error)]) }
    }
}
