import FetchJobs
import FetchRuntime
import FetchStorage
import Glibc
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// Jobs at the gates of limiters, on a node over PostgreSQL whose clock stands still: no heartbeat helps.
@Suite struct AdmissionTests {
    /// A client of the node.
    private struct Client {
        let jobs: PostgresJobStore
        let limiters: PostgresLimiterStore

        func submit(_ url: String) async throws -> Job.ID {
            let job = NewJob(tenant: .first, spec: try JobSpec.make(url: url))
            _ = try await jobs.enqueue([job])
            return job.id
        }

        func until(_ id: Job.ID, _ state: JobState) async throws {
            try await TestSupport.until { try await jobs.job(id, of: .first)?.state == state }
        }
    }

    private static func with(_ body: (Client) async throws -> Void) async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let known = KnownLimiters(client: database.client)
            let keys = TenantKeys(client: database.client, ring: try KeyRing(KeyRing.generate()))
            let (presence, waiters) = (NodePresence(), CompletionWaiters())
            let queue = PostgresWorkQueue(
                client: database.client, genericPlan: database.genericPlan, keys: keys, presence: presence,
                limiters: known, waiters: waiters)
            let node = try await WorkerNode(queue: queue, limits: known)
            let jobs = PostgresJobStore(
                client: database.client, genericPlan: database.genericPlan, keys: keys, node: presence.id,
                limiters: known, intake: node.intake, waiters: waiters, announce: { _ in })
            let limiters = PostgresLimiterStore(
                client: database.client, known: known, intake: node.intake, announce: {})
            try await node.run { try await body(Client(jobs: jobs, limiters: limiters)) }
        }
    }

    @Test func `a job passes the gate of its host as soon as another leaves`() async throws {
        let running = Mutex((now: 0, most: 0))
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                usleep(20_000)
                running.withLock { $0.now -= 1 }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
        let host = Limiter.Address(tenant: .first, kind: .host, key: "127.0.0.1:\(origin.port)")
        try await Self.with { client in
            let limits = try SharedLimits(json: JSONParser.parse(#"{"parallelism": 1}"#.utf8), of: .host)
            try await client.limiters.set(limits, of: host)
            var jobs: [Job.ID] = []
            for _ in 0..<5 { jobs.append(try await client.submit(origin.url)) }
            for job in jobs { try await client.until(job, .succeeded) }
            #expect(running.withLock(\.most) == 1)
        }
    }

    @Test func `jobs of a host that is paused wait until it is resumed`() async throws {
        let asked = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                asked.add(1)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
        let other = try WireOrigin.answering()
        let host = Limiter.Address(tenant: .first, kind: .host, key: "127.0.0.1:\(origin.port)")
        try await Self.with { client in
            try await client.limiters.setPaused(true, host)
            let held = try await client.submit(origin.url)
            // Those of others run meanwhile.
            try await client.until(try await client.submit(other.url), .succeeded)
            #expect(asked.value == 0)
            try await client.limiters.setPaused(false, host)
            try await client.until(held, .succeeded)
        }
    }
}
