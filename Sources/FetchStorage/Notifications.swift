import FetchJobs
import FetchRuntime
package import Postgres
import ServiceLifecycle

/// Tells other nodes that there is something to do, and is told by them.
///
/// A notice says nothing but "look": it makes waiting shorter and nothing depends on it. Notifications are sent on
/// their own, at most one in ten milliseconds, because a NOTIFY inside the storing statements would line up their
/// commits.
package final class Notifications: Service {
    private static let channel = "fetchd"
    private static let pause = Duration.milliseconds(10)

    private let client: Client
    private let onNotification: @Sendable () async -> Void
    private let due = Condition()

    /// - Parameter onNotification: Called after notifications came, and when some may have been missed.
    package init(client: Client, onNotification: @escaping @Sendable () async -> Void) {
        self.client = client
        self.onNotification = onNotification
    }

    package func announce() { due.signal() }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.send() }
                group.addTask { await self.listen() }
            }
        }
    }

    private func send() async {
        for await _ in due.values {
            // A lost notice costs time only: the other nodes look by themselves within seconds.
            try? await Self.tell(client)
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// Has all nodes look, once.
    static func tell(_ client: Client) async throws(PostgresError) {
        try await client.query("SELECT pg_notify(\(channel), '')")
    }

    private func listen() async {
        let (looks, look) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await _ in looks {
                    await self.onNotification()
                    try? await Task.sleep(for: Self.pause)
                }
            }
            for await _ in await client.notifications(on: Self.channel) { look.yield() }
            look.finish()
        }
    }
}
