package import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle

/// Ends sessions and groups when their last job has ended, and lets their clients be told.
package final class CompletionNotifier: Service, Notifiable {
    /// Jobs that end together are looked at together.
    static let pause = Duration.milliseconds(20)

    private let sessions: any SessionStore
    private let groups: any GroupStore
    private let courier: any Notifiable
    private let logger: Logger
    private let clock: NodeClock
    private let condition = Condition()

    /// - Parameter courier: Is woken when there may be an event to deliver.
    package init(
        sessions: any SessionStore, groups: any GroupStore, courier: any Notifiable, logger: Logger,
        clock: NodeClock = .continuous
    ) {
        self.sessions = sessions
        self.groups = groups
        self.courier = courier
        self.logger = logger
        self.clock = clock
    }

    package func notify() { condition.signal() }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.condition.values {
                await self.settle()
                // Cancelled when the service stops, as the loop is then.
                try? await self.clock.sleep(for: Self.pause)
            }
        }
    }

    private func settle() async {
        do throws(StoreError) {
            try await sessions.settle()
            try await groups.settle()
            courier.notify()
        } catch {
            // The next heartbeat of the node finds them again.
            logger.warning("sessions and groups were not settled", metadata: ["error": "\(error)"])
        }
    }
}
