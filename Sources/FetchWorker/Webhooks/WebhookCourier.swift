package import FetchEngine
package import FetchJobs
import HTTPTypes
package import Logging
import ServiceLifecycle

/// Delivers events to webhooks: signed, at least once, again later when a receiver does not take them.
package final class WebhookCourier: Service, Wakeable {
    package struct Configuration: Sendable {
        /// How many deliveries are under way at once.
        package var concurrency = 32
        /// How long a receiver has to answer (SEC-35).
        package var timeout = Duration.seconds(15)

        package init() {}
    }

    private let configuration: Configuration
    private let webhooks: any WebhookStore
    private let jobs: any JobStore
    private let sessions: any SessionStore
    private let session: Session
    private let logger: Logger
    private let signal = Signal()

    /// - Parameter session: Loads nothing but webhooks; its guard is that of jobs.
    package init(
        configuration: Configuration,
        webhooks: any WebhookStore,
        jobs: any JobStore,
        sessions: any SessionStore,
        session: Session,
        logger: Logger
    ) {
        self.configuration = configuration
        self.webhooks = webhooks
        self.jobs = jobs
        self.sessions = sessions
        self.session = session
        self.logger = logger
    }

    package func wake() { signal.send() }

    // MARK: Service

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.wakeWhenDue() }
                for await _ in self.signal.values { await self.deliverAllDue() }
                group.cancelAll()
            }
        }
    }

    /// Wakes the courier for what is due when it starts, and for every retry.
    private func wakeWhenDue() async {
        while !Task.isCancelled {
            var wait = Duration.seconds(5)
            do throws(StoreError) {
                if let next = try await webhooks.nextDelivery() {
                    let milliseconds = (next.microseconds - Timestamp.now.microseconds) / 1000
                    if milliseconds <= 0 { wake() }
                    wait = .milliseconds(min(max(milliseconds, 1000), 60_000))
                } else {
                    wait = .seconds(60)
                }
            } catch {
                logger.warning("deliveries are not known", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: wait)
        }
    }

    private func deliverAllDue() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                let due = try await webhooks.claimDeliveries(limit: configuration.concurrency)
                guard !due.isEmpty else { return }
                await withDiscardingTaskGroup { group in
                    for delivery in due { group.addTask { await self.deliver(delivery) } }
                }
            } catch {
                logger.warning("deliveries were not claimed", metadata: ["error": "\(error)"])
                return
            }
        }
    }

    // MARK: One delivery

    private func deliver(_ delivery: WebhookDelivery) async {
        do throws(StoreError) {
            guard let endpoint = try await webhooks.endpoint(delivery.endpoint, of: delivery.tenant),
                let message = try await message(delivery)
            else {
                try await webhooks.settle(delivery, .abandoned, status: nil)
                return
            }
            let status = await send(message, to: endpoint)
            let jitter = Double.random(in: 0...1)
            let verdict = DeliveryVerdict(status: status, attempts: delivery.attempts, jitter: jitter)
            try await webhooks.settle(delivery, verdict, status: status)
            logger.info(
                "event sent",
                metadata: [
                    "delivery.id": "\(delivery.id)", "event.subject": "\(delivery.subject)",
                    "http.status": "\(status.map { String($0) } ?? "-")", "delivery.verdict": "\(verdict)",
                ]
            )
        } catch {
            // The claim on it runs out in a minute, and it is tried again.
            logger.warning(
                "delivery postponed",
                metadata: ["delivery.id": "\(delivery.id)", "error": "\(error)"]
            )
        }
    }

    /// What there is to tell; nil when what it is about is gone.
    private func message(_ delivery: WebhookDelivery) async throws(StoreError) -> WebhookMessage? {
        switch delivery.subject {
        case .job(let id):
            guard let job = try await jobs.job(id, of: delivery.tenant) else { return nil }
            return WebhookMessage(delivery) { $0.member("job", object: job.write) }
        case .session(let id) where delivery.event.isOfStores:
            return WebhookMessage(delivery) { writer in
                writer.member(
                    "session", object: { $0.member("id", id == .default ? "default" : id.description) })
            }
        case .session(let id):
            guard let session = try await sessions.session(id, of: delivery.tenant) else { return nil }
            return WebhookMessage(delivery) { $0.member("session", object: session.write) }
        }
    }

    /// The receiver's status, or nil when it gave none.
    private func send(_ message: WebhookMessage, to endpoint: WebhookEndpoint) async -> Int? {
        var request = Request(url: endpoint.url, method: .post, body: .bytes(message.body))
        request.headerFields = message.headers(signedWith: endpoint.secret, at: Timestamp.now.seconds)
        var configuration = session.configuration
        configuration.redirects.policy = .return
        configuration.timeoutIntervalForResource = self.configuration.timeout
        do throws(LoadError) {
            let task = session.dataTask(with: request, configuration: configuration)
            let response = try await task.response(bufferingUpTo: 64 * 1024)
            if task.completeBody == nil { task.cancel() }
            return response.status.code
        } catch {
            logger.info(
                "receiver not reached",
                metadata: ["endpoint.id": "\(endpoint.id)", "load.code": "\(error.code.name)"]
            )
            return nil
        }
    }
}

/// What a webhook receives, and the fields that prove where it comes from.
struct WebhookMessage {
    let id: String
    let body: [UInt8]

    init(_ delivery: WebhookDelivery, data: (inout JSONWriter) -> Void) {
        id = delivery.id.description
        body = JSONWriter.object { writer in
            writer.member("type", delivery.event.rawValue)
            writer.member("timestamp", delivery.createdAt.description)
            writer.member("data", object: data)
        }
    }

    func headers(signedWith secret: WebhookSecret, at timestamp: Int64) -> HTTPFields {
        let signature = WebhookSignature(id: id, timestamp: timestamp)
        var fields = HTTPFields()
        fields[.contentType] = "application/json"
        fields[.userAgent] = "fetchd"
        fields[.webhookID] = id
        fields[.webhookTimestamp] = String(timestamp)
        fields[.webhookSignature] = signature.sign(body, with: secret)
        return fields
    }
}

extension HTTPField.Name {
    fileprivate static let webhookID = Self("webhook-id") ?? .contentType
    fileprivate static let webhookTimestamp = Self("webhook-timestamp") ?? .contentType
    fileprivate static let webhookSignature = Self("webhook-signature") ?? .contentType
}
