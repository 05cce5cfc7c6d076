import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct SessionStoreTests {
    private func store(_ fixture: StoreFixture, _ node: Int = 0) -> PostgresSessionStore {
        PostgresSessionStore(client: fixture.database.client, jobs: fixture.store(node))
    }

    private func spec(_ text: String = "{}") throws -> SessionSpec {
        try SessionSpec(json: try JSONParser.parse(text.utf8))
    }

    private func make(_ fixture: StoreFixture, _ text: String = "{}") async throws -> TenantSession {
        let new = NewSession(tenant: fixture.tenant, spec: try spec(text))
        guard case .made(.created(let session)) = try await store(fixture).create(new) else {
            throw StoreError(.failed, "no session was made")
        }
        return session
    }

    /// An endpoint for all events, and the spec of a background session that tells it.
    private func background(_ fixture: StoreFixture, _ identifier: String) async throws -> String {
        let webhooks = PostgresWebhookStore(client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
        let endpoint = WebhookEndpoint(
            tenant: fixture.tenant,
            url: try URLRecord("https://receiver.example/hook"),
            events: WebhookEvent.allCases
        )
        try await webhooks.add(endpoint)
        return #"{"kind": "background", "identifier": "\#(identifier)", "webhook": {"endpoint": "\#(endpoint.id)"}}"#
    }

    private func job(in session: TenantSession) throws -> NewJob { try .make(more: #", "session": "\#(session.id)""#) }

    /// The events about sessions that were stored, in a sorted list.
    private func events(_ fixture: StoreFixture) async throws -> [String] {
        let rows = try await fixture.database.client.query(
            "SELECT event FROM webhook_deliveries WHERE job_id IS NULL ORDER BY event")
        return try rows.map { try $0.decode(String.self, at: 0) }
    }

    @Test func `of twenty who make a background session with one identifier, one does`() async throws {
        try await StoreFixture.with { fixture in
            let text = try await background(fixture, "mine")
            let new = try spec(text)
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for node in 0..<20 {
                    group.addTask {
                        let creation = try await store(fixture, node % 2).create(
                            NewSession(tenant: fixture.tenant, spec: new))
                        if case .made(.created) = creation { return true }
                        return false
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 1)
            let page = SessionPage(limit: 10)
            let first = try #require(
                try await store(fixture).sessions(of: fixture.tenant, matching: SessionFilter(), page: page).first)
            _ = try await store(fixture).invalidate(first.id, of: fixture.tenant, .finish)
            // The identifier is free again.
            #expect(try await make(fixture, text).id != first.id)
        }
    }

    @Test func `a session that finishes takes no job, and ends with its last one`() async throws {
        try await StoreFixture.with { fixture in
            let session = try await make(fixture)
            let first = try job(in: session)
            #expect(try await fixture.store().enqueue([first]) == [.accepted(first.id)])
            let finishing = try await store(fixture, 1).invalidate(session.id, of: fixture.tenant, .finish)
            #expect(finishing?.state == .finishing)
            let late = try await fixture.store().enqueue([try job(in: session), try NewJob.make()])
            #expect(late.first == .sessionInvalidated)
            let claimed = try await fixture.queue().claim(limit: 10)
            #expect(claimed.count == 2)
            for job in claimed { #expect(try await fixture.queue().settle(job, .make())) }
            #expect(try await fixture.queue().heartbeat().hasUnsettledEnds)
            try await store(fixture).settle()
            #expect(try await store(fixture).session(session.id, of: fixture.tenant)?.state == .invalidated)
            #expect(try await fixture.queue().heartbeat().hasUnsettledEnds == false)
            #expect(try await store(fixture).remove(session.id, of: fixture.tenant))
            #expect(try await store(fixture).session(session.id, of: fixture.tenant) == nil)
        }
    }

    /// Finishing sessions with a job each, in the order of a look at all; of the last one, it has ended.
    private func finishing(_ count: Int, _ fixture: StoreFixture) async throws -> [SessionAddress] {
        var sessions: [TenantSession] = []
        for _ in 0..<count {
            let session = try await make(fixture)
            _ = try await fixture.store().enqueue([try job(in: session)])
            let invalidated = try await store(fixture).invalidate(session.id, of: fixture.tenant, .finish)
            #expect(invalidated?.state == .finishing)
            sessions.append(session)
        }
        sessions.sort { $0.id < $1.id }
        let claimed = try await fixture.queue().claim(limit: count)
        let job = try #require(claimed.first { $0.spec.session == sessions.last?.id })
        #expect(try await fixture.queue().settle(job, .make()))
        return sessions.map { SessionAddress(tenant: fixture.tenant, session: $0.id) }
    }

    private func state(_ session: SessionAddress, _ fixture: StoreFixture) async throws -> SessionState? {
        try await store(fixture).session(session.session, of: session.tenant)?.state
    }

    @Test func `sessions are ended part by part, and many that wait hide none that is quiet`() async throws {
        try await StoreFixture.with { fixture in
            let sessions = try await finishing(5, fixture)
            #expect(try await store(fixture).settle(after: nil, limit: 2) == sessions[1])
            #expect(try await store(fixture).settle(after: sessions[1], limit: 2) == sessions[3])
            #expect(try await state(sessions[4], fixture) == .finishing)
            #expect(try await store(fixture).settle(after: sessions[3], limit: 2) == nil)
            #expect(try await state(sessions[4], fixture) == .invalidated)
            for session in sessions.dropLast() { #expect(try await state(session, fixture) == .finishing) }
        }
    }

    @Test func `who invalidates a session ends that one alone, and does so once`() async throws {
        try await StoreFixture.with { fixture in
            let sessions = try await finishing(2, fixture)
            let other = try await make(fixture)
            let ended = try await store(fixture).invalidate(other.id, of: fixture.tenant, .finish)
            #expect(ended?.state == .invalidated)
            let again = try await store(fixture).invalidate(sessions[1].session, of: fixture.tenant, .finish)
            #expect(again?.state == .finishing)
            try await store(fixture).settle(sessions)
            #expect(try await state(sessions[0], fixture) == .finishing)
            #expect(try await state(sessions[1], fixture) == .invalidated)
        }
    }

    // For any node, and any number of looks.
    @Test func `the end of a session is told once`() async throws {
        try await StoreFixture.with { fixture in
            let session = try await make(fixture, try await background(fixture, "b"))
            let jobs = try (0..<4).map { _ in try job(in: session) }
            _ = try await fixture.store().enqueue(jobs)
            let claimed = try await fixture.queue().claim(limit: 10)
            _ = try await store(fixture).invalidate(session.id, of: fixture.tenant, .finish)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for job in claimed {
                    group.addTask {
                        #expect(try await fixture.queue().settle(job, .make()))
                        try await store(fixture, 1).settle()
                    }
                }
                try await group.waitForAll()
            }
            try await store(fixture).settle()
            #expect(try await events(fixture) == ["session.eventsFinished", "session.invalidated"])
        }
    }

    // Each time that there is nothing more to tell.
    @Test func `a background session's events are finished after each time that it had jobs`() async throws {
        try await StoreFixture.with { fixture in
            let session = try await make(fixture, try await background(fixture, "b"))
            for round in 1...2 {
                _ = try await fixture.store().enqueue([try job(in: session)])
                try await store(fixture).settle()
                #expect(try await events(fixture).count == round - 1)
                let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
                #expect(try await fixture.queue().settle(claimed, .make()))
                try await store(fixture).settle()
                #expect(try await events(fixture).count == round)
            }
        }
    }

    // A session's own events come after those of its jobs, and its end comes last.
    @Test func `the events of a session wait for those of its jobs`() async throws {
        try await StoreFixture.with { fixture in
            let session = try await make(fixture, try await background(fixture, "b"))
            _ = try await fixture.store().enqueue([try job(in: session)])
            let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().settle(claimed, .make()))
            _ = try await store(fixture).invalidate(session.id, of: fixture.tenant, .finish)
            let webhooks = PostgresWebhookStore(
                client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            for event in [WebhookEvent.jobFinished, .sessionEventsFinished, .sessionInvalidated] {
                let due = try await webhooks.claimDeliveries(.init(slots: 10))
                #expect(due.map(\.event) == [event])
                for delivery in due { _ = try await webhooks.settle(delivery, .delivered, .answered(204)) }
            }
        }
    }

    @Test func `what was in the memory of a lost node is gone`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue(1).heartbeat()
            let new = NewSession(tenant: fixture.tenant, spec: SessionSpec(kind: .ephemeral))
            guard case .made(.created(let session)) = try await store(fixture, 1).create(new) else { return }
            #expect(session.node == fixture.nodes[1])
            try await fixture.database.client.query("UPDATE nodes SET lease_until = now() - interval '1 second'")
            _ = try await fixture.queue(0).rescue()
            #expect(try await store(fixture).session(session.id, of: fixture.tenant) == nil)
        }
    }

    @Test func `a job's id tells which node has its ephemeral session`() async throws {
        try await StoreFixture.with { fixture in
            let new = NewSession(tenant: fixture.tenant, spec: SessionSpec(kind: .ephemeral))
            guard case .made(.created(let session)) = try await store(fixture, 1).create(new) else {
                throw StoreError(.failed, "no session was made")
            }
            _ = try await make(fixture)
            let (job, store) = (session.newJobID(), store(fixture))
            #expect(try await store.ephemeralOwner(of: job, tenant: fixture.tenant) == fixture.nodes[1])
            #expect(try await store.ephemeralOwner(of: job, tenant: Tenant.ID(rawValue: 2)) == nil)
            #expect(try await store.ephemeralOwner(of: Job.ID(), tenant: fixture.tenant) == nil)
        }
    }

    @Test func `a session lies on so many snapshots and no more, whoever asks`() async throws {
        try await StoreFixture.with { fixture in
            let session = try await make(fixture)
            let snapshots = PostgresSnapshotStore(client: fixture.database.client)
            guard case .unknown = try await snapshots.take(of: session.id, tenant: Tenant.ID(rawValue: 2)) else {
                throw StoreError(.failed, "another tenant took a snapshot")
            }
            var last: SessionSnapshot?
            for _ in 0..<15 {
                guard case .created(let snapshot) = try await snapshots.take(of: session.id, tenant: fixture.tenant)
                else { throw StoreError(.failed, "there is room for another layer") }
                last = snapshot
            }
            guard case .tooManyLayers = try await snapshots.take(of: session.id, tenant: fixture.tenant) else {
                throw StoreError(.failed, "there is no room for another layer")
            }
            // One made from it lies on its layers, and can be the base of no further one.
            let id = try #require(last?.id)
            let fork = try await make(fixture, #"{"snapshot": "\#(id)"}"#)
            let rows = try await fixture.database.client.query(
                "SELECT cardinality(layer_ids) FROM session_stores WHERE session_id = \(fork.id)")
            #expect(try rows.first?.decode(Int32.self, at: 0) == 16)
            _ = try await store(fixture).invalidate(fork.id, of: fixture.tenant, .finish)
            #expect(try await store(fixture).remove(fork.id, of: fixture.tenant))
            #expect(try await fixture.count("session_stores") == 1)
        }
    }
}
