package import FetchJobs
package import Postgres

/// The revocations of tokens in PostgreSQL.
package struct PostgresTokenRevocationStore: TokenRevocationStore {
    private let client: Client
    /// All tokens that came in by then are looked for in one statement.
    private let lookUps: Batcher<TokenIdentity, Bool>

    package init(client: Client) {
        self.client = client
        lookUps = Batcher(maximumItems: 1000) { tokens in try await Self.look(for: tokens, client) }
    }

    package func isRevoked(_ token: TokenIdentity) async throws(StoreError) -> Bool {
        try await StoreError.wrap { try await lookUps.submit([token]).first ?? true }
    }

    private static func look(for tokens: [TokenIdentity], _ client: Client) async throws -> [Bool] {
        let rows = try await client.query(
            """
            -- tokens.areRevoked
            SELECT EXISTS (SELECT FROM token_revocations r WHERE r.token = asked.token) OR EXISTS (
                SELECT
                FROM token_revocations r
                WHERE r.subject = asked.subject AND coalesce(
                    to_timestamp(asked.issued_at) <= r.revoked_at + make_interval(secs => \(TokenRevocation.leeway)), true
                )
            )
            FROM unnest(
                \(tokens.map(\.id)), \(tokens.map(\.subject)), \(tokens.map(\.issuedAt))
            ) WITH ORDINALITY AS asked (token, subject, issued_at, position)
            ORDER BY asked.position
            """
        )
        return try rows.map { try $0.decode(Bool.self, at: 0) }
    }

    package func revoke(_ target: TokenRevocation.Target) async throws(StoreError) -> TokenRevocation {
        try await StoreError.wrap {
            let claim = target.claim
            let column: Query = if case .token = target { "token" } else { "subject" }
            let details = RawJSON(JSONWriter.object { $0.member(claim.name, claim.value) })
            let rows = try await client.query(
                """
                -- tokens.revoke
                WITH revoked AS (
                    INSERT INTO token_revocations AS r (id, \(column))
                    VALUES (\(TokenRevocation.ID()), \(claim.value))
                    ON CONFLICT (\(column)) DO UPDATE SET revoked_at = now()
                    RETURNING id, revoked_at
                ), \(Query.audited(.revokeToken, details: details, when: "revoked"))
                SELECT id, revoked_at FROM revoked
                """
            )
            guard let row = rows.first else { throw StoreError(.failed, "The revocation was not stored.") }
            return TokenRevocation(id: try row.decode(at: 0), target: target, revokedAt: try row.decode(at: 1))
        }
    }

    package func revocations(
        after id: TokenRevocation.ID?, limit: Int
    ) async throws(StoreError) -> [TokenRevocation] {
        try await StoreError.wrap {
            try await client.query(
                """
                -- tokens.revocations
                SELECT id, revoked_at, token, subject
                FROM token_revocations
                WHERE \(id) IS NULL OR id > \(id)
                ORDER BY id
                LIMIT \(limit)
                """
            ).map { row in
                let target: TokenRevocation.Target =
                    if let id = try row.decode(String?.self, at: 2) {
                        .token(id)
                    } else {
                        .subject(try row.decode(at: 3))
                    }
                return TokenRevocation(id: try row.decode(at: 0), target: target, revokedAt: try row.decode(at: 1))
            }
        }
    }

    package func restore(_ id: TokenRevocation.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query(
                """
                -- tokens.restore
                WITH restored AS (
                    DELETE FROM token_revocations WHERE id = \(id) RETURNING id
                ), \(Query.audited(.restoreToken, id.description, when: "restored"))
                SELECT FROM restored
                """
            ).count > 0
        }
    }
}
