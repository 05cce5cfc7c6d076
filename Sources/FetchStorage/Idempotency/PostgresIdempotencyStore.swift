package import FetchJobs
package import Postgres

/// The requests under an Idempotency-Key in PostgreSQL, among the keys of what others have made.
///
/// Requests and responses may have secrets: the responses are sealed, and the fingerprints made with the tenant's key.
package struct PostgresIdempotencyStore: IdempotencyStore {
    private static let table = "idempotency_keys"

    private let client: Client
    private let keys: TenantKeys

    package init(client: Client, keys: TenantKeys) {
        self.client = client
        self.keys = keys
    }

    package func begin(
        _ idempotency: Idempotency, of tenant: Tenant.ID
    ) async throws(StoreError) -> IdempotentRequest.Beginning {
        try await StoreError.wrap {
            let request = IdempotentRequest(tenant: tenant, key: idempotency.key)
            let vault = try await keys.vault(of: tenant)
            let fingerprint = vault.digest(of: idempotency.fingerprint.bytes)
            let isTaken = try await client.of(tenant).query(
                """
                -- idempotency.begin
                INSERT INTO idempotency_keys AS k (tenant_id, key, fingerprint, created_id, running_until)
                VALUES (
                    \(tenant), \(request.key), \(fingerprint), \(request.id), now() + \(IdempotentRequest.patience)
                )
                ON CONFLICT (tenant_id, key)
                    DO UPDATE SET created_id = excluded.created_id, created_at = excluded.created_at,
                        running_until = excluded.running_until
                    WHERE k.fingerprint = excluded.fingerprint AND k.running_until < now()
                RETURNING 1
                """
            ).isEmpty
            guard isTaken else { return .begun(request) }
            let row = try await client.of(tenant).query(
                """
                -- idempotency.find
                SELECT fingerprint, created_id, running_until IS NOT NULL, sealed_response
                FROM idempotency_keys
                WHERE tenant_id = \(tenant) AND key = \(request.key)
                """
            ).first
            // Given back just now: the next repeat has it.
            guard let row else { return .running }
            guard try row.decode([UInt8].self, at: 0) == fingerprint else { return .conflict }
            guard try !row.decode(Bool.self, at: 2) else { return .running }
            guard let sealed = try row.decode([UInt8]?.self, at: 3) else { return .endedAtLength }
            return .ended(try vault.open(sealed, table: Self.table, row: Self.row(try row.decode(at: 1))))
        }
    }

    package func end(_ request: IdempotentRequest, with response: [UInt8]?) async throws(StoreError) {
        try await StoreError.wrap {
            let vault = try await keys.vault(of: request.tenant)
            let sealed = try response.map { try vault.seal($0, table: Self.table, row: Self.row(request.id)) }
            try await client.of(request.tenant).query(
                """
                -- idempotency.end
                UPDATE idempotency_keys
                SET running_until = NULL, sealed_response = \(sealed)
                WHERE \(Self.key(of: request))
                """
            )
        }
    }

    package func abandon(_ request: IdempotentRequest) async throws(StoreError) {
        try await StoreError.wrap {
            try await client.of(request.tenant).query(
                """
                -- idempotency.abandon
                DELETE FROM idempotency_keys
                WHERE \(Self.key(of: request))
                """
            )
        }
    }

    /// Its row, unless a repeat has taken the key.
    private static func key(of request: IdempotentRequest) -> Query {
        "tenant_id = \(request.tenant) AND key = \(request.key) AND created_id = \(request.id)"
    }

    private static func row(_ id: IdempotentRequest.ID) -> [UInt8] { Array(id.description.utf8) }
}
