import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The keys that requests are signed with.
@Suite struct SigningKeyTests {
    @Test func `all nodes have the keys that one has made, and a rotation makes the next one current`() async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let keys = TenantKeys(client: database.client, ring: try KeyRing(KeyRing.generate()))
            func store() -> PostgresSigningKeyStore { PostgresSigningKeyStore(client: database.client, keys: keys) }
            let tenant = Tenant.ID(rawValue: 1)
            let first = store()
            async let one = first.signingKeys(of: tenant)
            async let two = store().signingKeys(of: tenant)
            let (made, found) = try await (one, two)
            #expect(made == found && made.current != made.next)
            let rotated = try await first.rotateSigningKeys(of: tenant)
            #expect(rotated.current == made.next && ![made.current, made.next].contains(rotated.next))
            #expect(try await store().signingKeys(of: tenant) == rotated)
            #expect("\(rotated)" == "<redacted>")
            let sealed = try await database.client.query("SELECT sealed_current FROM signing_keys")
            let bytes = try #require(try sealed.first?.decode([UInt8].self, at: 0))
            #expect(!String(decoding: bytes, as: UTF8.self).contains("sig_"))
        }
    }
}
