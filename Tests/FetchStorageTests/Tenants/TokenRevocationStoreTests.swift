import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Revoked tokens.
@Suite struct TokenRevocationStoreTests {
    @Test("revocations in memory keep the promise", arguments: TokenRevocationStoreContract.clauses)
    func memory(_ clause: Clause<any TokenRevocationStore>) async throws {
        #expect(try await clause.differences(in: MemoryTokenRevocationStore()) == [])
    }

    @Test("revocations in PostgreSQL keep the promise", arguments: TokenRevocationStoreContract.clauses)
    func postgres(_ clause: Clause<any TokenRevocationStore>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresTokenRevocationStore(client: fixture.database.client)
            let differences = try await clause.differences(in: store)
            #expect(differences == [])
        }
    }

    @Test func `each change is in the audit log, and what changed nothing is not`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresTokenRevocationStore(client: fixture.database.client)
            let revocation = try await store.revoke(.token("a"))
            _ = try await store.revoke(.token("a"))
            for _ in 0..<2 { _ = try await store.restore(revocation.id) }
            let actions = try await fixture.database.client.query("SELECT action FROM audit_entries ORDER BY id")
            #expect(
                try actions.map { try $0.decode(String.self, at: 0) }
                    == ["tokens.revoke", "tokens.revoke", "tokens.restore"])
        }
    }

    @Test func `all that are looked for at once get their own answers`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresTokenRevocationStore(client: fixture.database.client)
            _ = try await store.revoke(.subject("ada"))
            let answers = await withTaskGroup(of: (Int, Bool?).self) { group in
                for number in 0..<50 {
                    let subject = number.isMultiple(of: 3) ? "ada" : "bob"
                    group.addTask {
                        let token = TokenIdentity(id: nil, subject: subject, issuedAt: nil)
                        return (number, try? await store.isRevoked(token))
                    }
                }
                return await group.reduce(into: [(Int, Bool?)]()) { $0.append($1) }
            }
            for (number, answer) in answers { #expect(answer == number.isMultiple(of: 3), "\(number)") }
        }
    }
}
