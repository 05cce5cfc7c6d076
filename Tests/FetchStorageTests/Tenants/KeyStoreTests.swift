import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct KeyStoreTests {
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

    // Proves: SEC-40.
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
