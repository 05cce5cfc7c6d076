package import FetchJobs
import FetchRuntime
package import Postgres
import ServiceLifecycle
import Synchronization

/// Tells other nodes that there is something to do, and receives the same from them.
///
/// A notice to all nodes says nothing but "look". One to a node names questions of its loads that have ended at another
/// node. A notice makes waiting shorter, and nothing depends on it. Notifications are sent on their own, at most one
/// statement in ten milliseconds, because a NOTIFY inside the storing statements would line up their commits.
package final class Notifications: Service {
    private struct Due {
        var isLook = false
        var ends: [Node.ID: [Question.ID]] = [:]
    }

    private static let channel = "fetchd"
    private static let pause = Duration.milliseconds(10)
    /// A payload has less than 8000 bytes.
    private static let endsOfNotice = 200

    private let client: Client
    private let node: Node.ID
    private let onNotification: @Sendable () async -> Void
    private let onEnd: @Sendable ([Question.ID]?) async -> Void
    private let signal = Condition()
    private let due = Mutex(Due())

    /// - Parameters:
    ///   - node: Whose questions are heard of.
    ///   - onNotification: Called after notifications came, and when some may have been missed.
    ///   - onEnd: Called with questions that another node has ended; with nil when some may have been missed.
    package init(
        client: Client, node: Node.ID, onNotification: @escaping @Sendable () async -> Void,
        onEnd: @escaping @Sendable ([Question.ID]?) async -> Void
    ) {
        self.client = client
        self.node = node
        self.onNotification = onNotification
        self.onEnd = onEnd
    }

    /// Has all nodes look.
    package func announce() {
        due.withLock { $0.isLook = true }
        signal.signal()
    }

    /// Tells nodes of the ends of questions whose loads they hold.
    package func announce(_ ends: [Question.ID: Node.ID]) {
        guard !ends.isEmpty else { return }
        due.withLock { due in for (question, node) in ends { due.ends[node, default: []].append(question) } }
        signal.signal()
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.send() }
                group.addTask { await self.listen() }
                group.addTask { await self.listenForEnds() }
            }
        }
    }

    private func send() async {
        for await _ in signal.values {
            let due = due.withLock { due in
                defer { due = Due() }
                return due
            }
            // A lost notice costs time only: the other nodes look by themselves.
            if due.isLook { try? await Self.tell(client) }
            if !due.ends.isEmpty { try? await tell(due.ends) }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// Has all nodes look, once.
    static func tell(_ client: Client) async throws(PostgresError) {
        try await client.query("SELECT pg_notify(\(channel), '')")
    }

    private func tell(_ ends: [Node.ID: [Question.ID]]) async throws(PostgresError) {
        var (channels, payloads) = ([String](), [String]())
        for (node, questions) in ends {
            for start in stride(from: 0, to: questions.count, by: Self.endsOfNotice) {
                let some = questions[start..<min(start + Self.endsOfNotice, questions.count)]
                channels.append(Self.channel(of: node))
                payloads.append(some.map(\.description).joined(separator: " "))
            }
        }
        try await client.query(
            """
            SELECT pg_notify(channel, payload) FROM unnest(\(channels), \(payloads)) AS notice (channel, payload)
            """
        )
    }

    private static func channel(of node: Node.ID) -> String { "\(channel)_\(node)" }

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

    private func listenForEnds() async {
        for await event in await client.notifications(on: Self.channel(of: node)) {
            switch event {
            case .listening: await onEnd(nil)
            case .notified(let payload):
                await onEnd(payload.split(separator: " ").compactMap { Question.ID(String($0)) })
            }
        }
    }
}
