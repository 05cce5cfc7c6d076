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
        /// How many deliveries are claimed at once; one that waits for its receiver costs some 50 KB.
        package var concurrency = 256
        /// How many of them may be sent to one endpoint at once.
        package var concurrencyPerEndpoint = 8
        /// How long a receiver has to answer (SEC-35).
        package var timeout = Duration.seconds(15)

        package init() {}
    }

    private static let timeBetweenClaims = Duration.milliseconds(10)
    /// Of how many tenants jobs are not read before it is taken that those of none are.
    private static let maximumFailures = 8

    private let configuration: Configuration
    private let queue: any DeliveryQueue
    private let contents: EventContents
    private let session: Session
    private let reach: MessageReach?
    private let tracer: Tracer?
    private let logger: Logger
    private let clock: NodeClock
    private let random: @Sendable () -> Double
    private let condition: Condition
    /// The claimed deliveries whose turn it is.
    private let started: AsyncStream<ClaimedDelivery>
    private let starting: AsyncStream<ClaimedDelivery>.Continuation
    private let slots: Mutex<DeliverySlots>
    private let attempts: (delivered: Counter, retried: Counter, abandoned: Counter)
    private let duration: Histogram
    private let disabled: Counter

    /// - Parameters:
    ///   - session: Loads nothing but webhooks.
    ///   - reach: Where they may be sent; nil for where the session lets them.
    ///   - tracer: Takes the spans of attempts; nil for nobody.
    ///   - metrics: Where attempts are counted.
    ///   - due: Signalled when there may be messages to send.
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
        due: Condition = Condition(),
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
        condition = due
        self.clock = clock
        self.random = random
        (started, starting) = AsyncStream.makeStream()
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
                group.addTask { await self.keepClaiming() }
                for await claimed in self.started { group.addTask { await self.deliver(claimed) } }
                group.cancelAll()
            }
        }
        await release(slots.withLock { $0.unsent })
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

    // MARK: Claiming

    /// Claims deliveries while those that were claimed before are sent.
    private func keepClaiming() async {
        for await _ in condition.values {
            let begin = ContinuousClock.now
            let claimed = await claim()
            if !claimed.isEmpty { await start(claimed) }
            // A claim of one costs about as much as a claim of fifty, so while messages end one by one some gather: the
            // more, the more a claim costs.
            let end = ContinuousClock.now
            try? await Task.sleep(until: max(begin + Self.timeBetweenClaims, end + (end - begin)))
        }
    }

    /// Takes due deliveries for which there is room, for one caller.
    private func claim() async -> [WebhookDelivery] {
        guard let room = slots.withLock({ $0.room(clock.now) }) else { return [] }
        do throws(StoreError) {
            let due = try await queue.claimDeliveries(room)
            #if DEBUG
                if !due.isEmpty { CrashPoint.webhookClaimed.pass() }
            #endif
            slots.withLock { $0.take(due, clock.now) }
            return due
        } catch {
            logger.warning("deliveries were not claimed", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// Reads what claimed deliveries tell, and sends those whose turn it is.
    private func start(_ claimed: [WebhookDelivery]) async {
        do throws(StoreError) { try await prepare(claimed) } catch {
            let ofTenants = Dictionary(grouping: claimed, by: \.tenant).values
            guard ofTenants.count > 1 else { return postpone(claimed, error) }
            // What cannot be read of one tenant holds up no other.
            var failures = 0
            for claimed in ofTenants {
                guard failures < Self.maximumFailures else {
                    postpone(claimed, error)
                    continue
                }
                do throws(StoreError) { try await prepare(claimed) } catch {
                    failures += 1
                    postpone(claimed, error)
                }
            }
        }
    }

    private func prepare(_ claimed: [WebhookDelivery]) async throws(StoreError) {
        let jobs = try await contents.jobs(of: claimed)
        let ready = claimed.map { delivery in
            if case .job(let id) = delivery.subject { return ClaimedDelivery(delivery: delivery, job: jobs[id]) }
            return ClaimedDelivery(delivery: delivery)
        }
        for next in slots.withLock({ $0.add(ready) }) { starting.yield(next) }
    }

    private func postpone(_ claimed: [WebhookDelivery], _ error: StoreError) {
        for delivery in claimed { notePostponed(delivery, error) }
        slots.withLock { $0.leave(claimed) }
    }

    /// Gives deliveries back that are not sent from here.
    private func release(_ deliveries: [WebhookDelivery]) async {
        guard !deliveries.isEmpty else { return }
        do throws(StoreError) { try await queue.release(deliveries) } catch {
            for delivery in deliveries { notePostponed(delivery, error) }
        }
        slots.withLock { $0.leave(deliveries) }
    }

    /// The claim on a delivery runs out in a minute, and it is tried again.
    private func notePostponed(_ delivery: WebhookDelivery, _ error: StoreError) {
        logger.warning(
            "delivery postponed",
            metadata: [
                "delivery.id": "\(delivery.id)", "endpoint.id": "\(delivery.endpoint)",
                "tenant.id": "\(delivery.tenant)", "error": "\(error)",
            ]
        )
    }

    // MARK: One delivery

    private func deliver(_ claimed: ClaimedDelivery) async {
        // What was not begun when the courier stops is given back.
        if Task.isCancelled { return }
        let delivery = claimed.delivery
        slots.withLock { $0.begin(delivery, clock.now) }
        var unsent: [WebhookDelivery] = []
        do throws(StoreError) {
            try await send(claimed, leaving: &unsent)
        } catch {
            notePostponed(delivery, error)
            unsent += goOn(behind: delivery, isTaken: nil)
        }
        await release(unsent)
        slots.withLock { $0.leave([delivery]) }
        // Fills the slot with the next delivery; claims that fall together are one.
        notify()
    }

    /// Sends the next message to an endpoint, now that one has ended.
    ///
    /// - Returns: Those that waited behind it and are not sent from here.
    private func goOn(behind delivery: WebhookDelivery, isTaken: Bool?) -> [WebhookDelivery] {
        let following = slots.withLock { $0.end(delivery, isTaken: isTaken, clock.now) }
        if let next = following.next { starting.yield(next) }
        return following.released
    }

    /// - Parameter unsent: Gets what is not sent from here, because of what became of this one.
    private func send(_ claimed: ClaimedDelivery, leaving unsent: inout [WebhookDelivery]) async throws(StoreError) {
        let delivery = claimed.delivery
        var receiver = delivery.receiver
        if receiver == nil { receiver = try await queue.endpoint(delivery.endpoint, of: delivery.tenant) }
        guard let endpoint = receiver, endpoint.disabling == nil,
            let data = try await contents.data(of: delivery, job: claimed.job)
        else {
            unsent = goOn(behind: delivery, isTaken: nil)
            _ = try await queue.settle(delivery, .abandoned, nil)
            return
        }
        guard let url = endpoint.url else {
            // Its client reads it.
            unsent = goOn(behind: delivery, isTaken: true)
            _ = try await queue.settle(delivery, .delivered, nil)
            attempts.delivered.add()
            return
        }
        let message = WebhookMessage(delivery, data: data)
        let trace = DeliveryTrace(of: delivery, tracer)
        let attempt = await send(message, to: endpoint, at: url, as: delivery.attempts + 1, in: trace?.context)
        #if DEBUG
            if attempt.answer != nil { CrashPoint.webhookSent.pass() }
        #endif
        // An attempt that was cut short here says nothing of the receiver; the claim runs out, and it is tried again.
        if Task.isCancelled { return }
        if let tracer, let trace { tracer.record(trace.span(of: attempt, to: endpoint, delivery)) }
        let verdict = DeliveryVerdict(status: attempt.answer?.status, failures: delivery.failures, jitter: random())
        // The next one is under way while this outcome is stored.
        unsent = goOn(behind: delivery, isTaken: verdict == .delivered)
        try await settle(delivery, verdict, attempt, endpoint, trace)
    }

    private func settle(
        _ delivery: WebhookDelivery,
        _ verdict: DeliveryVerdict,
        _ attempt: DeliveryAttempt,
        _ endpoint: WebhookEndpoint,
        _ trace: DeliveryTrace?
    ) async throws(StoreError) {
        let endpointIsDisabled = try await queue.settle(delivery, verdict, attempt)
        #if DEBUG
            CrashPoint.webhookSettled.pass()
        #endif
        count(attempt, verdict)
        var metadata: Logger.Metadata = [
            "delivery.id": "\(delivery.id)", "endpoint.id": "\(endpoint.id)", "tenant.id": "\(delivery.tenant)",
            "event.subject": "\(delivery.subject)", "url.host": "\(endpoint.url?.host ?? "-")",
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
        at url: URLRecord,
        as number: Int,
        in trace: TraceContext?
    ) async -> DeliveryAttempt {
        let start = clock.date
        var request = Request(url: url, method: .post, body: .bytes(message.body))
        request.headerFields = message.headers(
            signedWith: endpoint.secrets(at: start), at: start.seconds, in: trace)
        let headers = request.headerFields
        let result = await answer(to: request, from: endpoint)
        return DeliveryAttempt(
            number: number,
            startedAt: start,
            duration: .microseconds(clock.date.microseconds - start.microseconds),
            url: url.description,
            requestHeaders: .array { $0.headers(headers) },
            result: result
        )
    }

    private func answer(to request: Request, from endpoint: WebhookEndpoint) async -> DeliveryAttempt.Result {
        var configuration = session.configuration
        configuration.owner = endpoint.tenant.description
        reach?.narrow(&configuration, for: endpoint.tenant)
        endpoint.serverTrust.apply(to: &configuration)
        configuration.tls.clientIdentity = endpoint.clientIdentity
        configuration.redirects.policy = .return
        configuration.timeoutIntervalForResource = self.configuration.timeout
        // The slots decide how many are under way: endpoints at one host do not wait for each other.
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
