import Crypto
import FetchJobs
import Postgres
import TestSupport
import Testing

@testable import FetchStorage

/// The sign-ins to the dashboard in PostgreSQL and those in memory keep the same promises.
@Suite struct SignInStoreTests {
    @Test("the sign-ins in memory keep the promise", arguments: SignInStoreContract.clauses)
    func memory(_ clause: Clause<SignInStoreContract.Subject>) async throws {
        let keys = MemoryKeyStore()
        let subject = SignInStoreContract.Subject(signIns: MemorySignInStore(keys: keys), keys: keys)
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the sign-ins in PostgreSQL keep the promise", arguments: SignInStoreContract.clauses)
    func postgres(_ clause: Clause<SignInStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let (client, ring) = (fixture.database.client, try KeyRing(KeyRing.generate()))
            let subject = SignInStoreContract.Subject(
                signIns: PostgresSignInStore(client: client, ring: ring),
                keys: PostgresKeyStore(client: client, ring: ring))
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }

    @Test func `the secret of sessions is that of the key ring, on every node and after a new master key`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let client = fixture.database.client
            let key = KeyRing.generate()
            let first = try await PostgresSignInStore(client: client, ring: try KeyRing(key)).secret()
            let again = try await PostgresSignInStore(client: client, ring: try KeyRing(key)).secret()
            #expect(first.bytes == again.bytes && first.bytes.count == 32 && "\(first)" == "<redacted>")
            let newer = try KeyRing("2:\(KeyRing.generate().dropFirst(2)),\(key)")
            #expect(try await PostgresSignInStore(client: client, ring: newer).secret().bytes == first.bytes)
            let foreign = PostgresSignInStore(client: client, ring: try KeyRing(KeyRing.generate()))
            await #expect(throws: StoreError.self) { try await foreign.secret() }
        }
    }

    @Test func `what begins, ends and makes links is in the audit log, and no secret of a link is stored`() async throws
    {
        try await StoreFixture.with { fixture in
            let (client, ring) = (fixture.database.client, try KeyRing(KeyRing.generate()))
            let store = PostgresSignInStore(client: client, ring: ring)
            let link = try await store.makeLink(as: .viewer, forTenant: "linked", lifetime: .seconds(60))
            let stored = try await client.query("SELECT encode(secret_mac, 'hex') FROM dashboard_links")
            let code = try #require(try stored.first?.decode(String.self, at: 0))
            #expect(code.count == 64 && !link.revealed.contains(code))
            let id = SignIn.ID()
            var actor = AuditActor(.dashboard)
            actor.signIn = id.uuid.base32
            try await AuditActor.$current.withValue(actor) {
                _ = try await store.begin(id, with: link, for: .seconds(3600))
                try await store.end(id)
                // There is nothing to end any more, and so nothing to tell.
                try await store.end(id)
            }
            let entries = try await client.query("SELECT action, object, sign_in FROM audit_entries ORDER BY id")
            let texts = try entries.map { row in
                [
                    try row.decode(String.self, at: 0), try row.decode(String?.self, at: 1) ?? "-",
                    try row.decode(String?.self, at: 2) ?? "-",
                ]
            }
            #expect(
                texts == [
                    ["dashboard.createLink", link.id.description, "-"],
                    ["dashboard.signIn", link.id.description, id.uuid.base32],
                    ["dashboard.signOut", "-", id.uuid.base32],
                ])
            let left = try await client.query("SELECT FROM dashboard_links UNION ALL SELECT FROM dashboard_sign_ins")
            #expect(left.count == 0)
        }
    }

    @Test func `sign-ins and links go when their time is over`() async throws {
        try await StoreFixture.with { fixture in
            let (client, ring) = (fixture.database.client, try KeyRing(KeyRing.generate()))
            let store = PostgresSignInStore(client: client, ring: ring)
            for seconds in [-60, 60] as [Int64] {
                let link = try await store.makeLink(as: .viewer, forTenant: "linked", lifetime: .seconds(60))
                _ = try await store.begin(SignIn.ID(), with: link, for: .seconds(seconds))
                _ = try await store.makeLink(as: .viewer, forTenant: "linked", lifetime: .seconds(seconds))
            }
            let rows = PostgresExpiredRowStore(client: client)
            #expect(try await rows.remove(.signIns, keeping: Retention()) == 1)
            #expect(try await rows.remove(.signIns, keeping: Retention()) == 0)
            #expect(try await client.query("SELECT FROM dashboard_links").count == 1)
            #expect(try await client.query("SELECT FROM dashboard_sign_ins").count == 1)
        }
    }
}
