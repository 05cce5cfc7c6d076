import FetchEngine
package import FetchJobs
package import Postgres

/// The registered protocols in PostgreSQL; signing secrets are sealed.
package struct PostgresProtocolStore: ProtocolStore {
    private let client: Client
    private let ring: KeyRing

    package init(client: Client, ring: KeyRing) {
        self.client = client
        self.ring = ring
    }

    package func protocols() async throws(StoreError) -> [RegisteredProtocol] {
        try await StoreError.wrap {
            try await client.query(
                """
                -- protocols.list
                SELECT \(Self.columns)
                FROM protocols p
                ORDER BY asking_order, registered_at DESC, name COLLATE "C"
                """
            ).map { try read($0) }
        }
    }

    package func register(
        _ new: RegisteredProtocol
    ) async throws(StoreError) -> (protocol: RegisteredProtocol, isNew: Bool) {
        try await StoreError.wrap {
            let sealed = try ring.seal(new.secret.bytes, for: .secret(ofProtocol: new.name))
            let rows = try await client.query(
                """
                -- protocols.register
                WITH changed AS (
                    UPDATE queue_state SET version = version + 1
                ), p AS (
                    INSERT INTO protocols (
                        name, scheme, host, url, asking_order, tenant_ids, sealed_secret, registered_at
                    )
                    VALUES (
                        \(new.name), \(new.scheme), \(new.host?.description), \(new.url.description),
                        \(Int16(clamping: new.order)), \(new.tenants?.map(\.id)), \(sealed), \(new.registeredAt)
                    )
                    ON CONFLICT (name) DO UPDATE
                    SET scheme = excluded.scheme, host = excluded.host, url = excluded.url,
                        asking_order = excluded.asking_order, tenant_ids = excluded.tenant_ids
                    RETURNING *
                ), \(Query.audited(.setProtocol, new.name, when: "p"))
                SELECT \(Self.columns)
                FROM p
                """
            )
            guard let row = rows.first else { throw PostgresError(.unexpectedResult, "The protocol was not stored.") }
            try await Notifications.tell(client)
            let stored = try read(row)
            return (stored, stored.secret == new.secret)
        }
    }

    package func rotate(
        _ rotation: SecretRotation, ofProtocol name: String
    ) async throws(StoreError) -> RegisteredProtocol? {
        try await StoreError.wrap {
            while true {
                let rows = try await client.query(
                    """
                    -- protocols.find
                    SELECT \(Self.columns)
                    FROM protocols p
                    WHERE name = \(name)
                    """
                )
                guard let row = rows.first else { return nil }
                let sealed = try row.decode([UInt8].self, at: 7)
                let changed = rotation.applied(to: try read(row), at: .now)
                // Nil when somebody else was faster.
                if let stored = try await replace(sealed, bySecretsOf: changed) { return stored }
            }
        }
    }

    private func replace(
        _ sealed: [UInt8], bySecretsOf changed: RegisteredProtocol
    ) async throws -> RegisteredProtocol? {
        let previous = try changed.previousSecret.map {
            try ring.seal($0.secret.bytes, for: .previousSecret(ofProtocol: changed.name))
        }
        let rows = try await client.query(
            """
            -- protocols.rotate
            WITH changed AS (
                UPDATE queue_state SET version = version + 1
            ), p AS (
                UPDATE protocols
                SET sealed_secret = \(try ring.seal(changed.secret.bytes, for: .secret(ofProtocol: changed.name))),
                    sealed_previous_secret = \(previous), previous_until = \(changed.previousSecret?.until)
                WHERE name = \(changed.name) AND sealed_secret = \(sealed)
                RETURNING *
            ), \(Query.audited(.rotateProtocol, changed.name, when: "p"))
            SELECT \(Self.columns)
            FROM p
            """
        )
        guard let row = rows.first else { return nil }
        try await Notifications.tell(client)
        return try read(row)
    }

    package func remove(_ name: String) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let count = try await client.query(
                """
                -- protocols.remove
                WITH changed AS (
                    UPDATE queue_state SET version = version + 1
                ), removed AS (
                    DELETE FROM protocols WHERE name = \(name) RETURNING name
                ), \(Query.audited(.removeProtocol, name, when: "removed"))
                SELECT 1 FROM removed
                """
            ).affected
            try await Notifications.tell(client)
            return count > 0
        }
    }

    // MARK: Rows

    private static let columns: Query = """
        name, scheme, host, url, asking_order, tenant_ids,
        ARRAY(SELECT t.name FROM unnest(p.tenant_ids) WITH ORDINALITY AS own (id, n) JOIN tenants t USING (id) ORDER BY n),
        sealed_secret, sealed_previous_secret, previous_until, registered_at
        """

    private func read(_ row: Row) throws -> RegisteredProtocol {
        let name = try row.decode(String.self, at: 0)
        let names = try row.decode([String].self, at: 6)
        let secret = try ring.open(try row.decode(at: 7), for: .secret(ofProtocol: name))
        var result = RegisteredProtocol(
            name: name, scheme: try row.decode(at: 1),
            host: try row.decode(String?.self, at: 2).flatMap { HostPattern($0) },
            url: try URLRecord(try row.decode(String.self, at: 3)),
            order: Int64(try row.decode(Int16.self, at: 4)),
            tenants: try row.decode([Tenant.ID]?.self, at: 5).map { ids in
                zip(ids, names).map { Tenant(id: $0, name: $1) }
            },
            secret: WebhookSecret(bytes: secret), registeredAt: try row.decode(at: 10))
        if let sealed = try row.decode([UInt8]?.self, at: 8), let until = try row.decode(Timestamp?.self, at: 9),
            until > .now
        {
            let previous = try ring.open(sealed, for: .previousSecret(ofProtocol: name))
            result.previousSecret = .init(secret: WebhookSecret(bytes: previous), until: until)
        }
        return result
    }
}

extension KeyRing.Place {
    /// Where the secret of a protocol lies, which is no tenant's.
    static func secret(ofProtocol name: String) -> Self {
        Self(table: "protocols", column: "sealed_secret", tenant: 0, row: name)
    }

    static func previousSecret(ofProtocol name: String) -> Self {
        Self(table: "protocols", column: "sealed_previous_secret", tenant: 0, row: name)
    }
}
