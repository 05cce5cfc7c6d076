import FetchEngine
import FetchJobs
import FetchRuntime
import TestSupport

@testable import FetchWorker

/// A node over a queue in memory, which another node sees too.
struct WorkerFixture {
    let store: MemoryJobStore
    let sessions: MemorySessionStore
    let queue: MemoryWorkQueue
    /// As another node sees it.
    let other: MemoryWorkQueue
    let node: WorkerNode
    let tenant = Tenant.ID.first

    init(
        drainTimeout: Duration = .seconds(20), descriptors: DescriptorBudget = DescriptorBudget()
    ) async throws {
        store = MemoryJobStore()
        sessions = MemorySessionStore(jobs: store)
        queue = MemoryWorkQueue(store)
        other = MemoryWorkQueue(store)
        node = try await WorkerNode(
            queue: queue, jobs: store, sessions: sessions, drainTimeout: drainTimeout, descriptors: descriptors)
    }

    var clock: ManualClock { node.clock }
    var intake: NodeIntake { node.intake }
    var dispatcher: Dispatcher { node.dispatcher }

    func run(_ body: () async throws -> Void) async throws { try await node.run(body) }

    func stop() async { await node.stop() }

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
