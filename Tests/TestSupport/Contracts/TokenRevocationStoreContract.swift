package import FetchJobs

/// What every form of ``TokenRevocationStore`` does.
package enum TokenRevocationStoreContract {
    private static func token(_ id: String?, _ subject: String = "ada", issuedAt: Int64? = nil) -> TokenIdentity {
        TokenIdentity(id: id, subject: subject, issuedAt: issuedAt)
    }

    package static let clauses: [Clause<any TokenRevocationStore>] = [
        Clause("a token is revoked by its id, until that is taken back") { store in
            let before = try await store.isRevoked(token("a"))
            let revocation = try await store.revoke(.token("a"))
            var differences =
                compare("before", before, false)
                + compare("revoked", try await store.isRevoked(token("a")), true)
            for other in [token("b"), token(nil), token("A"), token("a ")] {
                differences += compare("\(other)", try await store.isRevoked(other), false)
            }
            return differences + compare("restored", try await store.restore(revocation.id), true)
                + compare("restored again", try await store.restore(revocation.id), false)
                + compare("afterwards", try await store.isRevoked(token("a")), false)
        },
        Clause("of a subject those tokens are revoked that were issued by then, or do not say when") { store in
            let revocation = try await store.revoke(.subject("ada"))
            let time = revocation.revokedAt.seconds
            var differences: [String] = []
            for issued in [nil, 0, time, time + TokenRevocation.leeway] as [Int64?] {
                let isRevoked = try await store.isRevoked(token("a", issuedAt: issued))
                differences += compare(String(describing: issued), isRevoked, true)
            }
            let later = token("a", issuedAt: time + TokenRevocation.leeway + 1)
            return differences + compare("later", try await store.isRevoked(later), false)
                + compare("another", try await store.isRevoked(token("a", "bob")), false)
        },
        Clause("what is revoked once more is the same revocation, of a later time") { store in
            let first = try await store.revoke(.subject("ada"))
            let second = try await store.revoke(.subject("ada"))
            return compare("id", second.id, first.id) + compare("later", second.revokedAt >= first.revokedAt, true)
                + compare("all", try await store.revocations(after: nil, limit: 10), [second])
        },
        Clause("revocations are listed in parts, the oldest first") { store in
            var made: [TokenRevocation] = []
            for target in [.token("a"), .subject("a"), .token("b")] as [TokenRevocation.Target] {
                made.append(try await store.revoke(target))
            }
            let first = try await store.revocations(after: nil, limit: 2)
            return compare("first", first, Array(made.prefix(2)))
                + compare("rest", try await store.revocations(after: first.last?.id, limit: 2), [made[2]])
        },
    ]
}
