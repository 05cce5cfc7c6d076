package import FetchJobs
import FetchRuntime
package import Postgres
import ServiceLifecycle
import Synchronization

/// What all nodes are told.
package enum Notice: Sendable {
    /// Jobs wait that any node may claim: a matter of nodes with free slots.
    case jobs
    /// Webhooks are to be sent: a matter of nodes that send them.
    case deliveries
    /// Something else has changed that a node reads from the database.
    case look
}

/// Tells other nodes that there is something to do, and receives the same from them.
///
/// A notice to a node names questions of its loads that have ended at another node. A notice makes waiting shorter, and
/// nothing depends on it. Notifications are sent on their own, because a NOTIFY inside the storing statements would line
/// up their commits; and seldom enough, however many jobs are stored, that the work of all nodes together hardly grows
/// with their number.
package final class Notifications: Service {
    private struct Due {
        var isLook = false
        var ends: [Node.ID: [Question.ID]] = [:]
    }

    private static let channel = "fetchd"
    /// The payload of ``Notice/look``; others are of ``Notice/jobs``, as SQL sends them too.
    private static let look = "look"
    /// That of ``Notice/deliveries``.
    private static let deliveries = "deliveries"
    /// Between two notices.
    private static let pause = Duration.milliseconds(10)
    /// Between two notices of jobs or of deliveries, and between two claims that they cause: they come by thousands.
    private static let pauseOfJobs = Duration.milliseconds(50)
    /// A payload has less than 8000 bytes.
    private static let endsOfNotice = 200

    private let client: Client
    private let node: Node.ID
    private let onNotice: @Sendable (Notice) -> Void
    private let onEnd: @Sendable ([Question.ID]?) async -> Void
    private let jobs = Condition()
    private let deliveries = Condition()
    private let signal = Condition()
    private let due = Mutex(Due())

    /// - Parameters:
    ///   - node: Whose questions are heard of.
    ///   - onNotice: Called after notices came, with `look` too when some may have been missed.
    ///   - onEnd: Called with questions that another node has ended; with nil when some may have been missed.
    package init(
        client: Client, node: Node.ID, onNotice: @escaping @Sendable (Notice) -> Void,
        onEnd: @escaping @Sendable ([Question.ID]?) async -> Void
    ) {
        self.client = client
        self.node = node
        self.onNotice = onNotice
        self.onEnd = onEnd
    }

    /// Tells all nodes.
    package func announce(_ notice: Notice) {
        switch notice {
        case .jobs: jobs.signal()
        case .deliveries: deliveries.signal()
        case .look:
            due.withLock { $0.isLook = true }
            signal.signal()
        }
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
                // This node knows already.
                group.addTask { await self.send("\(self.node)", at: self.jobs) }
                group.addTask { await self.send(Self.deliveries, at: self.deliveries) }
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

    private func send(_ payload: String, at condition: Condition) async {
        for await _ in condition.values {
            _ = try? await client.query("SELECT pg_notify(\(Self.channel), \(payload))")
            try? await Task.sleep(for: Self.pauseOfJobs)
        }
    }

    /// Has all nodes look, once.
    static func tell(_ client: Client) async throws(PostgresError) {
        try await client.query("SELECT pg_notify(\(channel), \(look))")
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
        let (looks, jobs, deliveries) = (Condition(), Condition(), Condition())
        let own = "\(node)"
        await withDiscardingTaskGroup { group in
            group.addTask { await self.pass(.look, at: looks, pausing: Self.pause) }
            group.addTask { await self.pass(.jobs, at: jobs, pausing: Self.pauseOfJobs) }
            group.addTask { await self.pass(.deliveries, at: deliveries, pausing: Self.pauseOfJobs) }
            for await event in await client.notifications(on: Self.channel) {
                switch event {
                case .listening, .notified(payload: Self.look): looks.signal()
                case .notified(payload: Self.deliveries): deliveries.signal()
                case .notified(payload: own): break
                case .notified: jobs.signal()
                }
            }
            group.cancelAll()
        }
    }

    /// Passes notices on as they come, several within the pause as one.
    private func pass(_ notice: Notice, at condition: Condition, pausing pause: Duration) async {
        for await _ in condition.values {
            onNotice(notice)
            try? await Task.sleep(for: pause)
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
