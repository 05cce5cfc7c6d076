import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct IdempotencyStoreTests {
    private func with(_ body: (TestDatabase, PostgresIdempotencyStore) async throws -> Void) async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            try await database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            let keys = TenantKeys(client: database.client, ring: try KeyRing(KeyRing.generate()))
            try await body(database, PostgresIdempotencyStore(client: database.client, keys: keys))
        }
    }

    private func asked(_ request: UInt8) -> Idempotency {
        Idempotency(key: "k", fingerprint: SHA256Digest(of: [request]))
    }

    private func begun(_ store: PostgresIdempotencyStore) async throws -> IdempotentRequest {
        guard case .begun(let request) = try await store.begin(asked(1), of: .first) else {
            throw StoreError(.failed, "The key is taken.")
        }
        return request
    }

    @Test("the requests in memory keep the promise", arguments: IdempotencyStoreContract.clauses)
    func memory(_ clause: Clause<any IdempotencyStore>) async throws {
        #expect(try await clause.differences(in: MemoryIdempotencyStore()) == [])
    }

    @Test("the requests in PostgreSQL keep the promise", arguments: IdempotencyStoreContract.clauses)
    func postgres(_ clause: Clause<any IdempotencyStore>) async throws {
        try await with { _, store in
            let differences = try await clause.differences(in: store)
            #expect(differences == [])
        }
    }

    @Test func `a request whose node has died is carried out again, and the first one does not end it`() async throws {
        try await with { database, store in
            let first = try await begun(store)
            try await database.client.query("UPDATE idempotency_keys SET running_until = now() - interval '1 s'")
            #expect(try await store.begin(asked(2), of: .first) == .conflict)
            let second = try await begun(store)
            #expect(second != first)
            try await store.abandon(first)
            try await store.end(first, with: [7])
            #expect(try await store.begin(asked(1), of: .first) == .running)
            try await store.end(second, with: [8])
            #expect(try await store.begin(asked(1), of: .first) == .ended([8]))
        }
    }

    @Test func `neither the response nor the fingerprint tells what was asked`() async throws {
        try await with { database, store in
            try await store.end(try await begun(store), with: Array("a secret".utf8))
            let rows = try await database.client.query("SELECT sealed_response, fingerprint FROM idempotency_keys")
            let row = try #require(rows.first)
            let sealed = try row.decode([UInt8].self, at: 0)
            #expect(!String(decoding: sealed, as: UTF8.self).contains("secret"))
            #expect(try row.decode([UInt8].self, at: 1) != asked(1).fingerprint.bytes)
        }
    }

    @Test func `a key that has made something is not for a request that makes nothing, nor the other way round`()
        async throws
    {
        try await with { database, store in
            let groups = PostgresGroupStore(client: database.client)
            let spec = try JobGroupSpec(json: JSONParser.parse("{}".utf8))
            let group = JobGroup(tenant: .first, spec: spec)
            guard case .created = try await groups.create(group, asked(1)) else {
                Issue.record("the group was not made")
                return
            }
            #expect(try await store.begin(asked(1), of: .first) == .conflict)
            try await database.client.query("DELETE FROM idempotency_keys")
            _ = try await begun(store)
            guard case .conflict = try await groups.create(JobGroup(tenant: .first, spec: spec), asked(1)) else {
                Issue.record("the key is taken")
                return
            }
        }
    }
}
