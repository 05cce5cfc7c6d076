import FetchJobs
import FetchStorage
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
