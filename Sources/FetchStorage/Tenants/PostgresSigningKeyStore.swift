package import FetchJobs
package import Postgres
import Synchronization

/// The signing keys of tenants in PostgreSQL, sealed.
package final class PostgresSigningKeyStore: SigningKeyStore {
    /// How long requests of this node are still signed with a key after another node has rotated it: origins try the
    /// next key too, so that both are good.
    private static let lifetime = Duration.seconds(5)
    private static let maximumEntries = 10_000
    private static let table = "signing_keys"

    private let client: Client
    private let keys: TenantKeys
    private let known = Mutex<[Tenant.ID: (keys: SigningKeys, seenAt: ContinuousClock.Instant)]>([:])

    package init(client: Client, keys: TenantKeys) {
        self.client = client
        self.keys = keys
    }

    package func signingKeys(of tenant: Tenant.ID) async throws(StoreError) -> SigningKeys {
        let now = ContinuousClock.now
        if let seen = known.withLock({ $0[tenant] }), now - seen.seenAt < Self.lifetime { return seen.keys }
        return try await StoreError.wrap {
            let sealed = try await seal(SigningKeys(), of: tenant)
            let rows = try await client.of(tenant).query(
                """
                -- signingKeys.findOrMake
                INSERT INTO signing_keys (tenant_id, sealed_current, sealed_next)
                VALUES (\(tenant), \(sealed.current), \(sealed.next))
                -- An update that changes nothing, so that the row there is comes back, whoever made it.
                ON CONFLICT (tenant_id) DO UPDATE SET tenant_id = excluded.tenant_id
                RETURNING sealed_current, sealed_next
                """
            )
            return try await read(rows, of: tenant)
        }
    }

    package func rotateSigningKeys(of tenant: Tenant.ID) async throws(StoreError) -> SigningKeys {
        // There are keys to rotate then.
        _ = try await signingKeys(of: tenant)
        return try await StoreError.wrap {
            let sealed = try await seal(SigningKeys(), of: tenant)
            let rows = try await client.of(tenant).query(
                """
                -- signingKeys.rotate
                WITH rotated AS (
                    UPDATE signing_keys
                    SET sealed_current = sealed_next, sealed_next = \(sealed.next)
                    WHERE tenant_id = \(tenant)
                    RETURNING sealed_current, sealed_next
                ), \(Query.audited(.rotateSigningKeys, of: tenant, when: "rotated"))
                SELECT sealed_current, sealed_next
                FROM rotated
                """
            )
            return try await read(rows, of: tenant)
        }
    }

    private func seal(_ new: SigningKeys, of tenant: Tenant.ID) async throws -> (current: [UInt8], next: [UInt8]) {
        let vault = try await keys.vault(of: tenant)
        // The next becomes current as it is, so both are sealed for one place.
        return (
            try vault.seal(Array(new.current.utf8), table: Self.table, row: []),
            try vault.seal(Array(new.next.utf8), table: Self.table, row: [])
        )
    }

    private func read(_ rows: Rows, of tenant: Tenant.ID) async throws -> SigningKeys {
        guard let row = rows.first else { throw StoreError(.failed, "The signing keys were not stored.") }
        let vault = try await keys.vault(of: tenant)
        let texts = try [0, 1].map { index in
            String(
                decoding: try vault.open(try row.decode([UInt8].self, at: index), table: Self.table, row: []),
                as: UTF8.self)
        }
        let keys = SigningKeys(current: texts[0], next: texts[1])
        known.withLock { known in
            if known.count >= Self.maximumEntries { known.removeAll() }
            known[tenant] = (keys, .now)
        }
        return keys
    }
}
