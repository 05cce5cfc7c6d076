import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import Postgres
import TestSupport
import Testing

/// The stores of two nodes over one database.
struct SessionStoresFixture {
    let database: TestDatabase
    let ring: KeyRing
    let blobs: MemoryBlobStore
    let ids: [Node.ID]
    let nodes: [PostgresSessionResources]
    let session = SessionAddress(tenant: Tenant.ID(rawValue: 1))

    static func with(
        cache: CacheEvictor.Configuration = CacheEvictor.Configuration(),
        configure: (inout Client.Configuration) -> Void = { _ in },
        _ body: (SessionStoresFixture) async throws -> Void
    ) async throws {
        try await TestDatabase.with(Schema.migrations, configure: configure) { database async throws in
            let ring = try KeyRing(KeyRing.generate())
            let blobs = MemoryBlobStore()
            let ids = [Node.ID(), Node.ID()]
            let nodes = ids.map { id in
                PostgresSessionResources(
                    client: database.client, keys: TenantKeys(client: database.client, ring: ring), node: id,
                    peers: Peers(), blobs: blobs, cache: cache, logger: TestDatabase.logger)
            }
            let fixture = SessionStoresFixture(database: database, ring: ring, blobs: blobs, ids: ids, nodes: nodes)
            try await withThrowingTaskGroup { group in
                for node in nodes { group.addTask { try await node.cacheEvictor.run() } }
                defer { group.cancelAll() }
                try await body(fixture)
            }
        }
    }

    /// The version of the stores that a job submitted now would be given.
    func version(of session: SessionAddress? = nil) async throws -> StoresVersion {
        let session = session ?? self.session
        let rows = try await database.client.query(
            """
            SELECT cookies_version, credentials_version, cache_version FROM session_stores
            WHERE tenant_id = \(session.tenant) AND session_id = \(session.session)
            """
        )
        guard let row = rows.first else { return StoresVersion() }
        return StoresVersion(
            cookies: try row.decode(at: 0), credentials: try row.decode(at: 1), cache: try row.decode(at: 2))
    }

    func cookies(_ node: Int, of session: SessionAddress? = nil) -> any CookieStorage {
        nodes[node].cookieStorage(of: session ?? self.session)
    }
}

@Suite struct CookieStoresTests {
    private let url = "https://h.example/"

    private func set(_ line: String, in storage: any CookieStorage) async throws {
        let context = CookieContext(url: try URLRecord(url))
        let cookie = try Cookie(setCookie: Array(line.utf8), from: context)
        #expect(try await storage.store([cookie], from: context, at: .now) == [nil])
    }

