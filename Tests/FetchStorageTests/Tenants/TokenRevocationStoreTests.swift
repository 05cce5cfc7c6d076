import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Revoked tokens, in PostgreSQL.
@Suite struct TokenRevocationStoreTests {
    private func token(_ id: String?, _ subject: String = "ada", issuedAt: Int64? = nil) -> TokenIdentity {
        TokenIdentity(id: id, subject: subject, issuedAt: issuedAt)
    }

    @Test func `a token is revoked by its id, until that is taken back`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresTokenRevocationStore(client: fixture.database.client)
            #expect(try await !store.isRevoked(token("a")))
            let revocation = try await store.revoke(.token("a"))
            #expect(try await store.isRevoked(token("a")))
            for other in [token("b"), token(nil), token("A"), token("a ")] {
                #expect(try await !store.isRevoked(other), "\(other)")
            }
            #expect(try await store.all() == [revocation])
            // Once more is the same one.
            #expect(try await store.revoke(.token("a")).id == revocation.id)
            #expect(try await store.restore(revocation.id))
            #expect(try await !store.restore(revocation.id))
            #expect(try await !store.isRevoked(token("a")))
            let actions = try await fixture.database.client.query("SELECT action FROM audit_entries ORDER BY id")
            #expect(
                try actions.map { try $0.decode(String.self, at: 0) }
                    == ["tokens.revoke", "tokens.revoke", "tokens.restore"])
        }
    }

    @Test func `of a subject those tokens are revoked that were issued by then, or do not say when`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresTokenRevocationStore(client: fixture.database.client)
            let revocation = try await store.revoke(.subject("ada"))
            let time = Int64(revocation.revokedAt.seconds)
            for issued in [nil, 0, time, time + TokenRevocation.leeway] as [Int64?] {
                #expect(try await store.isRevoked(token("a", issuedAt: issued)), "\(String(describing: issued))")
            }
            let later = token("a", issuedAt: time + TokenRevocation.leeway + 1)
            #expect(try await !store.isRevoked(later))
            #expect(try await !store.isRevoked(token("a", "bob")))
            // All that come at once get their own answers.
            let answers = await withTaskGroup(of: (Int, Bool?).self) { group in
                for number in 0..<50 {
                    group.addTask {
                        (number, try? await store.isRevoked(token(nil, number.isMultiple(of: 3) ? "ada" : "bob")))
                    }
                }
                return await group.reduce(into: [(Int, Bool?)]()) { $0.append($1) }
            }
            for (number, answer) in answers { #expect(answer == number.isMultiple(of: 3), "\(number)") }
        }
    }
}
