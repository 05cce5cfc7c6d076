import EventLoop
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Logging
import ServiceLifecycle
import TestSupport

@testable import FetchWorker

/// A node: a real engine and dispatcher over a queue in memory, by a clock that the test moves.
struct WorkerFixture {
    let clock = ManualClock()
    let store: MemoryJobStore
    let queue: MemoryWorkQueue
    /// As another node sees it.
    let other: MemoryWorkQueue
    let intake: NodeIntake
    let dispatcher: Dispatcher
    let tenant = Tenant.ID.first
    private let directory: TemporaryDirectory
    private let service: ServiceGroup

    init(concurrency: Int = 16, drainTimeout: Duration = .seconds(20)) async throws {
        store = MemoryJobStore()
        queue = MemoryWorkQueue(store)
        other = MemoryWorkQueue(store)
        directory = try TemporaryDirectory()
        var configuration = Dispatcher.Configuration()
        configuration.concurrency = concurrency
        configuration.drainTimeout = drainTimeout
        intake = NodeIntake(
            concurrency: concurrency, lease: configuration.lease, limits: EqualLimits(), clock: clock.clock)
        let loop = TransferLoop(TaskLoop(name: "worker-tests"))
        let runner = JobRunner(
            loop: loop, configuration: SessionConfiguration(), sessions: MemorySessionStore(),
            stores: MemorySessionResources(), blobs: MemoryBlobStore(), catalog: MemoryBlobCatalog(),
            area: try await FileDownloadArea(directory: directory.path), live: LiveJobs(), bandwidths: NoBandwidths(),
            deliveries: NoDeliveries(), random: { 1 },
            makeSession: { Session(configuration: $0, transferLoop: loop) })
        var logger = Logger(label: "worker-tests")
        logger.logLevel = .critical
        dispatcher = Dispatcher(
            configuration: configuration, intake: intake, queue: queue, runner: runner, courier: nil,
            metrics: MetricsRegistry(), logger: logger)
        service = ServiceGroup(services: [dispatcher], logger: logger)
    }

    /// Runs the node while a test does something, and stops it then.
    func run(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await service.run() }
            // The lease is extended before anything else.
            try await TestSupport.until { intake.isAlive }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            await service.triggerGracefulShutdown()
            // Whatever waits for the clock sees that it is over.
            try await group.next()
            try result.get()
        }
    }

    func stop() async { await service.triggerGracefulShutdown() }

    @discardableResult
    func submit(_ url: String, method: String = "GET", more: String = "") async throws -> Job.ID {
        let job = NewJob(tenant: tenant, spec: try JobSpec.make(url: url, method: method, more: more))
        _ = try await store.enqueue([job])
        intake.wake()
        return job.id
    }

    func job(_ id: Job.ID) async throws -> Job? { try await store.job(id, of: tenant) }

    /// Waits until a job has a state.
    func until(_ id: Job.ID, _ state: JobState) async throws {
        try await TestSupport.until { try await job(id)?.state == state }
    }
}

extension WireOrigin {
    /// Answers each request with two bytes.
    static func answering() throws -> WireOrigin {
        try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nhi")
    }

    var url: String { "http://127.0.0.1:\(port)/" }
}
