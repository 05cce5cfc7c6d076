import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// How loads ask and wait for answers, by a clock that the test moves.
@Suite(.timeLimit(.minutes(1))) struct RemoteDelegatesTests {
    private let clock = ManualClock()
    private let open = OpenQuestions()
    private let store: MemoryQuestionStore
    private let webhooks: MemoryWebhookStore
    private let intake: NodeIntake
    private let live = LiveJobs()
    private let delegates: RemoteDelegates

    init() {
        store = MemoryQuestionStore(now: { [clock] in clock.date }, onEnd: open.finish)
        webhooks = MemoryWebhookStore { [clock] in clock.date }
        intake = NodeIntake(concurrency: 16, lease: .seconds(15), limits: EqualLimits(), clock: clock.clock)
        delegates = RemoteDelegates(
            store: store, open: open,
            judge: AnswerJudge(
                credentials: MemoryCredentialCatalog(), blobs: MemoryBlobCatalog(jobs: MemoryJobStore()),
                refusal: { _, _ in nil }),
            deliveries: webhooks,
            session: Session(), intake: intake, live: live, node: Node.ID(), parkedAtOnce: 132,
            metrics: MetricsRegistry(), logger: .silent)
    }

    /// An endpoint that sends these replies one after the other, and the last one from then on.
    private func receiver(_ replies: String...) throws -> WireOrigin {
        let count = Mutex(0)
        return try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                let number = count.withLock { count in
                    defer { count += 1 }
                    return count
                }
                try connection.send(replies[min(number, replies.count - 1)])
            }
        }
    }

    private static let broken = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"

    private static func reply(_ json: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)"
    }

    private func endpoint(_ receiver: WireOrigin, of tenant: Tenant.ID = .first) async throws -> WebhookEndpoint.ID {
        let endpoint = WebhookEndpoint(
            tenant: tenant, url: try URLRecord(receiver.url("/hook")), events: [.jobQuestion], createdAt: clock.date)
        try await webhooks.add(endpoint)
        return endpoint.id
    }

    private func delegate(
        timeout: Duration, at endpoint: WebhookEndpoint.ID? = nil,
        whenUnreachable: FetchJobs.Configuration.Delegate.WhenUnreachable = .wait
    ) -> FetchJobs.Configuration.Delegate {
        var delegate = FetchJobs.Configuration.Delegate()
        delegate.via = endpoint == nil ? .api : .webhook
        delegate.endpoint = endpoint
        delegate.questions = [.init(on: .didReceiveResponse)]
        delegate.timeout = timeout
        delegate.otherwise = [.didReceiveResponse: .cancel]
        delegate.whenUnreachable = whenUnreachable
        return delegate
    }

    /// A running job whose load has come to its response.
    private struct Asking {
        let job: ClaimedJob
        let stop: StopSwitch
        let asker: any QuestionAsker
        let question: Question
    }

    private func asking(_ delegate: FetchJobs.Configuration.Delegate) throws -> Asking {
        let job = try ClaimedJob.make()
        intake.slots.admit([job])
        let stop = intake.running.add(job)
        _ = live.add(job)
        let asker = try #require(
            delegates.asker(
                job, own: delegate, session: .init(), settings: FetchJobs.Configuration(), in: .default, stop: stop))
        let request = Request(url: try URLRecord("http://a.example/"))
        return Asking(
            job: job, stop: stop, asker: asker,
            question: Question(.response(Response(url: request.url, status: .ok), part: nil), about: request))
    }

    /// Runs the delegates while one load waits and a test does something.
    ///
    /// - Parameter load: The position at which it would be parked; nil where it cannot be.
    /// - Returns: The answer that the load goes on by.
    private func decide(
        _ asking: Asking, at load: ParkedLoad? = nil, _ body: (StoredQuestion) async throws -> Void
    ) async throws -> DecidedAnswer {
        let group = ServiceGroup(services: [delegates], logger: .silent)
        return try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            async let decided = asking.asker.decide(asking.question) { _ in load }
            try await until { try await question(of: asking) != nil }
            let result: Result<Void, any Error>
            do { result = .success(try await body(#require(try await question(of: asking)))) } catch {
                result = .failure(error)
                asking.stop.stop(.leaseLost)
            }
            let answer = await decided
            await group.triggerGracefulShutdown()
            try await tasks.next()
            try result.get()
            return answer
        }
    }

    private func question(of asking: Asking) async throws -> StoredQuestion? {
        var filter = QuestionFilter()
        filter.job = asking.job.id
        return try await store.questions(of: .first, matching: filter, after: nil, limit: 1).first
    }

    private func load() throws -> ParkedLoad {
        try #require(ParkedLoad(LoadPosition(), decisions: nil, decided: 0, asked: 1))
    }

    // MARK: Deadlines

    @Test func `a question that nobody answers is closed at its deadline, and its load goes on by otherwise`()
        async throws
    {
        let answer = try await decide(asking(delegate(timeout: .seconds(20)))) { question in
            await clock.untilAsleep(for: .seconds(20))
            clock.advance(by: .milliseconds(19_999))
            // The store has not closed it, and whoever answers now is in time.
            #expect(open.isOpen(question.id) && open.overdue(at: clock.now).isEmpty)
            await clock.untilAsleep()
            clock.advance(by: .milliseconds(1))
        }
        #expect(answer.answer == .cancel && answer.decider == .otherwise(.timeout))
        #expect(answer.waited == .seconds(20))
    }

    @Test func `an answer ends the wait, and the load has its slot again`() async throws {
        let asking = try asking(delegate(timeout: .seconds(20)))
        let answer = try await decide(asking) { question in
            try await until { intake.slots.areEmpty }
            clock.advance(by: .seconds(3))
            _ = try await store.answer(question.id, of: .first, Reply(.allow), by: .key("key_a"))
        }
        #expect(answer.answer == .allow && answer.decider == .key("key_a") && answer.waited == .seconds(3))
        #expect(!intake.slots.areEmpty && open.count == 0)
    }

    @Test func `the question of a job that is cancelled is withdrawn`() async throws {
        let asking = try asking(delegate(timeout: .seconds(20)))
        _ = try await decide(asking) { _ in asking.stop.stop(.cancelled(.plainly)) }
        #expect(try await question(of: asking)?.reason == .withdrawn)
    }

    // MARK: Parking

    @Test func `a load that waits longer than it is held is parked`() async throws {
        let asking = try asking(delegate(timeout: .seconds(3600)))
        let load = try load()
        _ = try await decide(asking, at: load) { question in
            await clock.untilAsleep(for: .seconds(30))
            clock.advance(by: .seconds(30))
            try await until { if case .parked? = asking.stop.reason { true } else { false } }
            #expect(try await store.parked(question.id, of: .first)?.2.bytes == load.bytes)
        }
        #expect(try await question(of: asking)?.state == .open)
    }

    @Test func `a load whose deadline comes while it is held is not parked`() async throws {
        let asking = try asking(delegate(timeout: .seconds(30)))
        let answer = try await decide(asking, at: load()) { _ in
            await clock.untilAsleep(for: .seconds(30))
            clock.advance(by: .seconds(30))
        }
        #expect(answer.decider == .otherwise(.timeout) && asking.stop.reason == nil)
    }

    @Test func `with ten thousand loads held, the next is parked at once`() async throws {
        for _ in 0..<10_000 { open.begin(QuestionKey(tenant: .second, id: Question.ID())) }
        let asking = try asking(delegate(timeout: .seconds(3600)))
        _ = try await decide(asking, at: load()) { _ in
            await clock.untilAsleep()
            clock.advance(by: .milliseconds(20))
            try await until { if case .parked? = asking.stop.reason { true } else { false } }
        }
    }

    @Test func `a load that cannot be parked is held for five minutes at most`() async throws {
        let answer = try await decide(asking(delegate(timeout: .seconds(3600)))) { question in
            #expect(question.deadline == question.askedAt.advanced(by: .seconds(300)))
            await clock.untilAsleep(for: .seconds(300))
            clock.advance(by: .seconds(300))
        }
        #expect(answer.decider == .otherwise(.timeout))
    }

    // MARK: Endpoints

    /// Waits until all sleep: the deadline, the looks for ends and for questions to ask, and the next message.
    private func untilNextMessageWaits() async { await clock.untilAsleep(4) }

    @Test func `an endpoint that fails is asked again after a wait that doubles up to a minute`() async throws {
        let receiver = try receiver(Self.broken)
        let id = try await endpoint(receiver)
        _ = try await decide(asking(delegate(timeout: .seconds(300), at: id))) { question in
            for (number, wait) in [0.5, 1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
                try await until { receiver.count(of: "POST /hook") == number + 1 }
                await untilNextMessageWaits()
                clock.advance(by: .milliseconds(Int(wait * 1000) - 1))
                await untilNextMessageWaits()
                #expect(receiver.count(of: "POST /hook") == number + 1)
                clock.advance(by: .milliseconds(1))
            }
            try await until { receiver.count(of: "POST /hook") == 10 }
            #expect(receiver.count(of: "webhook-id: \(question.id)\r\n") == 10)
            _ = try await store.answer(question.id, of: .first, Reply(.allow), by: .operator)
        }
    }

    @Test func `an endpoint is left alone for as long as it asks for, and its reply is the answer`() async throws {
        let receiver = try receiver(
            "HTTP/1.1 429 Later\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n", Self.reply(#""allow""#))
        let id = try await endpoint(receiver)
        let answer = try await decide(asking(delegate(timeout: .seconds(300), at: id))) { question in
            try await until { receiver.count(of: "POST /hook") == 1 }
            await untilNextMessageWaits()
            clock.advance(by: .milliseconds(19_999))
            await untilNextMessageWaits()
            #expect(receiver.count(of: "POST /hook") == 1)
            #expect(try await store.question(question.id, of: .first)?.fault == "The reply has the status 429.")
            clock.advance(by: .milliseconds(1))
        }
        #expect(answer.answer == .allow && answer.decider == .delegate(id) && answer.waited == .seconds(20))
        #expect(receiver.count(of: "POST /hook") == 2)
    }

    @Test func `a question that need not wait for an endpoint that fails is answered by otherwise`() async throws {
        let receiver = try receiver(Self.broken)
        let id = try await endpoint(receiver)
        let first = try asking(delegate(timeout: .seconds(300), at: id))
        let second = try asking(delegate(timeout: .seconds(300), at: id, whenUnreachable: .otherwise))
        _ = try await decide(first) { question in
            for (number, wait) in [0.5, 1, 2, 4].enumerated() {
                try await until { receiver.count(of: "POST /hook") == number + 1 }
                await untilNextMessageWaits()
                clock.advance(by: .milliseconds(Int(wait * 1000)))
            }
            try await until { receiver.count(of: "POST /hook") == 5 }
            await untilNextMessageWaits()
            // It is the next probe of the open circuit, and does not wait for another one.
            let answer = await second.asker.decide(second.question) { _ in nil }
            #expect(answer.answer == .cancel && answer.decider == .otherwise(.unreachable))
            _ = try await store.answer(question.id, of: .first, Reply(.allow), by: .operator)
        }
        #expect(receiver.count(of: "POST /hook") == 6)
    }

    /// Stores a question of another job, whose load is parked while its endpoint is asked.
    private func park(askedAt endpoint: WebhookEndpoint.ID, of tenant: Tenant.ID = .first) async throws {
        let kind = Question.Kind.didReceiveResponse
        let question = AskedQuestion(
            tenant: tenant, job: Job.ID(), claim: 1, sequence: 1, kind: kind, host: nil, group: nil, labels: [],
            content: RawJSON(Array("{}".utf8)), limits: AnswerLimits(words: kind.words), endpoint: endpoint)
        _ = try await store.ask(question, of: load(), timeout: .seconds(300), at: Node.ID())
        #expect(try await store.park(question, isBeingAsked: true, at: Node.ID()))
    }

    /// An endpoint that takes questions and does not reply until the gate opens.
    private func hanging(_ gate: Gate) throws -> WireOrigin {
        try WireOrigin { connection in
            _ = try connection.receiveHead()
            try gate.wait()
        }
    }

    @Test func `endpoints of one tenant that hang delay no question of a parked load of another`() async throws {
        let gate = Gate()
        let (hanging, replying) = (try hanging(gate), try receiver(Self.reply(#""allow""#)))
        for _ in 0..<3 {
            let id = try await endpoint(hanging)
            for _ in 0..<64 { try await park(askedAt: id) }
        }
        clock.advance(by: .milliseconds(1))
        try await park(askedAt: endpoint(replying, of: .second), of: .second)
        _ = try await decide(asking(delegate(timeout: .seconds(300)))) { question in
            await clock.untilAsleep(for: .seconds(5))
            clock.advance(by: .seconds(5))
            try await until { replying.count(of: "POST /hook") == 1 }
            gate.open()
            _ = try await store.answer(question.id, of: .first, Reply(.allow), by: .operator)
        }
    }

    @Test func `an endpoint that hangs delays no question of a parked load to another one`() async throws {
        let gate = Gate()
        let hanging = try hanging(gate)
        let replying = try receiver(Self.reply(#""allow""#))
        let hangingID = try await endpoint(hanging)
        for _ in 0..<200 { try await park(askedAt: hangingID) }
        clock.advance(by: .milliseconds(1))
        try await park(askedAt: endpoint(replying))
        _ = try await decide(asking(delegate(timeout: .seconds(300)))) { question in
            await clock.untilAsleep(for: .seconds(5))
            clock.advance(by: .seconds(5))
            try await until { replying.count(of: "POST /hook") == 1 }
            // Nobody has had to wait for their end, and no more of them are asked than there are slots.
            #expect(hanging.connections.allSatisfy { !$0.isOver } && hanging.connections.count <= 64)
            gate.open()
            _ = try await store.answer(question.id, of: .first, Reply(.allow), by: .operator)
        }
    }

    @Test func `a question to an endpoint that is disabled waits for the API`() async throws {
        let receiver = try receiver(Self.reply(#""allow""#))
        let id = try await endpoint(receiver)
        var disabled = try #require(try await webhooks.endpoint(id, of: .first))
        disabled.disabling = .init(at: clock.date, reason: .gone)
        _ = try await webhooks.update(disabled, rotation: nil)
        let answer = try await decide(asking(delegate(timeout: .seconds(20), at: id))) { _ in
            await clock.untilAsleep(for: .seconds(20))
            clock.advance(by: .seconds(20))
        }
        #expect(answer.decider == .otherwise(.timeout) && receiver.connections.isEmpty)
    }
}
