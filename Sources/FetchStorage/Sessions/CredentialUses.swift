import FetchEngine
import FetchJobs
import Postgres

/// Which credential was given to which job.
struct CredentialUses: Sendable {
    struct New: Sendable {
        let tenant: Tenant.ID
        let credential: StoredCredential.ID
        let job: Job.ID?
        let space: ProtectionSpace
    }

    private let client: Client
    private let writing: Batcher<New, Void>

    init(client: Client) {
        self.client = client
        writing = Batcher(maximumItems: 1000) { uses in
            try await Self.insert(uses, client)
            return uses.map { _ in () }
        }
    }

    /// Notes a use; many at once share a statement.
    func note(_ use: New) async throws { _ = try await writing.submit([use]) }

    private static func insert(_ uses: [New], _ client: Client) async throws {
        try await client.query(
            """
            -- credentialUses.note
            INSERT INTO credential_uses (tenant_id, credential_id, job_id, space)
            SELECT tenant_id, credential_id, job_id, space
            FROM unnest(
                \(uses.map(\.tenant)),
                \(uses.map(\.credential)),
                \(uses.map(\.job)),
                \(uses.map { RawJSON(JSONWriter.object($0.space.write)) })
            ) AS input (tenant_id, credential_id, job_id, space)
            """
        )
    }

    func list(
        of credential: StoredCredential.ID?, tenant: Tenant.ID, after use: CredentialUse.ID?, limit: Int
    ) async throws -> [CredentialUse] {
        let rows = try await client.query(
            """
            -- credentialUses.list
            SELECT id, used_at, credential_id, job_id, space
            FROM credential_uses
            WHERE tenant_id = \(tenant)
                AND (\(credential) IS NULL OR credential_id = \(credential))
                AND (\(use) IS NULL OR id < \(use))
            ORDER BY id DESC
            LIMIT \(limit)
            """
        )
        return try rows.map { row in
            CredentialUse(
                id: try row.decode(at: 0), usedAt: try row.decode(at: 1), credential: try row.decode(at: 2),
                job: try row.decode(at: 3), space: try row.decode(at: 4))
        }
    }
}
