import EventLoop
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Logging
import ServiceLifecycle
import TestSupport

@testable import FetchWorker

/// A node with a real engine and dispatcher over some queue, by a clock that the test moves.
struct WorkerNode {
    let clock = ManualClock()
    let intake: NodeIntake
    let dispatcher: Dispatcher
    let runner: JobRunner
    private let directory: TemporaryDirectory
    private let service: ServiceGroup

    /// - Parameter jobs: Those that blobs are held for.
    init(
        queue: any WorkQueue, limits: any KnownLimits = EqualLimits(), jobs: MemoryJobStore = MemoryJobStore(),
        sessions: MemorySessionStore? = nil, drainTimeout: Duration = .seconds(20),
        descriptors: DescriptorBudget = DescriptorBudget()
    ) async throws {
        directory = try TemporaryDirectory()
        var configuration = Dispatcher.Configuration()
        configuration.concurrency = 16
        configuration.drainTimeout = drainTimeout
        intake = NodeIntake(
            concurrency: configuration.concurrency, lease: configuration.lease, limits: limits, clock: clock.clock)
        let loop = TransferLoop(TaskLoop(name: "worker-tests"))
        runner = JobRunner(
            loop: loop, configuration: SessionConfiguration(), sessions: sessions ?? MemorySessionStore(jobs: jobs),
            stores: MemorySessionResources(), blobs: MemoryBlobStore(), catalog: MemoryBlobCatalog(jobs: jobs),
            area: try await FileDownloadArea(directory: directory.path, descriptors: descriptors), live: LiveJobs(),
            bandwidths: NoBandwidths(), deliveries: MemoryWebhookStore(), random: { 1 },
            makeSession: { Session(configuration: $0, transferLoop: loop) })
        dispatcher = Dispatcher(
            configuration: configuration, intake: intake, queue: queue, runner: runner, courier: nil,
            metrics: MetricsRegistry(), logger: .silent)
        service = ServiceGroup(services: [dispatcher], logger: .silent)
    }

    /// Runs the node while a test does something, and stops it then.
    func run(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await service.run() }
            // The lease is extended before anything else.
            try await until { intake.isAlive }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            await stop()
            // Everything that waits for the clock sees that it is over.
            try await group.next()
            try result.get()
        }
    }

    func stop() async { await service.triggerGracefulShutdown() }

    /// Lets so much time pass that nothing is uncertain any more about an earlier node of its name.
    func settleIn() async {
        while intake.hasUncertainCommits { await beat() }
    }

    /// Lets the time of the next heartbeat come.
    func beat() async {
        let interval = dispatcher.configuration.heartbeatInterval
        await clock.untilAsleep(for: interval)
        clock.advance(by: interval)
    }
}

/// Nothing bounds anybody's bandwidth.
private struct NoBandwidths: BandwidthSource {
    func bandwidths(of job: ClaimedJob) -> [Bandwidth] { [] }
}