    @Test("a cookie storage in PostgreSQL keeps the promise", arguments: CookieStorageContract.clauses)
    func contract(_ clause: Clause<any CookieStorage>) async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let differences = try await clause.differences(in: fixture.cookies(0))
            #expect(differences == [])
        }
    }

    @Test func `what one node stored is read by another that never had it`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let line = "a=b c; Domain=h.example; Path=/x; Max-Age=1000; Secure; HttpOnly; SameSite=None; Partitioned"
            try await set(line, in: fixture.cookies(0))
            let here = try await fixture.cookies(0).cookies()
            #expect(here.count == 1)
            #expect(try await fixture.cookies(1).cookies() == here)
        }
    }

    @Test func `a job sees what was stored before it was submitted, on any node`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await set("a=1", in: fixture.cookies(0))
            let second = fixture.cookies(1)
            #expect(try await second.cookies().map(\.value) == ["1"])
            for round in 2..<6 {
                let writer = fixture.cookies(round % 2)
                fixture.nodes[round % 2].require(try await fixture.version(), of: fixture.session)
                try await set("a=\(round)", in: writer)
                let reader = (round + 1) % 2
                fixture.nodes[reader].require(try await fixture.version(), of: fixture.session)
                #expect(try await fixture.cookies(reader).cookies().map(\.value) == ["\(round)"])
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of ten thousand concurrent updates from two nodes none is lost`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let storages = [fixture.cookies(0), fixture.cookies(1)]
            try await withThrowingTaskGroup { group in
                for worker in 0..<100 {
                    group.addTask {
                        // A cookie of its own, counted up: each update is to be there when it is done.
                        for count in 1...100 {
                            try await set("c\(worker)=\(count)", in: storages[worker % 2])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let version = try await fixture.version()
            for node in 0..<2 {
                fixture.nodes[node].require(version, of: fixture.session)
                let values = try await storages[node].cookies().map(\.value)
                #expect(values == Array(repeating: "100", count: 100))
            }
            #expect(version.cookies <= 10_000)
        }
    }

    // Proves: SEC-42.
    @Test func `tenants and sessions share nothing`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            let others = [
                SessionAddress(tenant: Tenant.ID(rawValue: 2)),
                SessionAddress(tenant: fixture.session.tenant, session: TenantSession.ID()),
            ]
            try await set("a=1", in: fixture.cookies(0))
            for other in others {
                #expect(try await fixture.cookies(0, of: other).cookies().isEmpty)
                try await set("a=2", in: fixture.cookies(0, of: other))
            }
            #expect(try await fixture.cookies(1).cookies().map(\.value) == ["1"])
        }
    }

    @Test func `what is set above frozen layers hides them, and what is removed stays removed`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            for line in ["a=1", "b=1", "c=1"] { try await set(line, in: fixture.cookies(0)) }
            let fork = SessionAddress(tenant: fixture.session.tenant, session: TenantSession.ID())
            try await fixture.database.client.query(
                """
                INSERT INTO session_stores (tenant_id, session_id, layer_ids)
                VALUES (\(fork.tenant), \(fork.session), \([fork.session, fixture.session.session]))
                """
            )
            let storage = fixture.cookies(0, of: fork)
            #expect(try await storage.cookies().map(\.value) == ["1", "1", "1"])
            try await set("a=2", in: storage)
            try await set("b=; Max-Age=0", in: storage)
            let seen = try await fixture.cookies(1, of: fork).cookies().map { "\($0.name)=\($0.value)" }
            #expect(seen == ["a=2", "c=1"])
            try await storage.removeCookies(since: nil)
            fixture.nodes[1].require(try await fixture.version(of: fork), of: fork)
            #expect(try await fixture.cookies(1, of: fork).cookies().isEmpty)
            #expect(try await fixture.cookies(1).cookies().count == 3)
        }
    }

    @Test func `endpoints that want to know are told of changes, once until they are told`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let webhooks = PostgresWebhookStore(client: fixture.database.client, ring: fixture.ring)
            let tenant = fixture.session.tenant
            for events in [[WebhookEvent.cookiesChanged, .credentialsChanged], [.jobFinished]] {
                try await webhooks.add(
                    WebhookEndpoint(tenant: tenant, url: try URLRecord("https://receiver.example/"), events: events))
            }
            for value in 0..<3 { try await set("a=\(value)", in: fixture.cookies(0)) }
            let space = ProtectionSpace(host: "h.example", port: 443, scheme: "https", method: .httpBasic)
            await fixture.nodes[0].credentialStorage(of: fixture.session).setDefault(
                Credential(user: "u", password: "p", persistence: .permanent), for: space)
            let due = try await webhooks.claimDeliveries(.init(slots: 10))
            #expect(Set(due.map(\.event)) == [.cookiesChanged, .credentialsChanged] && due.count == 2)
            #expect(due.allSatisfy { $0.subject == .session(.default) })
            try await set("a=4", in: fixture.cookies(0))
            #expect(try await webhooks.claimDeliveries(.init(slots: 10)).map(\.event) == [.cookiesChanged])
        }
    }

    // Proves: SEC-50, SEC-51.
    @Test func `values are sealed for their place`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await set("a=canary-7d1b", in: fixture.cookies(0))
            try await set("b=other", in: fixture.cookies(0))
            let rows = try await fixture.database.client.query("SELECT c::text FROM cookies c")
            #expect(rows.count == 2)
            for row in rows {
                let text = try row.decode(String.self, at: 0)
                #expect(!text.contains("canary") && !text.contains(Data("canary".utf8).hexadecimal))
            }
            try await fixture.database.client.query(
                """
                UPDATE cookies SET sealed_value = (SELECT sealed_value FROM cookies WHERE name = 'a'::bytea)
                WHERE name = 'b'::bytea
                """
            )
            let moved = fixture.cookies(1)
            await #expect(throws: LoadError.self) { try await moved.cookies() }
        }
    }
}

extension Data {
    fileprivate var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
