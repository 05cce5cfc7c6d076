import FetchJobs
import FetchStorage
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Two nodes, the loss of either, and clients act on the same jobs at the same time, in orders made by chance, held
/// against a small model of states.
///
/// Rows pause before they are changed, so that statements of others come between what one sees and what it writes.
@Suite(.timeLimit(.minutes(3))) struct InterleavingTests {
    private static let pauses = """
        CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_sleep(random() * 0.008);
            RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
        END
        $$;
        CREATE TRIGGER pause BEFORE UPDATE OR DELETE ON queue FOR EACH ROW EXECUTE FUNCTION pause();
        """

    /// The states that jobs must have, by the results that their callers were told.
    private actor Model {
        private(set) var ids: [Job.ID] = []
        /// How each was settled, as often as that was said to have been done.
        private(set) var settled: [Job.ID: [JobState]] = [:]
        private(set) var cancelled: Set<Job.ID> = []
        /// The jobs that the nodes believe they have.
        private var claims: [[ClaimedJob]] = [[], []]
        /// The jobs that they had when they were lost; they may not know that yet.
        private(set) var late: [ClaimedJob] = []

        func accept(_ jobs: [NewJob]) { ids += jobs.map(\.id) }

        /// Those of which nobody has said that they ended: few, so that all go for the same ones.
        var open: [Job.ID] { ids.suffix(12).filter { settled[$0] == nil && !cancelled.contains($0) } }

        func claim(_ jobs: [ClaimedJob], at node: Int) { claims[node] += jobs }

        /// A job that a node is to go on with.
        func take(at node: Int, _ number: Int) -> ClaimedJob? {
            claims[node].isEmpty ? nil : claims[node].remove(at: number % claims[node].count)
        }

        func takeLate() -> ClaimedJob? { late.popLast() }

        func lose(_ node: Int) {
            late += claims[node]
            claims[node] = []
        }

        func settle(_ id: Job.ID, _ state: JobState) { settled[id, default: []].append(state) }

        func cancel(_ id: Job.ID) { cancelled.insert(id) }
    }

    /// The same numbers for the same seed (SplitMix64).
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }

    private struct World {
        let fixture: StoreFixture
        let queues: [PostgresWorkQueue]
        let stores: [PostgresJobStore]
        let model = Model()

        init(_ fixture: StoreFixture) {
            self.fixture = fixture
            queues = [fixture.queue(0), fixture.queue(1)]
            stores = [fixture.store(0), fixture.store(1)]
        }

        func settle(_ job: ClaimedJob, _ state: JobState, at node: Int) async throws {
            if try await queues[node].settle(job, .make(state)) { await model.settle(job.id, state) }
        }

        /// Lets a node act on a job that it has.
        func goOn(at node: Int, _ random: inout Random) async throws {
            guard let job = await model.take(at: node, Int.random(in: 0..<1000, using: &random)) else { return }
            let queue = queues[node]
            if job.spec.request.method == .post, !(try await queue.begin(job)) { return }
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where job.spec.request.method == .get: try await queue.release([job])
            case 1:
                if !(try await queue.retry(job, .make(.failed), after: .zero)) {
                    try await settle(job, .failed, at: node)
                }
            case 2: try await settle(job, .failed, at: node)
            default: try await settle(job, .succeeded, at: node)
            }
        }

        /// Lets a client act on a job.
        func control(_ random: inout Random) async throws {
            guard let id = await model.open.randomElement(using: &random) else { return }
            let store = stores[Int.random(in: 0...1, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                // It counts from before: the answer comes after the change.
                await model.cancel(id)
                try await store.cancel([id], of: fixture.tenant, .plainly)
            case 1: try await store.setSuspended([id], of: fixture.tenant, true)
            case 2: try await store.setSuspended([id], of: fixture.tenant, false)
            default:
                guard let job = try await store.job(id, of: fixture.tenant), !job.state.isFinal,
                    let spec = job.storedSpec
                else { return }
                let text = #"{"priority": \#(Double(Int.random(in: 0...10, using: &random)) / 10)}"#
                let change = try JobChange(json: JSONParser.parse(text.utf8))
                _ = try await store.change(id, of: fixture.tenant, from: job.spec, to: change.applied(to: spec), change)
            }
        }

        /// One thing that somebody does.
        func step(_ random: inout Random) async throws {
            let node = Int.random(in: 0...1, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<2:
                guard await model.open.count < 6 else { return }
                let method = Bool.random(using: &random) ? "GET" : "POST"
                let jobs = try (0..<3).map { _ in try NewJob.make(method: method) }
                _ = try await stores[node].enqueue(jobs)
                await model.accept(jobs)
            case 2..<6:
                let claim = try await queues[node].claim(upTo: Int.random(in: 1...4, using: &random))
                await model.claim(claim.jobs, at: node)
            case 6..<11: try await goOn(at: node, &random)
            case 11..<16: try await control(&random)
            case 16: _ = try await queues[node].heartbeat()
            case 17: _ = try await queues[node].promote()
            case 18: try await lose(node)
            default: if let job = await model.takeLate() { try await settle(job, .succeeded, at: node) }
            }
        }

        /// A node gives no sign of life any more, and another one notifications.
        func lose(_ node: Int) async throws {
            await model.lose(node)
            try await fixture.database.client.query(
                "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[node])")
            _ = try await queues[1 - node].rescue()
            _ = try await queues[node].heartbeat()
        }

        /// Lets nobody change anything any more, and lets nodes finish the remaining work.
        func finish() async throws {
            for node in 0...1 { try await lose(node) }
            try await stores[0].setSuspended(await model.ids, of: fixture.tenant, false)
            for round in 0..<300 where try await fixture.count("queue") > 0 {
                let queue = queues[round % 2]
                _ = try await queue.heartbeat()
                _ = try await queue.promote()
                var jobs = try await queue.claim(upTo: 100).jobs
                if let count = try await queue.nextTrial() {
                    let suspects = try await queue.claimSuspects(count)
                    let held = try await queue.beginTrial(suspects, isAlone: false)
                    jobs += suspects.filter { held.contains($0.id) }
                }
                for job in jobs { try await settle(job, .succeeded, at: round % 2) }
            }
        }
    }

    // Proves: REL-16.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `every job that was taken ends once, as whoever ended it was told`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            let world = World(fixture)
            for queue in world.queues { _ = try await queue.heartbeat() }
            try await fixture.database.connect().execute(script: Self.pauses)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for actor in 0..<6 {
                    group.addTask {
                        var random = Random(state: seed << 8 | UInt64(actor))
                        for _ in 0..<150 { try await world.step(&random) }
                    }
                }
                try await group.waitForAll()
            }
            let invariants = PostgresInvariants(client: fixture.database.client)
            #expect(try await invariants.violations() == [])
            try await world.finish()
            #expect(try await fixture.count("queue") == 0)
            let (ids, settled, cancelled) = await (world.model.ids, world.model.settled, world.model.cancelled)
            #expect(ids.count > 20)
            for id in ids {
                let job = try #require(try await fixture.store().job(id, of: fixture.tenant))
                let told = settled[id] ?? []
                #expect(told.count <= 1, "\(id) was settled as \(told)")
                if let state = told.first {
                    #expect(job.state == state, "\(id)")
                } else {
                    // A job that ran and must not be sent again fails with its node.
                    let isLost = job.state == .failed && job.spec.text.contains("POST")
                    #expect(isLost || job.state == .cancelled && cancelled.contains(id), "\(id) is \(job.state)")
                }
            }
            #expect(try await invariants.violations(patience: .zero) == [])
        }
    }
}
