import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct ProtocolStoreTests {
    private func archive(tenants: [Tenant]? = nil) throws -> RegisteredProtocol {
        RegisteredProtocol(
            name: "archive", scheme: "archive", url: try URLRecord("https://archive.example/"), tenants: tenants)
    }

    // Proves: SEC-50.
    @Test func `the database holds no secret of a protocol in clear`() async throws {
        try await StoreFixture.with { fixture in
            let client = fixture.database.client
            let store = PostgresProtocolStore(client: client, ring: try KeyRing(KeyRing.generate()))
            let first = try await store.register(archive()).protocol
            let second = try #require(try await store.rotate(SecretRotation(), ofProtocol: "archive"))
            let rows = try await client.query("SELECT sealed_secret, sealed_previous_secret FROM protocols")
            let row = try #require(rows.first)
            for column in 0...1 {
                let sealed = try row.decode([UInt8].self, at: column)
                for secret in [first.secret, second.secret] {
                    #expect(sealed.firstRange(of: secret.bytes) == nil)
                }
            }
        }
    }

    @Test func `a node learns with its heartbeat of a protocol that another one has registered`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresProtocolStore(
                client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            let known = KnownProtocols(store: store)
            let queue = fixture.queue(protocols: known)
            _ = try await queue.heartbeat()
            #expect(known.protocols(of: fixture.tenant).isEmpty)
            _ = try await store.register(archive())
            _ = try await queue.heartbeat()
            #expect(known.protocols(of: fixture.tenant).map(\.name) == ["archive"])
            _ = try await store.remove("archive")
            _ = try await queue.heartbeat()
            #expect(known.protocols(of: fixture.tenant).isEmpty)
        }
    }

    @Test func `SQL stores jobs with the scheme of a protocol for its tenants alone`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresProtocolStore(
                client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            let job = #"{"request": {"url": "archive://shelf/7", "properties": {"a": 1}}}"#
            let rule =
                "/request/url must be an http, https or data URL in ASCII, or one of a protocol that is registered"
            #expect(try await fixture.refusal(of: job) == rule)
            let other = Tenant(id: Tenant.ID(rawValue: 2), name: "other")
            _ = try await store.register(archive(tenants: [other]))
            #expect(try await fixture.refusal(of: job) == rule)
            _ = try await store.register(archive(tenants: [Tenant(id: fixture.tenant, name: "default")]))
            let id = try await fixture.enqueueBySQL(job)
            let stored = try #require(try await fixture.store().job(id, of: fixture.tenant)?.storedSpec)
            #expect(stored == (try JobSpec(json: JSONParser.parse(job.utf8))))
            _ = try await store.register(archive())
            #expect(try await fixture.refusal(of: job) == "")
            #expect(try await fixture.refusal(of: #"{"request": "gopher://shelf/7"}"#) == rule)
            #expect(try await fixture.refusal(of: #"{"request": "archive://a b"}"#) == rule)
        }
    }
}
