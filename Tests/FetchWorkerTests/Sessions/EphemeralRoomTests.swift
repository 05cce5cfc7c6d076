import FetchEngine
import FetchJobs
import FetchRuntime
import ServiceLifecycle
import TestSupport
import Testing

@testable import FetchWorker

/// What a node has for ephemeral sessions, and what tenants get of it.
@Suite(.timeLimit(.minutes(2))) struct EphemeralRoomTests {
    private struct Fixture {
        let stored: MemorySessionStore
        let sessions: EphemeralSessionStore
        let jobs: EphemeralJobStore
        private let ephemeral: EphemeralSessions

        init(_ change: (inout EphemeralSessions.Configuration) -> Void = { _ in }) async throws {
            var configuration = EphemeralSessions.Configuration()
            change(&configuration)
            let jobs = MemoryJobStore()
            stored = MemorySessionStore(jobs: jobs)
            let node = try await WorkerNode(queue: MemoryWorkQueue(jobs), jobs: jobs, sessions: stored)
            let loop = node.runner.loop
            ephemeral = EphemeralSessions(
                configuration: configuration, node: Node.ID(), runner: node.runner, defaults: SessionConfiguration(),
                questions: EphemeralQuestions(), waiters: CompletionWaiters(),
                makeSession: { Session(configuration: $0, transferLoop: loop) })
            sessions = EphemeralSessionStore(stored: stored, ephemeral: ephemeral)
            self.jobs = EphemeralJobStore(stored: jobs, sessions: stored, ephemeral: ephemeral)
        }

        /// Runs jobs while a test does something.
        func run(_ body: () async throws -> Void) async throws {
            let service = ServiceGroup(services: [ephemeral], logger: .silent)
            try await withThrowingTaskGroup { group in
                group.addTask { try await service.run() }
                let result: Result<Void, any Error>
                do { result = .success(try await body()) } catch { result = .failure(error) }
                await service.triggerGracefulShutdown()
                try await group.next()
                try result.get()
            }
        }

        /// A new session, or what there is too little of.
        func make(of tenant: Tenant.ID) async throws -> (id: TenantSession.ID?, missing: EphemeralRoom?) {
            switch try await sessions.create(NewSession(tenant: tenant, spec: SessionSpec(kind: .ephemeral))) {
            case .made(.created(let session)): (session.id, nil)
            case .full(let room): (nil, room)
            default: throw StoreError(.failed, "neither made nor refused")
            }
        }

        func submit(
            _ url: String = "http://127.0.0.1:9/", in session: TenantSession.ID, of tenant: Tenant.ID = .first,
            more: String = ""
        ) async throws -> Enqueued? {
            let spec = try JobSpec.make(url: url, more: #", "session": "\#(session)"\#(more)"#)
            return try await jobs.enqueue([NewJob(tenant: tenant, spec: spec)]).first
        }

        /// Waits until a job has ended.
        func end(of id: Job.ID, of tenant: Tenant.ID = .first) async throws -> Job {
            try await until { try await jobs.job(id, of: tenant)?.state.isFinal == true }
            return try #require(try await jobs.job(id, of: tenant))
        }
    }

    /// Of a job that is not to start in this test.
    private static let later = #", "delay": 3600"#

    private func accepted(_ enqueued: Enqueued?) throws -> Job.ID {
        guard case .accepted(let id)? = enqueued else { throw StoreError(.failed, "\(String(describing: enqueued))") }
        return id
    }

    @Test func `a tenant gets as many sessions as it leaves free, and those that are over give way`() async throws {
        let fixture = try await Fixture { $0.maximumSessions = 8 }
        var own: [TenantSession.ID] = []
        for _ in 0..<4 { own.append(try #require(try await fixture.make(of: .first).id)) }
        #expect(try await fixture.make(of: .first).missing == .sessions(8))
        for _ in 0..<2 { #expect(try await fixture.make(of: .second).missing == nil) }
        #expect(try await fixture.make(of: .second).missing == .sessions(8))
        _ = try await fixture.sessions.invalidate(own[1], of: .first, .finish)
        _ = try await fixture.sessions.invalidate(own[2], of: .first, .finish)
        for _ in 0..<2 { _ = try await fixture.sessions.remove(own.remove(at: 1), of: .first) }
        #expect(try await fixture.make(of: .first).missing == nil)
        _ = try await fixture.sessions.invalidate(own[0], of: .first, .finish)
        #expect(try await fixture.make(of: .first).missing == nil)
    }

    @Test func `a place that no session came to is given back`() async throws {
        let fixture = try await Fixture { $0.maximumSessions = 2 }
        let key = Idempotency(key: "k", fingerprint: SHA256Digest(bytes: Array(repeating: 0, count: 32)))
        let new = NewSession(tenant: .first, spec: SessionSpec(kind: .ephemeral), idempotency: key)
        _ = try await fixture.stored.create(new)
        for _ in 0..<3 {
            guard case .made(.replayed) = try await fixture.sessions.create(new) else {
                throw StoreError(.failed, "not replayed")
            }
        }
        #expect(try await fixture.make(of: .first).missing == nil)
    }

    @Test func `an idle session gives way, and one that has a job does not`() async throws {
        let fixture = try await Fixture {
            $0.maximumSessions = 2
            $0.idleTime = .zero
        }
        let idle = try #require(try await fixture.make(of: .first).id)
        let busy = try #require(try await fixture.make(of: .first).id)
        #expect(try await fixture.stored.session(idle, of: .first)?.state == .invalidated)
        #expect(try await fixture.submit(in: idle) == .sessionInvalidated)
        _ = try accepted(try await fixture.submit(in: busy, more: Self.later))
        #expect(try await fixture.make(of: .first).missing == .sessions(2))
        #expect(try await fixture.sessions.session(busy, of: .first)?.state == .active)
    }

    @Test func `a session that was used within the hour does not give way`() async throws {
        let fixture = try await Fixture { $0.maximumSessions = 2 }
        let session = try #require(try await fixture.make(of: .first).id)
        #expect(try await fixture.make(of: .first).missing == .sessions(2))
        #expect(try await fixture.sessions.session(session, of: .first)?.state == .active)
    }

    @Test func `jobs that have not ended are limited for a tenant, and cancelling gives their room back`()
        async throws
    {
        let fixture = try await Fixture { $0.maximumJobs = 5 }
        let session = try #require(try await fixture.make(of: .first).id)
        let other = try #require(try await fixture.make(of: .second).id)
        try await fixture.run {
            let first = try accepted(try await fixture.submit(in: session, more: Self.later))
            _ = try accepted(try await fixture.submit(in: session, more: Self.later))
            #expect(try await fixture.submit(in: session) == .noRoom(.jobs(5)))
            _ = try accepted(try await fixture.submit(in: other, of: .second, more: Self.later))
            try await fixture.jobs.cancel([first], of: .first, .plainly)
            #expect(try await fixture.end(of: first).state == .cancelled)
            let next = try accepted(try await fixture.submit(in: session, more: Self.later))
            #expect(try await fixture.submit(in: session) == .noRoom(.jobs(5)))
            _ = try await fixture.sessions.invalidate(session, of: .first, .cancel)
            #expect(try await fixture.end(of: next).state == .cancelled)
            try await until {
                try await fixture.sessions.session(session, of: .first)?.state == .invalidated
            }
            let new = try #require(try await fixture.make(of: .first).id)
            _ = try accepted(try await fixture.submit(in: new, more: Self.later))
        }
    }

    @Test func `a body fails its job that memory has no room for, and then others have the room`() async throws {
        let large = String(repeating: "x", count: 1 << 20)
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let body = head.contains("/large") ? large : String(large.prefix(200_000))
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        let fixture = try await Fixture { $0.maximumBytes = 1 << 20 }
        let session = try #require(try await fixture.make(of: .first).id)
        try await fixture.run {
            for _ in 0..<3 {
                let large = try accepted(try await fixture.submit(origin.url("/large"), in: session))
                let failed = try await fixture.end(of: large)
                #expect(failed.attempts.map(\.errorName) == ["dataLengthExceedsMaximum"])
                let small = try accepted(try await fixture.submit(origin.url("/small"), in: session))
                #expect(try await fixture.end(of: small).body?.bytes == 200_000)
            }
        }
    }

    @Test func `a body that comes in pieces is kept as it came`() async throws {
        let text = String((0..<100_000).map { "\($0)\n" }.joined())
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            }
        }
        let fixture = try await Fixture()
        let session = try #require(try await fixture.make(of: .first).id)
        try await fixture.run {
            let id = try accepted(try await fixture.submit(origin.url(), in: session))
            #expect(try await fixture.end(of: id).state == .succeeded)
            let body = try await fixture.jobs.body(of: id, tenant: .first)
            guard case .inline(let bytes)? = body?.location else { throw StoreError(.failed, "no body") }
            #expect(bytes == Array(text.utf8))
        }
    }

    @Test func `the jobs of several sessions are listed page by page`() async throws {
        let fixture = try await Fixture()
        var ids: Set<Job.ID> = []
        for _ in 0..<3 {
            let session = try #require(try await fixture.make(of: .first).id)
            for _ in 0..<5 { ids.insert(try accepted(try await fixture.submit(in: session, more: Self.later))) }
        }
        let other = try #require(try await fixture.make(of: .second).id)
        _ = try accepted(try await fixture.submit(in: other, of: .second, more: Self.later))
        var (listed, rest): ([Job.ID], Job.ID?) = ([], nil)
        repeat {
            let page = try await fixture.jobs.jobs(
                of: .first, matching: JobFilter(), page: JobPage(limit: 4, after: rest))
            #expect(page.count <= 4)
            listed += page.map(\.id)
            rest = page.rest
        } while rest != nil
        #expect(listed == ids.sorted { $0 > $1 })
    }
}
