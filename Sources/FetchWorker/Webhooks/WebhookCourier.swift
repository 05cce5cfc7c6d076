package import FetchEngine
package import FetchJobs
package import FetchRuntime
import HTTPTypes
package import Logging
import ServiceLifecycle
import Synchronization

/// Delivers events to webhooks: signed, at least once, again later when a receiver does not take them.
package final class WebhookCourier: Service, Notifiable {
    package struct Configuration: Sendable {
        /// How many deliveries are under way at once; one that waits for its receiver costs some 50 KB.
        package var concurrency = 256
        /// How many of them may be to one endpoint.
        package var concurrencyPerEndpoint = 8
        /// How long a receiver has to answer (SEC-35).
        package var timeout = Duration.seconds(15)

        package init() {}
    }

    private let configuration: Configuration
    private let queue: any DeliveryQueue
    private let contents: EventContents
    private let session: Session
    private let reach: MessageReach?
    private let tracer: Tracer?
    private let logger: Logger
    private let clock: NodeClock
    private let random: @Sendable () -> Double
    private let condition = Condition()
    private let slots: Mutex<DeliverySlots>
    private let attempts: (delivered: Counter, retried: Counter, abandoned: Counter)
    private let duration: Histogram
    private let disabled: Counter

    /// - Parameters:
    ///   - session: Loads nothing but webhooks.
    ///   - reach: Where they may be sent; nil for where the session lets them.
    ///   - tracer: Takes the spans of attempts; nil for nobody.
    ///   - metrics: Where attempts are counted.
    ///   - random: From 0 to 1; spreads attempts that failed together.
    package init(
        configuration: Configuration,
        queue: any DeliveryQueue,
        jobs: any JobStore,
        sessions: any SessionStore,
        groups: any GroupStore,
        session: Session,
        reach: MessageReach? = nil,
        tracer: Tracer? = nil,
        metrics: MetricsRegistry = MetricsRegistry(),
        logger: Logger,
        clock: NodeClock = .continuous,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.configuration = configuration
        self.queue = queue
        contents = EventContents(jobs: jobs, sessions: sessions, groups: groups) { id, tenant throws(StoreError) in
            try await queue.endpoint(id, of: tenant)
        }
        self.session = session
        self.reach = reach
        self.tracer = tracer
        self.logger = logger
        self.clock = clock
        self.random = random
        let outcomes = metrics.counter(.webhookAttempts)
        attempts = (outcomes["delivered"], outcomes["retried"], outcomes["abandoned"])
        duration = metrics.histogram(.webhookDuration)[]
        disabled = metrics.counter(.webhookEndpointsDisabled)[]
        slots = Mutex(
            DeliverySlots(count: configuration.concurrency, perEndpoint: configuration.concurrencyPerEndpoint))
    }

    package func notify() { condition.signal() }

    // MARK: Service

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.wakeWhenDue() }
                for await _ in self.condition.values {
                    for delivery in await self.claim() {
                        group.addTask {
                            await self.deliver(delivery)
                            self.slots.withLock { $0.leave(delivery, self.clock.now) }
                            // Fills the slot with the next delivery; claims that fall together are one.
                            self.notify()
                        }
                    }
                }
                group.cancelAll()
            }
        }
    }

    /// Wakes the courier for deliveries that are due when it starts, and for every retry.
    private func wakeWhenDue() async {
        while !Task.isCancelled {
            var wait = Duration.seconds(5)
            do throws(StoreError) {
                if let next = try await queue.nextDelivery() {
                    let milliseconds = (next.microseconds - clock.date.microseconds) / 1000
                    if milliseconds <= 0 { notify() }
                    wait = .milliseconds(min(max(milliseconds, 1000), 60_000))
                } else {
                    wait = .seconds(60)
                }
            } catch {
                logger.warning("deliveries are not known", metadata: ["error": "\(error)"])
            }
            try? await clock.sleep(for: wait)
        }
    }

    /// Takes due deliveries for which there is room, for one caller.
    private func claim() async -> [WebhookDelivery] {
        guard let room = slots.withLock({ $0.room(clock.now) }) else { return [] }
        do throws(StoreError) {
            let due = try await queue.claimDeliveries(room)
            slots.withLock { slots in due.forEach { slots.take($0, clock.now) } }
            return due
        } catch {
            logger.warning("deliveries were not claimed", metadata: ["error": "\(error)"])
            return []
        }
    }

    // MARK: One delivery

    private func deliver(_ delivery: WebhookDelivery) async {
        do throws(StoreError) {
            guard let endpoint = try await queue.endpoint(delivery.endpoint, of: delivery.tenant),
                endpoint.disabling == nil,
                let data = try await contents.data(of: delivery)
            else {
                _ = try await queue.settle(delivery, .abandoned, nil)
                return
            }
            let message = WebhookMessage(delivery, data: data)
            let trace = DeliveryTrace(of: delivery, tracer)
            let attempt = await send(message, to: endpoint, as: delivery.attempts + 1, in: trace?.context)
            // An attempt that was cut short here says nothing of the receiver; the claim runs out, and it is tried
            // again.
            if Task.isCancelled { return }
            if let tracer, let trace { tracer.record(trace.span(of: attempt, to: endpoint, delivery)) }
            try await settle(delivery, attempt, endpoint, trace)
        } catch {
            // The claim on it runs out in a minute, and it is tried again.
            logger.warning(
                "delivery postponed",
                metadata: [
                    "delivery.id": "\(delivery.id)", "endpoint.id": "\(delivery.endpoint)",
                    "tenant.id": "\(delivery.tenant)", "error": "\(error)",
                ]
            )
        }
    }

    private func settle(
        _ delivery: WebhookDelivery,
        _ attempt: DeliveryAttempt,
        _ endpoint: WebhookEndpoint,
        _ trace: DeliveryTrace?
    ) async throws(StoreError) {
        let verdict = DeliveryVerdict(
            status: attempt.answer?.status, failures: delivery.failures, jitter: random())
        let endpointIsDisabled = try await queue.settle(delivery, verdict, attempt)
        count(attempt, verdict)
        var metadata: Logger.Metadata = [
            "delivery.id": "\(delivery.id)", "endpoint.id": "\(endpoint.id)", "tenant.id": "\(delivery.tenant)",
            "event.subject": "\(delivery.subject)", "url.host": "\(endpoint.url.host ?? "-")",
            "http.status": "\(attempt.answer.map { String($0.status) } ?? "-")", "delivery.verdict": "\(verdict)",
            "load.code": "\(attempt.errorName ?? "-")",
        ]
        metadata.trace(trace?.context)
        logger.info("event sent", metadata: metadata)
        guard endpointIsDisabled else { return }
        disabled.add()
        logger.notice(
            "endpoint disabled", metadata: ["endpoint.id": "\(endpoint.id)", "tenant.id": "\(endpoint.tenant)"])
        try await queue.abandonDeliveries(to: endpoint.id, of: endpoint.tenant)
    }

    private func count(_ attempt: DeliveryAttempt, _ verdict: DeliveryVerdict) {
        switch verdict {
        case .delivered: attempts.delivered.add()
        case .again: attempts.retried.add()
        case .abandoned: attempts.abandoned.add()
        }
        duration.observe(attempt.duration)
    }

    private func send(
        _ message: WebhookMessage,
        to endpoint: WebhookEndpoint,
        as number: Int,
        in trace: TraceContext?
    ) async -> DeliveryAttempt {
        let start = clock.date
        var request = Request(url: endpoint.url, method: .post, body: .bytes(message.body))
        request.headerFields = message.headers(
            signedWith: endpoint.secrets(at: start), at: start.seconds, in: trace)
        let headers = request.headerFields
        let result = await answer(to: request, from: endpoint)
        return DeliveryAttempt(
            number: number,
            startedAt: start,
            duration: .microseconds(clock.date.microseconds - start.microseconds),
            url: endpoint.url.description,
            requestHeaders: .array { $0.headers(headers) },
            result: result
        )
    }

    private func answer(to request: Request, from endpoint: WebhookEndpoint) async -> DeliveryAttempt.Result {
        var configuration = session.configuration
        reach?.narrow(&configuration, for: endpoint.tenant)
        endpoint.serverTrust.apply(to: &configuration)
        configuration.tls.clientIdentity = endpoint.clientIdentity
        configuration.redirects.policy = .return
        configuration.timeoutIntervalForResource = self.configuration.timeout
        // The slots decide how many are under way: endpoints at one host, of many tenants even, do not wait for
        // others.
        configuration.httpMaximumConnectionsPerHost = self.configuration.concurrency
        do throws(LoadError) {
            let task = session.dataTask(with: request, configuration: configuration)
            let response = try await task.response(bufferingUpTo: 64 * 1024)
            let status = response.status.code
            if let body = task.completeBody {
                return .answer(
                    .init(status: status, of: response.url, headers: response.headerFields, body: body, isWhole: true))
            }
            // More than anybody reads (SEC-35); its first bytes are here already.
            var chunks = task.body.makeAsyncIterator()
            let beginning = try await chunks.next() ?? []
            task.cancel()
            return .answer(
                .init(status: status, of: response.url, headers: response.headerFields, body: beginning, isWhole: false)
            )
        } catch {
            reach?.note(error, of: endpoint.tenant)
            return .error(name: error.code.name)
        }
    }
}
