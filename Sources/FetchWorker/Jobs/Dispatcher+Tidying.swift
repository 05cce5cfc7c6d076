import FetchJobs
import Logging

// What has outlived its use among jobs.

extension Dispatcher {
    /// Tidies now and every hour; beside the pulse, which must not wait for it.
    func keepTidy() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await tidy()
            } catch {
                logger.warning("tidying failed", metadata: ["error": "\(error)"])
            }
            // Cancelled at shutdown: nothing to tell anyone.
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    private func tidy() async throws(StoreError) {
        try await queue.tidy()
        guard let retention = configuration.retention else { return }
        try await queue.keepRanges(for: retention)
        // Each look ends when nothing is left, so that the next is as short.
        while !Task.isCancelled, try await queue.removeFinal(after: retention) > 0 {}
    }
}
