import FetchEngine
import FetchJobs
import FetchRuntime
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// The messages that a receiver gets, and when, by a clock that the test moves.
@Suite(.timeLimit(.minutes(1))) struct WebhookCourierTests {
    /// How many messages a receiver has, and had at once.
    private final class Load: Sendable {
        private let state = Mutex((now: 0, most: 0, all: 0))

        var most: Int { state.withLock { $0.most } }
        var all: Int { state.withLock { $0.all } }

        /// - Returns: How many there were before.
        func begin() -> Int {
            state.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
                state.all += 1
                return state.all - 1
            }
        }

        func end() { state.withLock { $0.now -= 1 } }
    }

    private struct Receiver {
        let load = Load()
        let origin: WireOrigin

        /// - Parameters:
        ///   - statuses: The statuses of its responses, one after the other, the last one again and again.
        ///   - gate: The gate that it waits for before it responds.
        init(_ statuses: Int..., after gate: Gate? = nil) throws {
            origin = try WireOrigin { [load] connection in
                while let head = try connection.receiveHead() {
                    let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                    _ = try connection.receive(length)
                    let number = load.begin()
                    try gate?.wait()
                    load.end()
                    let status = statuses[min(number, statuses.count - 1)]
                    try connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
                }
            }
        }
    }

    private let clock = ManualClock()
    private let store: MemoryWebhookStore
    private let session = Session()

    init() { store = MemoryWebhookStore { [clock] in clock.date } }

    private func courier(
        _ configuration: WebhookCourier.Configuration = .init(), jobs: MemoryJobStore = MemoryJobStore(),
        jitter: Double = 0
    ) -> WebhookCourier {
        WebhookCourier(
            configuration: configuration, queue: store, jobs: jobs, sessions: MemorySessionStore(jobs: jobs),
            groups: MemoryGroupStore(jobs: jobs), session: session, logger: .silent, clock: clock.clock,
            random: { jitter })
    }

    private func run(_ courier: WebhookCourier, _ body: () async throws -> Void) async throws {
        let group = ServiceGroup(services: [courier], logger: .silent)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.next()
            try result.get()
        }
    }

    private func endpoint(
        _ receiver: Receiver, of tenant: Tenant.ID = .first, at path: String = "/hook", failingSince: Timestamp? = nil
    ) async throws -> WebhookEndpoint {
        let url = try URLRecord(receiver.origin.url(path))
        var endpoint = WebhookEndpoint(tenant: tenant, url: url, events: [.jobRedirected], createdAt: clock.date)
        endpoint.failingSince = failingSince
        try await store.add(endpoint)
        return endpoint
    }

    /// Events of as many jobs.
    private func add(_ count: Int = 1, to endpoint: WebhookEndpoint) async throws -> [WebhookDelivery.ID] {
        let events = (0..<count).compactMap { _ in
            let event = JobEvent(
                position: JobEvent.Position(attempt: 1, number: 1), name: .redirected,
                data: RawJSON(Array("{}".utf8)))
            return RunEvent(event, of: Job.ID(), in: nil, tenant: endpoint.tenant, to: endpoint.id)
        }
        try await store.add(events)
        return events.map(\.id)
    }

    private func delivery(_ id: WebhookDelivery.ID, of tenant: Tenant.ID = .first) async throws -> StoredDelivery {
        try #require(try await store.delivery(id, of: tenant))
    }

    // One message at a time, so that all could go by one connection.
    // Proves: SEC-21, SEC-35, SEC-42.
    @Test func `messages of two tenants to one receiver share no connection`() async throws {
        let receiver = try Receiver(204)
        let one = try await endpoint(receiver, at: "/one")
        let another = try await endpoint(receiver, of: .second, at: "/another")
        let (ids, others) = (try await add(3, to: one), try await add(3, to: another))
        var configuration = WebhookCourier.Configuration()
        configuration.concurrency = 1
        try await run(courier(configuration)) {
            for id in ids { try await until { try await delivery(id).state == .delivered } }
            for id in others { try await until { try await delivery(id, of: .second).state == .delivered } }
        }
        #expect(receiver.origin.connections.count == 2)
        for index in receiver.origin.connections.indices {
            let text = receiver.origin.received(on: index)
            #expect(text.contains("POST /one ") != text.contains("POST /another "))
        }
    }

    @Test func `what is not taken is sent again after each wait of the schedule, and then given up`() async throws {
        let receiver = try Receiver(500)
        let id = try await add(to: endpoint(receiver))[0]
        // Endpoints are not disabled while it takes: 75 hours.
        try await run(courier()) {
            for (number, wait) in DeliveryVerdict.schedule.enumerated() {
                try await until { try await delivery(id).attempts.count == number + 1 }
                try await until { try await delivery(id).nextAttemptAt == clock.date.advanced(by: wait) }
                await clock.untilAsleep()
                clock.advance(by: wait - .milliseconds(1))
                // The courier looks again at the latest when the message is due.
                await clock.untilAsleep()
                #expect(receiver.load.all == number + 1)
                clock.advance(by: .seconds(1))
            }
            try await until { try await delivery(id).state == .abandoned }
        }
        #expect(receiver.load.all == DeliveryVerdict.schedule.count + 1)
        let numbers = try await delivery(id).attempts.map(\.number)
        #expect(numbers == Array(1...receiver.load.all))
    }

    @Test(arguments: [(0.0, 5.0), (0.5, 5.25), (1.0, 5.5)])
    func `attempts that failed together are spread over a tenth of their wait`(
        _ jitter: Double, _ seconds: Double
    ) async throws {
        let id = try await add(to: endpoint(Receiver(503)))[0]
        try await run(courier(jitter: jitter)) {
            try await until { try await delivery(id).attempts.count == 1 }
            let wait = try await delivery(id).nextAttemptAt.microseconds - clock.date.microseconds
            #expect(wait / 1000 == Int64(seconds * 1000))
        }
    }

    // Proves: SEC-36.
    @Test func `an endpoint that is gone is disabled, and what is on its way to it is given up`() async throws {
        let receiver = try Receiver(410)
        let endpoint = try await endpoint(receiver)
        var configuration = WebhookCourier.Configuration()
        configuration.concurrencyPerEndpoint = 1
        let ids = try await add(5, to: endpoint)
        try await run(courier(configuration)) {
            for id in ids { try await until { try await delivery(id).state == .abandoned } }
        }
        #expect(try await store.endpoint(endpoint.id, of: .first)?.disabling?.reason == .gone)
        #expect(receiver.load.all == 1)
    }

    // Proves: SEC-36.
    @Test func `an endpoint that has taken nothing for five days is disabled, and one that takes a message is not`()
        async throws
    {
        let since = clock.date.advanced(by: .zero - WebhookEndpoint.patience - .seconds(1))
        let (dead, alive) = (try Receiver(500), try Receiver(204))
        let endpoints = [
            try await endpoint(dead, failingSince: since), try await endpoint(alive, failingSince: since),
        ]
        let ids = [try await add(to: endpoints[0])[0], try await add(to: endpoints[1])[0]]
        try await run(courier()) {
            try await until { try await delivery(ids[0]).state == .abandoned }
            try await until { try await delivery(ids[1]).state == .delivered }
        }
        #expect(try await store.endpoint(endpoints[0].id, of: .first)?.disabling?.reason == .failing)
        let living = try await store.endpoint(endpoints[1].id, of: .first)
        #expect(living?.disabling == nil && living?.failingSince == nil)
    }

    @Test func `an endpoint has no more messages at once than it may, and each that ends makes room for the next`()
        async throws
    {
        let gate = Gate()
        let receiver = try Receiver(204, after: gate)
        var configuration = WebhookCourier.Configuration()
        configuration.concurrencyPerEndpoint = 3
        let ids = try await add(12, to: endpoint(receiver))
        try await run(courier(configuration)) {
            try await until { receiver.load.all == 3 }
            gate.open()
            for id in ids { try await until { try await delivery(id).state == .delivered } }
        }
        #expect(receiver.load.most <= 3 && receiver.load.all == 12)
    }

    @Test func `the events of a job come in their order, however many of others are under way`() async throws {
        let told = Mutex<[String]>([])
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                let id = head.firstMatch(of: /(?i)webhook-id: (\S+)/).map { String($0.output.1) } ?? ""
                told.withLock { $0.append(id) }
                try connection.send("HTTP/1.1 204 X\r\n\r\n")
            }
        }
        let url = try URLRecord("http://127.0.0.1:\(origin.port)/hook")
        let endpoint = WebhookEndpoint(tenant: .first, url: url, events: [.jobRedirected], createdAt: clock.date)
        try await store.add(endpoint)
        let jobs = (0..<20).map { _ in Job.ID() }
        let events = (1...5).flatMap { number in
            jobs.compactMap { job in
                let position = JobEvent.Position(attempt: 1, number: number)
                let event = JobEvent(position: position, name: .redirected, data: RawJSON(Array("{}".utf8)))
                return RunEvent(event, of: job, in: nil, tenant: .first, to: endpoint.id)
            }
        }
        try await store.add(events)
        try await run(courier()) {
            for event in events { try await until { try await delivery(event.id).state == .delivered } }
        }
        let order = told.withLock { $0 }
        #expect(order.count == events.count)
        for job in jobs {
            let ids = Set(events.filter { $0.job == job }.map(\.id.description))
            #expect(order.filter { ids.contains($0) } == events.filter { $0.job == job }.map(\.id.description))
        }
    }

    @Test func `an endpoint that hangs has what it is sent at once, and holds up no other`() async throws {
        let gate = Gate()
        let (hanging, prompt) = (try Receiver(204, after: gate), try Receiver(204))
        let held = try await add(40, to: endpoint(hanging))
        let ids = try await add(200, to: endpoint(prompt))
        try await run(courier()) {
            for id in ids { try await until { try await delivery(id).state == .delivered } }
            // None of those that hang had to end first.
            #expect(hanging.load.all == 8 && prompt.load.all == 200)
            gate.open()
            for id in held { try await until { try await delivery(id).state == .delivered } }
        }
        #expect(hanging.load.most == 8 && hanging.load.all == 40)
        #expect(prompt.load.most <= 8)
    }

    @Test func `jobs of a tenant that cannot be read hold up the messages of no other`() async throws {
        let receiver = try Receiver(204)
        let jobs = MemoryJobStore { _ in .succeeded }
        jobs.failReads(of: .second)
        var ids: [Tenant.ID: [WebhookDelivery.ID]] = [:]
        for tenant in [Tenant.ID.first, .second, Tenant.ID(rawValue: 3)] {
            let url = try URLRecord("http://127.0.0.1:\(receiver.origin.port)/hook")
            let endpoint = WebhookEndpoint(tenant: tenant, url: url, events: [.jobFinished], createdAt: clock.date)
            try await store.add(endpoint)
            for _ in 0..<3 {
                let job = try NewJob.make(of: tenant)
                _ = try await jobs.enqueue([job])
                let delivery = WebhookDelivery(
                    id: WebhookDelivery.ID(), tenant: tenant, endpoint: endpoint.id, subject: .job(job.id),
                    event: .jobFinished, createdAt: clock.date, attempts: 0, failures: 0)
                store.put(StoredDelivery(delivery, state: .pending, nextAttemptAt: clock.date))
                ids[tenant, default: []].append(delivery.id)
            }
        }
        try await run(courier(jobs: jobs)) {
            for (tenant, ids) in ids where tenant != .second {
                for id in ids { try await until { try await store.delivery(id, of: tenant)?.state == .delivered } }
            }
        }
        for id in ids[.second] ?? [] {
            let left = try #require(try await store.delivery(id, of: .second))
            #expect(left.state == .pending && left.attempts.isEmpty)
        }
        #expect(receiver.load.all == 6)
    }

    @Test func `what is claimed ahead is given back when the endpoint takes one no more`() async throws {
        let receiver = try Receiver(204, 204, 204, 204, 500)
        var configuration = WebhookCourier.Configuration()
        configuration.concurrencyPerEndpoint = 1
        let ids = try await add(40, to: endpoint(receiver))
        try await run(courier(configuration)) {
            try await until { receiver.load.all >= 5 }
            // One at a time from then on: each that fails waits for its next attempt.
            for id in ids { try await until { try await delivery(id).attempts.count == 1 } }
        }
        #expect(receiver.load.most == 1 && receiver.load.all == 40)
        for id in ids { #expect(try await delivery(id).attempts.map(\.number) == [1]) }
    }

    @Test func `what a stop cuts short is no failure of the receiver, and is sent again when its claim is over`()
        async throws
    {
        let gate = Gate()
        let receiver = try Receiver(204, after: gate)
        let endpoint = try await endpoint(receiver)
        let id = try await add(to: endpoint)[0]
        try await run(courier()) { try await until { receiver.load.all == 1 } }
        let left = try await delivery(id)
        #expect(left.state == .pending && left.attempts.isEmpty)
        #expect(try await store.endpoint(endpoint.id, of: .first)?.failingSince == nil)
        gate.open()
        try await run(courier()) {
            await clock.untilAsleep()
            #expect(receiver.load.all == 1)
            clock.advance(by: .seconds(60))
            try await until { try await delivery(id).state == .delivered }
        }
        #expect(receiver.load.all == 2)
    }
}
