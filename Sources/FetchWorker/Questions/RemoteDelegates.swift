package import FetchEngine
package import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle
import Synchronization

/// Asks the delegates of jobs the questions that no rule decides, and lets each load go on with the answer.
///
/// A load is held at first: it waits where it is, with its connection and without its slot. Where another node can go on
/// with it, its position is stored with the question: the load outlives its node, and is parked after a while.
package final class RemoteDelegates: Service {
    /// How long a load is held for an answer at most, even if the timeout of its delegate is longer.
    private static let longestHeld = Duration.seconds(300)
    /// With so many held, loads are parked at once.
    private static let maximumHeld = 10_000
    /// How many questions one endpoint is asked at once.
    private static let slotsPerEndpoint = 64

    /// A question on its way to its endpoint.
    private struct Message: Sendable {
        let question: StoredQuestion
        let endpoint: WebhookEndpoint.ID
        let waitsWhileUnreachable: Bool
        let otherwise: Answer
        /// Whether no node holds its load.
        var isParked = false
        /// The trace of its job, while a node holds its load; nil for none.
        var trace: TraceContext?

        var key: EndpointGate.Key { .init(tenant: question.asked.tenant, endpoint: endpoint) }
    }

    /// The result of one attempt to ask an endpoint.
    private enum Attempt {
        case replied(QuestionMessage.Verdict)
        /// It was not asked: the question is over.
        case over
        /// It was not asked: it is gone or disabled.
        case gone
        /// It was not asked: where it is is not known for now.
        case unknown

        /// Whether the endpoint can be reached, with any reply; nil when it was not asked.
        var hasAnswered: Bool? { if case .replied(let verdict) = self { verdict.hasAnswered } else { nil } }
    }

    private let store: any QuestionStore
    private let open: OpenQuestions
    private let judge: AnswerJudge
    private let endpoints: KnownEndpoint
    private let session: Session
    private let reach: MessageReach?
    private let intake: NodeIntake
    private let live: LiveJobs
    private let node: Node.ID
    private let hold: Duration
    private let gate = EndpointGate(slots: RemoteDelegates.slotsPerEndpoint)
    private let logger: Logger
    private let timer: Timer
    private let messages: AsyncStream<Message>
    private let sending: AsyncStream<Message>.Continuation
    private let counts: MetricFamily<Counter>
    private let waits: Histogram
    private let parked: Counter
    private let places: Mutex<TenantBudget>

    /// - Parameters:
    ///   - store: The store of questions; tells `open` of those that end in it.
    ///   - deliveries: Where endpoints are.
    ///   - session: Loads messages alone.
    ///   - reach: Where they may be sent; nil for where the session lets them.
    ///   - intake: Hears of slots that jobs leave while they wait.
    ///   - live: Where those who follow jobs hear of questions.
    ///   - hold: How long loads are held before they are parked.
    ///   - parkedAtOnce: How many questions of parked loads are asked at once; further ones wait in the store.
    package init(
        store: any QuestionStore,
        open: OpenQuestions,
        judge: AnswerJudge,
        deliveries: any DeliveryQueue,
        session: Session,
        reach: MessageReach? = nil,
        intake: NodeIntake,
        live: LiveJobs,
        node: Node.ID,
        hold: Duration = .seconds(30),
        parkedAtOnce: Int = 1024,
        metrics: MetricsRegistry,
        logger: Logger
    ) {
        self.store = store
        self.open = open
        self.judge = judge
        self.session = session
        self.reach = reach
        self.intake = intake
        self.live = live
        self.node = node
        self.hold = hold
        places = Mutex(TenantBudget(parkedAtOnce))
        self.logger = logger
        endpoints = KnownEndpoint(deliveries, clock: intake.clock)
        timer = Timer(clock: intake.clock)
        (messages, sending) = AsyncStream.makeStream()
        parked = metrics.counter(.loadsParked)[]
        counts = metrics.questions
        waits = metrics.histogram(.questionWait)[]
        metrics.observe(.questionsHeld) { Double(open.count) }
        metrics.observe(.delegatesUnreachable) { [gate] in Double(gate.brokenCount) }
    }

    // MARK: Asking

    /// The asker for one attempt of a job; nil when neither it nor its session has a delegate.
    ///
    /// - Parameters:
    ///   - settings: What the job goes by.
    ///   - kind: That of its session.
    ///   - stop: Ends the attempt.
    package func asker(
        _ job: ClaimedJob, own: FetchJobs.Configuration.Delegate, session: FetchJobs.Configuration.Delegate,
        settings: FetchJobs.Configuration, in kind: SessionSpec.Kind, stop: StopSwitch
    ) -> (any QuestionAsker)? {
        guard own.via != nil || session.via != nil, let live = live.job(job.id, of: job.tenant) else { return nil }
        return RemoteAsker(
            job, own: own, session: session, redirects: settings.redirects, in: kind, stop: stop, live: live,
            delegates: self)
    }

    /// The answer of a delegate to a question, or the one that holds without it.
    ///
    /// - Parameters:
    ///   - limits: The answers that are possible.
    ///   - standing: Where the load stands.
    nonisolated(nonsending) func answer(
        to question: Question, of delegate: FetchJobs.Configuration.Delegate, within limits: AnswerLimits,
        for asker: RemoteAsker, at standing: @escaping LoadStanding
    ) async -> DecidedAnswer {
        let start = intake.clock.now
        let (answer, by) = await ending(of: question, delegate, within: limits, for: asker, standing)
        let waited = intake.clock.now - start
        counts[question.kind.rawValue, by.word].add()
        waits.observe(waited.seconds)
        return DecidedAnswer(answer, by: by, waited: waited)
    }

    private nonisolated(nonsending) func ending(
        of question: Question, _ delegate: FetchJobs.Configuration.Delegate, within limits: AnswerLimits,
        for asker: RemoteAsker, _ standing: @escaping LoadStanding
    ) async -> (Answer, Decision.Decider) {
        let otherwise = asker.otherwise(question)
        guard let number = asker.next(of: delegate) else { return (otherwise, .otherwise(.tooManyQuestions)) }
        let position = asker.live.reserve()
        let asked = AskedQuestion(
            question, of: asker.job, sequence: position.number, limits: limits,
            endpoint: delegate.via == .webhook ? delegate.endpoint : nil,
            asker.job.spec.request.urlForm)
        var timeout = delegate.timeout ?? FetchJobs.Configuration.Delegate.defaultTimeout
        let load = asker.mayPark(at: question) ? await standing(number) : nil
        if load == nil { timeout = min(timeout, Self.longestHeld) }
        let key = QuestionKey(tenant: asked.tenant, id: asked.id)
        open.begin(key)
        do throws(StoreError) {
            switch try await store.ask(asked, of: load, timeout: timeout, at: node) {
            case .tooMany:
                open.forget(key.id)
                asker.live.cancel(position)
                return (otherwise, .otherwise(.tooManyQuestions))
            case .jobIsOver:
                open.forget(key.id)
                asker.live.cancel(position)
                return (.performDefaultHandling, .configuration)
            case .open(let askedAt, let deadline):
                let stored = StoredQuestion(asked, askedAt: askedAt, deadline: deadline)
                return await end(of: stored, delegate, for: asker, otherwise, hasPosition: load != nil)
            }
        } catch {
            open.forget(key.id)
            asker.live.cancel(position)
            // It may have been written down all the same.
            await withdraw(asked, because: nil, hasPosition: false)
            logger.warning("a question was not asked", metadata: ["job.id": "\(asked.job)", "error": "\(error)"])
            return (otherwise, .otherwise(.unreachable))
        }
    }

    /// Waits for the end of a question that is written down; its job has no slot meanwhile.
    private nonisolated(nonsending) func end(
        of question: StoredQuestion, _ delegate: FetchJobs.Configuration.Delegate, for asker: RemoteAsker,
        _ otherwise: Answer, hasPosition: Bool
    ) async -> (Answer, Decision.Decider) {
        let time = Duration.microseconds(question.deadline.microseconds - question.askedAt.microseconds)
        open.setDeadline(intake.clock.now + time, of: question.id)
        timer.set(after: time)
        // Before it can be parked, which keeps who is to be asked.
        if question.asked.endpoint != nil { open.setBeingAsked(true, question.id) }
        if hasPosition {
            let wait = open.count < Self.maximumHeld ? hold : .zero
            open.setParking(after: intake.clock.now + wait, of: question.id) { [weak self] in
                await self?.park(question.asked, asker)
            }
            timer.set(after: wait)
        }
        asker.live.note(.question, at: question.asked.position, question.write)
        if let endpoint = question.asked.endpoint {
            sending.yield(
                Message(
                    question: question, endpoint: endpoint,
                    waitsWhileUnreachable: delegate.whenUnreachable != .otherwise, otherwise: otherwise,
                    trace: asker.job.spec.trace))
        }
        if asker.hasSlot, intake.slots.leaveToAsk(asker.stop) { intake.claims.signal() }
        // A node that stops has told those that asked before.
        if intake.slots.isClosed {
            if hasPosition { await park(question.asked, asker) }
            asker.stop.stop(.drained)
        }
        switch await open.end(of: question.id, asker.stop) {
        case .known(.answered(let answer, let by)):
            if asker.hasSlot { await intake.slots.comeBackFromAsking(asker.stop) }
            return (answer, by)
        case .known(.closed(.expired)):
            if asker.hasSlot { await intake.slots.comeBackFromAsking(asker.stop) }
            return (otherwise, .otherwise(.timeout))
        case .known(.closed):
            // Another node has the job now, or its client has ended it: the load is not to go on here.
            asker.stop.stop(.leaseLost)
            return (.performDefaultHandling, .configuration)
        case .stopped:
            // Its switch ends the load; the answer does not matter here.
            await withdraw(question.asked, because: asker.stop.reason, hasPosition: hasPosition)
            return (.performDefaultHandling, .configuration)
        }
    }

    // MARK: Parking

    /// Parks all loads that wait here, where they can be parked.
    package func parkAll() async {
        await withDiscardingTaskGroup { group in
            for park in open.dueForParking(at: nil) { group.addTask { await park() } }
        }
    }

    /// Leaves a load that waits, unless its question is over meanwhile.
    private func park(_ asked: AskedQuestion, _ asker: RemoteAsker) async {
        guard open.beginParking(asked.id) else { return }
        do throws(StoreError) {
            let isBeingAsked = open.isBeingAsked(asked.id)
            guard try await store.park(asked, isBeingAsked: isBeingAsked, at: node) else {
                return open.endParking(asked.id)
            }
            parked.add()
            logger.info("load parked", metadata: ["question.id": "\(asked.id)", "job.id": "\(asked.job)"])
            asker.stop.stop(.parked)
        } catch {
            // Nobody knows whether it is parked: the stored row decides.
            logger.warning("a load was not parked", metadata: ["job.id": "\(asked.job)", "error": "\(error)"])
            asker.stop.stop(.leaseLost)
            intake.noteUncertainCommit()
        }
        open.finish(asked.id, .stopped)
        open.endParking(asked.id)
    }

    /// The load with which a parked job goes on; nil for a job that begins at its beginning.
    package func resumed(_ job: ClaimedJob) async throws(StoreError) -> ResumedLoad? {
        guard let id = job.resumesAt, let (question, end, load) = try await store.parked(id, of: job.tenant) else {
            return nil
        }
        var known = end
        if known == nil { known = try await store.close(id, of: job.tenant, .expired) }
        // It is claimed when that is over; a claim that came too early is given back.
        guard known != nil else { throw StoreError(.unavailable, "The question of the job is open.") }
        let resumed = ResumedLoad(load, at: question, known)
        counts[question.asked.kind.rawValue, (resumed.answer?.by ?? .otherwise(.timeout)).word].add()
        waits.observe(resumed.waited.seconds)
        return resumed
    }

    private nonisolated(nonsending) func withdraw(
        _ asked: AskedQuestion, because reason: StopSwitch.Reason?, hasPosition: Bool
    ) async {
        let isGivenUp: Bool
        switch reason {
        case .parked: return
        // Another node goes on with it.
        case .leaseLost where hasPosition, .drained where hasPosition: return
        case .leaseLost, .drained: isGivenUp = true
        case .cancelled, .expired, nil: isGivenUp = false
        }
        do throws(StoreError) {
            _ = try await store.close(asked.id, of: asked.tenant, isGivenUp ? .superseded : .withdrawn)
        } catch {
            // It is not answered after its deadline, and is removed with its job.
            logger.warning("a question was not closed", metadata: ["question.id": "\(asked.id)", "error": "\(error)"])
        }
    }

    // MARK: Service

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.timer.run { await self.expire() } }
                group.addTask { await self.keepLooking() }
                group.addTask { await self.keepAsking() }
                group.addTask { for await keys in self.open.told { await self.look(at: keys) } }
                // Where the messages are sent: without a turn between threads.
                await withTaskExecutorPreference(self.session.transferLoop.eventLoop) {
                    for await message in self.messages {
                        group.addTask { await self.ask(message) }
                    }
                }
                group.cancelAll()
            }
        }
    }

    /// Looks once a second what other nodes have taken answers to: what they tell of it may be lost.
    private func keepLooking() async {
        while !Task.isCancelled {
            try? await intake.clock.sleep(for: .seconds(1))
            await look(at: open.keys)
        }
    }

    /// Finds out how questions of loads here have ended.
    private func look(at keys: [QuestionKey]) async {
        for start in stride(from: 0, to: keys.count, by: 1000) {
            do throws(StoreError) {
                open.finish(try await store.ends(of: Array(keys[start..<min(start + 1000, keys.count)])))
            } catch {
                logger.warning("answers are not known", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Closes a question that was not answered in time, which the store's clock decides.
    private func expire() async {
        let overdue = open.overdue(at: intake.clock.now)
        await withDiscardingTaskGroup { group in
            for key in overdue { group.addTask { await self.expire(key) } }
        }
        await withDiscardingTaskGroup { group in
            for park in open.dueForParking(at: intake.clock.now) { group.addTask { await park() } }
        }
        guard let next = open.nextTime else { return }
        timer.set(after: max(next - intake.clock.now, .milliseconds(20)))
    }

    private func expire(_ key: QuestionKey) async {
        do throws(StoreError) {
            if let end = try await store.close(key.id, of: key.tenant, .expired) { open.finish([key.id: end]) }
        } catch {
            logger.warning("a question was not closed", metadata: ["question.id": "\(key.id)", "error": "\(error)"])
            open.setDeadline(intake.clock.now + .seconds(1), of: key.id)
        }
    }

    // MARK: Endpoints

    private static let backoff = RetryPolicy.Backoff(initial: .milliseconds(500), maximum: .seconds(60), jitter: 0)

    /// Asks an endpoint until it has said something, the question is over, or its load is parked.
    private func ask(_ message: Message) async {
        // The mark of one whose load is being parked is read before this.
        defer { open.setBeingAsked(false, message.question.id) }
        var tries = 0
        var fault = message.question.fault
        while open.isOpen(message.question.id), !Task.isCancelled {
            guard await gate.enter(message.key, waits: message.waitsWhileUnreachable) == .place else {
                return await giveUp(message)
            }
            let attempt = await send(message)
            gate.leave(message.key, hasAnswered: attempt.hasAnswered)
            var least: Duration?
            switch attempt {
            case .over: return
            // No endpoint remains to wait for.
            case .gone: return message.waitsWhileUnreachable ? () : await giveUp(message)
            case .replied(.reply(let reply)): return await take(reply, of: message)
            case .replied(.later): return
            case .replied(.refused(let fault)): return await note(fault, of: message)
            case .replied(.again(let after, let new)):
                if new != fault { await note(new, of: message) }
                (fault, least) = (new, after)
            case .unknown: break
            }
            if !message.waitsWhileUnreachable, gate.isBroken(message.key) { return await giveUp(message) }
            let wait = Self.backoff.wait(after: tries, random: .random(in: 0...1))
            try? await intake.clock.sleep(for: max(wait, min(least ?? .zero, Self.backoff.maximum)))
            tries += 1
        }
    }

    /// Asks the endpoints of parked loads, for whichever node had them.
    private func keepAsking() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                try? await intake.clock.sleep(for: .seconds(5))
                do throws(StoreError) {
                    var isFull = true
                    while isFull, places.withLock(\.free) > 0, !Task.isCancelled {
                        let due = try await store.questionsToAsk(limit: Self.slotsPerEndpoint)
                        isFull = due.count == Self.slotsPerEndpoint
                        // None waits for another one: an endpoint may take its time.
                        for question in due { addAsking(question, to: &group) }
                    }
                } catch {
                    logger.warning("questions to ask are not known", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Asks the endpoint of a parked load, unless that is busy with others, or its tenant has its share of places: then
    /// the question is due again later.
    private func addAsking(_ question: StoredQuestion, to group: inout DiscardingTaskGroup) {
        guard let endpoint = question.asked.endpoint else { return }
        let message = Message(
            question: question, endpoint: endpoint, waitsWhileUnreachable: true, otherwise: .performDefaultHandling,
            isParked: true)
        let tenant = question.asked.tenant
        guard places.withLock({ $0.take(1, for: tenant) }) else { return }
        guard gate.enterIfFree(message.key) else { return places.withLock { $0.charge(-1, to: tenant) } }
        group.addTask {
            await self.askOnce(message)
            self.places.withLock { $0.charge(-1, to: tenant) }
        }
    }

    /// Asks the endpoint of a parked load once, and stores when it is asked again.
    private func askOnce(_ message: Message) async {
        let question = message.question
        // As long again as it has been open, as it is while the load is held.
        let age = Duration.microseconds(intake.clock.date.microseconds - question.askedAt.microseconds)
        var wait: Duration? = min(max(age, Self.backoff.initial), Self.backoff.maximum)
        let attempt = await send(message)
        gate.leave(message.key, hasAnswered: attempt.hasAnswered)
        switch attempt {
        case .over, .gone, .replied(.later): wait = nil
        case .replied(.reply(let reply)):
            wait = nil
            await take(reply, of: message)
        case .replied(.refused(let fault)):
            wait = nil
            await note(fault, of: message)
        case .replied(.again(let after, let fault)):
            if fault != question.fault { await note(fault, of: message) }
            wait = wait.map { max($0, min(after ?? .zero, Self.backoff.maximum)) }
        case .unknown: break
        }
        do throws(StoreError) {
            try await store.ask(QuestionKey(tenant: question.asked.tenant, id: question.id), after: wait)
        } catch {
            logger.warning(
                "an endpoint is asked again", metadata: ["question.id": "\(question.id)", "error": "\(error)"])
        }
    }

    private func send(_ message: Message) async -> Attempt {
        guard message.isParked || open.isOpen(message.question.id) else { return .over }
        do throws(StoreError) {
            let endpoint = try await endpoints.endpoint(message.key)
            guard let endpoint, endpoint.disabling == nil, let url = endpoint.url else { return .gone }
            return .replied(
                await QuestionMessage(question: message.question, endpoint: endpoint, trace: message.trace)
                    .send(
                        to: url, in: session, reach: reach, connections: Self.slotsPerEndpoint,
                        at: intake.clock.date))
        } catch {
            logger.warning(
                "an endpoint is not known",
                metadata: ["endpoint.id": "\(message.endpoint)", "error": "\(error)"])
            return .unknown
        }
    }

    private func take(_ reply: Reply, of message: Message) async {
        let asked = message.question.asked
        do throws(StoreError) {
            let violations = try await judge.violations(of: reply.answer, to: asked)
            guard violations.isEmpty else {
                return await note("The answer is not allowed: \(violations.summary).", of: message)
            }
            let answering = try await store.answer(asked.id, of: asked.tenant, reply, by: .delegate(message.endpoint))
            logger.info(
                "question answered",
                metadata: [
                    "question.id": "\(asked.id)", "job.id": "\(asked.job)", "question.answering": "\(answering.word)",
                ])
        } catch {
            logger.warning("an answer was not stored", metadata: ["question.id": "\(asked.id)", "error": "\(error)"])
        }
    }

    /// Answers as is configured for an endpoint that does not.
    private func giveUp(_ message: Message) async {
        let asked = message.question.asked
        do throws(StoreError) {
            _ = try await store.answer(
                asked.id, of: asked.tenant, Reply(message.otherwise), by: .otherwise(.unreachable))
        } catch {
            logger.warning("an answer was not stored", metadata: ["question.id": "\(asked.id)", "error": "\(error)"])
        }
    }

    private func note(_ fault: String, of message: Message) async {
        let asked = message.question.asked
        logger.notice(
            "question not answered",
            metadata: [
                "question.id": "\(asked.id)", "endpoint.id": "\(message.endpoint)", "question.fault": "\(fault)",
            ])
        do throws(StoreError) { try await store.note(fault: fault, of: asked.id, asked.tenant) } catch {
            logger.warning("a fault was not noted", metadata: ["question.id": "\(asked.id)", "error": "\(error)"])
        }
    }
}

extension Answering {
    /// The result of an answer, as a word for logs.
    fileprivate var word: String {
        switch self {
        case .accepted: "accepted"
        case .alreadyAnswered: "alreadyAnswered"
        case .closed: "closed"
        case .notFound: "notFound"
        }
    }
}

/// Endpoints as they were a moment ago, so that not every question asks the database for its own.
private final class KnownEndpoint: Sendable {
    private struct Known {
        let endpoint: WebhookEndpoint?
        let since: ContinuousClock.Instant
    }

    private static let age = Duration.seconds(2)

    private let deliveries: any DeliveryQueue
    private let clock: NodeClock
    private let known = Mutex<[EndpointGate.Key: Known]>([:])

    init(_ deliveries: any DeliveryQueue, clock: NodeClock) {
        self.deliveries = deliveries
        self.clock = clock
    }

    func endpoint(_ key: EndpointGate.Key) async throws(StoreError) -> WebhookEndpoint? {
        let now = clock.now
        if let known = known.withLock({ $0[key] }), now - known.since < Self.age { return known.endpoint }
        let endpoint = try await deliveries.endpoint(key.endpoint, of: key.tenant)
        known.withLock { known in
            if known.count >= 10_000 { known.removeAll() }
            known[key] = Known(endpoint: endpoint, since: now)
        }
        return endpoint
    }
}
