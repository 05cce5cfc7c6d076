import FetchEngine
package import FetchJobs
package import Postgres

/// The blob catalog in PostgreSQL.
package final class PostgresBlobCatalog: BlobCatalog {
    let client: Client
    private let quota: TenantQuota?

    /// - Parameter quota: How many bytes tenants may have; nil for as many as they like.
    package init(client: Client, quota: TenantQuota? = nil) {
        self.client = client
        self.quota = quota
    }

    package func room(of tenant: Tenant.ID) async throws(StoreError) -> BlobRoom? {
        try await StoreError.wrap {
            try await quota?.room(of: tenant).map { BlobRoom(maximum: Int64($0.quota), left: Int64($0.left)) }
        }
    }

    /// Adds a blob where its tenant has room for its bytes.
    ///
    /// - Parameter add: Returns whether the blob is new.
    func withRoom<Value>(
        for blob: Blob, _ add: () async throws(StoreError) -> (value: Value, isNew: Bool)
    ) async throws(StoreError) -> Value {
        guard let quota, let maximum = quota.quota(of: blob.tenant) else { return try await add().value }
        let bytes = Int(blob.content.bytes)
        let taken = try await StoreError.wrap { try await quota.take(bytes, of: blob.tenant) }
        var isAdded = false
        defer { if !isAdded { quota.giveBack(taken, of: blob.tenant) } }
        guard taken == bytes else {
            throw StoreError(
                .overQuota, "A tenant may have \(maximum) bytes stored, and there is no room for \(bytes) more.")
        }
        let (value, isNew) = try await add()
        isAdded = isNew
        return value
    }

    package func add(_ blob: Blob, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<Blob> {
        do throws(StoreError) {
            return try await withRoom(for: blob) { () throws(StoreError) in
                let creation = try await store(blob, idempotency)
                #if DEBUG
                    CrashPoint.blobListed.pass()
                #endif
                if case .created = creation { return (creation, true) }
                return (creation, false)
            }
        } catch {
            // A repeated request is answered as ever.
            guard error.code == .overQuota, let earlier = try await replay(of: blob, idempotency) else { throw error }
            return earlier
        }
    }

    /// The blob that was made by the same request before, if any.
    private func replay(of blob: Blob, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<Blob>? {
        try await StoreError.wrap {
            try await CreationKey(idempotency)
                .createdBefore(of: blob.tenant, in: Self.table, Blob.columns, client: client)
                .map { .replayed(try Blob(row: $0, tenant: blob.tenant)) }
        }
    }

    private static let table: (name: Query, alias: Query) = ("blobs", "b")

    private func store(_ blob: Blob, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<Blob> {
        let key = CreationKey(idempotency)
        return try await StoreError.wrap {
            let creation = try await key.create(
                blob.id, of: blob.tenant, in: Self.table, Blob.columns,
                by: """
                    INSERT INTO blobs AS b (tenant_id, id, bytes, digest, content_type, created_at, expires_at)
                    SELECT \(blob.tenant), \(blob.id), \(blob.content.bytes), \(blob.content.digest.bytes),
                        \(blob.contentType), \(blob.createdAt), \(blob.expiresAt)
                    """,
                client: client)
            return try await creation.map { try Blob(row: $0, tenant: blob.tenant) }
        }
    }

    package func blob(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> Blob? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- blobs.find
                SELECT \(Blob.columns)
                FROM blobs b
                WHERE b.tenant_id = \(tenant) AND b.id = \(id)
                """
            )
            return try rows.first.map { try Blob(row: $0, tenant: tenant) }
        }
    }

    package func hold(
        _ ids: Set<Blob.ID>,
        for job: Job.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> Set<Blob.ID> {
        // In one order, so that two submissions cannot wait for each other.
        let ids = ids.sorted()
        let rows = try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- blobs.hold
                WITH wanted AS MATERIALIZED (
                    SELECT id
                    FROM blobs
                    WHERE tenant_id = \(tenant) AND id = ANY (\(ids)) AND (expires_at IS NULL OR expires_at > now())
                    ORDER BY id
                    -- Not of those who hold it in a transaction of theirs (fetchd.pin_blobs), only of who removes it.
                    FOR NO KEY UPDATE
                ), held AS (
                    UPDATE blobs b
                    SET pinned_at = clock_timestamp()
                    FROM wanted w
                    WHERE b.tenant_id = \(tenant) AND b.id = w.id
                    RETURNING b.id
                ), hold AS (
                    INSERT INTO blob_pins (tenant_id, blob_id, job_id)
                    SELECT \(tenant), id, \(job)
                    FROM held
                    ON CONFLICT DO NOTHING
                )
                SELECT id FROM held
                """
            )
        }
        return try await StoreError.wrap { Set(try rows.map { try $0.decode(Blob.ID.self, at: 0) }) }
    }

    package func remove(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> BlobRemoval {
        let isRemoved = try await StoreError.wrap {
            // Two statements: the second sees every hold that was committed before the blob was locked, and others
            // wait.
            try await client.ofJobs(of: tenant).transaction { [isSharded = client.isSharded] connection in
                let locked = try await connection.query(
                    """
                    -- blobs.lock
                    SELECT
                    FROM blobs
                    WHERE tenant_id = \(tenant) AND id = \(id)
                    -- Who holds it in a transaction that goes on is not waited for.
                    FOR UPDATE SKIP LOCKED
                    """
                )
                guard !locked.isEmpty else { return false }
                var results: Query = "results"
                if isSharded {
                    let over = try await Self.resultsOfHolders(of: id, tenant: tenant, on: connection)
                    results = "(SELECT \(tenant) AS tenant_id, over.job_id FROM unnest(\(over)) AS over (job_id))"
                }
                return try await connection.query(
                    """
                    -- blobs.remove
                    WITH removed AS (
                        DELETE FROM blobs b
                        WHERE b.tenant_id = \(tenant) AND b.id = \(id) AND NOT EXISTS (
                            SELECT
                            FROM blob_pins h
                            LEFT JOIN queue q ON q.tenant_id = h.tenant_id AND q.job_id = h.job_id
                            LEFT JOIN \(results) r ON r.tenant_id = h.tenant_id AND r.job_id = h.job_id
                            WHERE h.tenant_id = b.tenant_id AND h.blob_id = b.id AND r.job_id IS NULL
                                AND (q.job_id IS NOT NULL OR h.created_at > now() - interval '1 minute')
                        )
                        RETURNING b.id
                    ), \(Query.audited(.removeBlob, id.description, of: tenant, when: "removed"))
                    SELECT id FROM removed
                    """
                ).isEmpty == false
            }
        }
        if isRemoved { return .removed }
        return try await blob(id, of: tenant) == nil ? .missing : .inUse
    }

    package func removeExpired() async throws(StoreError) -> [Blob.ID] {
        try await StoreError.wrap {
            try await client.query(
                """
                -- blobs.removePins
                DELETE FROM blob_pins h
                WHERE created_at < now() - interval '1 minute'
                    AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = h.tenant_id AND q.job_id = h.job_id)
                """
            )
            // A job whose claim was lost may have added a file that its result does not name.
            let fenced =
                try await client.isSharded
                ? removeFencedOnShards()
                : client.query(
                    """
                    -- blobs.removeFenced
                    DELETE FROM blobs b
                    WHERE job_id IS NOT NULL AND resume_data IS NULL AND created_at < now() - interval '1 hour'
                        AND created_at > now() - interval '2 days'
                        AND NOT EXISTS (
                            SELECT FROM queue q WHERE q.tenant_id = b.tenant_id AND q.job_id = b.job_id
                        )
                        AND NOT EXISTS (
                            SELECT
                            FROM results r
                            WHERE r.tenant_id = b.tenant_id AND r.job_id = b.job_id
                                AND r.blob_id = b.id
                        )
                    RETURNING b.id
                    """
                )
            let expired = try await client.transaction { try await Self.removeExpired(on: $0) }
            return try fenced.map { try $0.decode(at: 0) } + expired
        }
    }

    /// Which jobs of those that hold a blob are final, where their results are on other servers than the blobs.
    private static func resultsOfHolders(
        of blob: Blob.ID, tenant: Tenant.ID, on connection: Connection
    ) async throws -> [Job.ID] {
        let holders = try await connection.query(
            "-- blobs.holders\nSELECT job_id FROM blob_pins WHERE tenant_id = \(tenant) AND blob_id = \(blob)"
        ).map { try $0.decode(Job.ID.self, at: 0) }
        guard !holders.isEmpty else { return [] }
        return Array(try await connection.finalJobs(among: holders, of: [tenant]))
    }

    /// The files of jobs whose results do not name them, where the results are on other servers, which are asked by
    /// themselves.
    private func removeFencedOnShards() async throws -> Rows {
        let candidates = try await client.query(
            """
            -- blobs.fenced
            SELECT b.tenant_id, b.id, b.job_id
            FROM blobs b
            WHERE job_id IS NOT NULL AND resume_data IS NULL AND created_at < now() - interval '1 hour'
                AND created_at > now() - interval '2 days'
                AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = b.tenant_id AND q.job_id = b.job_id)
            """
        )
        guard !candidates.isEmpty else { return candidates }
        let tenants = try candidates.map { try $0.decode(Tenant.ID.self, at: 0) }
        let jobs = try candidates.map { try $0.decode(Job.ID.self, at: 2) }
        let named: Set<Blob.ID> = try await client.find(
            "results.blobs", "blob_id", in: "results", of: jobs, of: Set(tenants), "AND blob_id IS NOT NULL")
        let ids = try candidates.map { try $0.decode(Blob.ID.self, at: 1) }
        let fenced = zip(tenants, ids).filter { !named.contains($1) }
        return try await client.query(
            """
            -- blobs.removeFenced
            DELETE FROM blobs b
            USING unnest(\(fenced.map(\.0)), \(fenced.map(\.1))) AS fenced (tenant_id, id)
            WHERE b.tenant_id = fenced.tenant_id AND b.id = fenced.id
            RETURNING b.id
            """
        )
    }

    private static func removeExpired(on connection: Connection) async throws -> [Blob.ID] {
        let due = try await connection.query(
            """
            -- blobs.expired
            SELECT tenant_id, id
            FROM blobs
            WHERE expires_at < now()
            ORDER BY expires_at
            LIMIT 1000
            FOR UPDATE SKIP LOCKED
            """
        )
        guard !due.isEmpty else { return [] }
        let rows = try await connection.query(
            """
            -- blobs.removeExpired
            DELETE FROM blobs b
            USING unnest(
                \(try due.map { try $0.decode(Tenant.ID.self, at: 0) }),
                \(try due.map { try $0.decode(Blob.ID.self, at: 1) })
            ) AS due (tenant_id, id)
            WHERE b.tenant_id = due.tenant_id AND b.id = due.id
                AND NOT EXISTS (
                    SELECT
                    FROM blob_pins h
                    JOIN queue q ON q.tenant_id = h.tenant_id AND q.job_id = h.job_id
                    WHERE h.tenant_id = b.tenant_id AND h.blob_id = b.id
                )
                -- A job that was held for the blob just before may not be stored yet.
                AND (b.pinned_at IS NULL OR b.pinned_at < now() - interval '1 minute')
            RETURNING b.id
            """
        )
        return try rows.map { try $0.decode(at: 0) }
    }

    /// Every table whose rows name blobs is asked here: a blob that is not found is deleted.
    package func orphans(among ids: [Blob.ID]) async throws(StoreError) -> [Blob.ID] {
        guard !ids.isEmpty else { return [] }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- blobs.orphans
                WITH body AS MATERIALIZED (
                    -- The file of a download has a row of its own until it expires.
                    SELECT blob_id FROM results WHERE blob_id = ANY (\(ids)) AND file IS NULL
                )
                SELECT stored.id
                FROM unnest(\(ids)) AS stored (id)
                WHERE NOT EXISTS (SELECT FROM blobs b WHERE b.id = stored.id)
                    AND NOT EXISTS (SELECT FROM body WHERE body.blob_id = stored.id)
                    AND NOT EXISTS (SELECT FROM cache_entries c WHERE c.blob_id = stored.id)
                """
            )
            return try rows.map { try $0.decode(at: 0) }
        }
    }
}

extension Blob {
    fileprivate static let columns: Query = "b.id, b.bytes, b.digest, b.content_type, b.created_at, b.expires_at"

    fileprivate init(row: Row, tenant: Tenant.ID) throws {
        self.init(
            tenant: tenant,
            content: MeasuredBlob(
                id: try row.decode(at: 0),
                bytes: try row.decode(at: 1),
                digest: SHA256Digest(bytes: try row.decode(at: 2))
            ),
            contentType: try row.decode(at: 3),
            createdAt: try row.decode(at: 4),
            expiresAt: try row.decode(at: 5)
        )
    }
}
