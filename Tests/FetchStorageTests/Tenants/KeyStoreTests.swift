import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// SEC-40.
@Suite struct KeyStoreTests {
    @Test func `a token proves its key until it is revoked`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresKeyStore(client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            #expect(try await store.hasKeys() == false)
            let (key, token) = try await store.create(name: "ci", tenant: "default")
            let (admin, adminToken) = try await store.create(name: "ops", tenant: "default", isAdmin: true)
            #expect(admin.isAdmin && !key.isAdmin)
            #expect(try await store.authenticate(adminToken)?.isAdmin == true)
            #expect(try await store.authenticate(token)?.isAdmin == false)
            #expect(try await store.revoke(admin.id))
            #expect(key.tenant == fixture.tenant)
            #expect(try await store.authenticate(token)?.id == key.id)
            #expect(try await store.authenticate(APIKeyToken(id: key.id)) == nil)
            #expect(try await store.authenticate(APIKeyToken(id: APIKey.ID())) == nil)
            #expect(try await store.revoke(key.id))
            #expect(try await store.revoke(key.id) == false)
            #expect(try await store.authenticate(token) == nil)
            #expect(try await store.hasKeys() == false)
        }
    }

    // R65: so that nobody can starve a right key with wrong ones.
    @Test func `however many keys are asked about at once, few statements find the right ones among them`() async throws
    {
        try await StoreFixture.with { fixture in
            let store = PostgresKeyStore(client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            let (key, token) = try await store.create(name: "ci", tenant: "default")
            // The first to come leads a statement alone, and all that come in the meantime share the next.
            let blocker = try await fixture.database.connect()
            try await blocker.query("BEGIN")
            try await blocker.query("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
            try await withThrowingTaskGroup(of: APIKey.ID?.self) { group in
                for _ in 0..<2000 {
                    group.addTask { try await store.authenticate(APIKeyToken(id: APIKey.ID()))?.id }
                    group.addTask { try await store.authenticate(APIKeyToken(id: key.id))?.id }
                }
                try await until { store.waitingLookUps == 3999 }
                group.addTask { try await store.authenticate(token)?.id }
                try await until { store.waitingLookUps == 4000 }
                await blocker.close()
                let found = try await group.reduce(into: [APIKey.ID]()) { if let id = $1 { $0.append(id) } }
                #expect(found == [key.id])
            }
        }
    }

    @Test func `a key for a new tenant makes the tenant`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresKeyStore(client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            let first = try await store.create(name: "a", tenant: "second").0
            let again = try await store.create(name: "b", tenant: "second").0
            #expect(first.tenant == again.tenant && first.tenant != fixture.tenant)
            #expect(try await store.keys().map(\.tenant.name) == ["second", "second"])
        }
    }

    @Test func `a token is worth nothing under another master key`() async throws {
        try await StoreFixture.with { fixture in
            let client = fixture.database.client
            let token = try await PostgresKeyStore(client: client, ring: try KeyRing(KeyRing.generate()))
                .create(name: "a", tenant: "default").1
            let other = PostgresKeyStore(client: client, ring: try KeyRing(KeyRing.generate()))
            await #expect(throws: StoreError.self) { try await other.authenticate(token) }
        }
    }
}
