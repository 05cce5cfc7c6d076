package import FetchJobs
package import Logging
import ServiceLifecycle

/// Ends sessions and groups when their last job has ended, and lets their clients be told.
package final class CompletionNotifier: Service, Wakeable {
    /// Jobs that end together are looked at together.
    private static let pause = Duration.milliseconds(20)

    private let sessions: any SessionStore
    private let groups: any GroupStore
    private let courier: any Wakeable
    private let logger: Logger
    private let signal = Signal()

    /// - Parameter courier: Is woken when there may be an event to deliver.
    package init(sessions: any SessionStore, groups: any GroupStore, courier: any Wakeable, logger: Logger) {
        self.sessions = sessions
        self.groups = groups
        self.courier = courier
        self.logger = logger
    }

    package func wake() { signal.send() }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.signal.values {
                await self.settle()
                // Cancelled when the service stops, as the loop is then.
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    private func settle() async {
        do throws(StoreError) {
            try await sessions.settle()
            try await groups.settle()
            courier.wake()
        } catch {
            // The next heartbeat of the node finds them again.
            logger.warning("sessions and groups were not settled", metadata: ["error": "\(error)"])
        }
    }
}
