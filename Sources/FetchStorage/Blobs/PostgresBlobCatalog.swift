package import FetchJobs
package import Postgres

/// The blob catalog in PostgreSQL.
package struct PostgresBlobCatalog: BlobCatalog {
    let client: Client

    package init(client: Client) { self.client = client }

    package func add(_ blob: Blob, key: String?) async throws(StoreError) -> Blob {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- blobs.add
                INSERT INTO blobs (tenant_id, id, bytes, digest, content_type, created_at, expires_at, idempotency_key)
                VALUES (
                    \(blob.tenant), \(blob.id), \(blob.content.bytes), \(blob.content.digest.bytes),
                    \(blob.contentType), \(blob.createdAt), \(blob.expiresAt), \(key)
                )
                ON CONFLICT (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
                RETURNING id
                """
            )
            guard rows.isEmpty, let key else { return blob }
            let known = try await client.query(
                """
                -- blobs.addedBefore
                SELECT id, bytes, digest, content_type, created_at, expires_at
                FROM blobs
                WHERE tenant_id = \(blob.tenant) AND idempotency_key = \(key)
                """
            )
            guard let row = known.first else {
                throw StoreError(.unavailable, "The blob of this key is being removed.")
            }
            return try Blob(row: row, tenant: blob.tenant)
        }
    }

    package func blob(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> Blob? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- blobs.find
                SELECT id, bytes, digest, content_type, created_at, expires_at
                FROM blobs
                WHERE tenant_id = \(tenant) AND id = \(id)
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
            try await client.query(
                """
                -- blobs.hold
                WITH wanted AS MATERIALIZED (
                    SELECT id
                    FROM blobs
                    WHERE tenant_id = \(tenant) AND id = ANY (\(ids)) AND (expires_at IS NULL OR expires_at > now())
                    ORDER BY id
                    FOR UPDATE
                ), held AS (
                    UPDATE blobs b
                    SET held_at = clock_timestamp()
                    FROM wanted w
                    WHERE b.tenant_id = \(tenant) AND b.id = w.id
                    RETURNING b.id
                ), hold AS (
                    INSERT INTO blob_holds (tenant_id, blob_id, job_id)
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
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- blobs.use
                SELECT b.held_at, EXISTS (
                    SELECT
                    FROM blob_holds h
                    LEFT JOIN queue q ON q.tenant_id = h.tenant_id AND q.job_id = h.job_id
                    LEFT JOIN results r ON r.tenant_id = h.tenant_id AND r.job_id = h.job_id
                    WHERE h.tenant_id = b.tenant_id AND h.blob_id = b.id AND r.job_id IS NULL
                        AND (q.job_id IS NOT NULL OR h.created_at > now() - interval '1 minute')
                )
                FROM blobs b
                WHERE b.tenant_id = \(tenant) AND b.id = \(id)
                """
            )
            guard let row = rows.first else { return .missing }
            guard try !row.decode(Bool.self, at: 1) else { return .inUse }
            let removed = try await client.query(
                """
                -- blobs.remove
                DELETE FROM blobs
                WHERE tenant_id = \(tenant) AND id = \(id)
                    AND held_at IS NOT DISTINCT FROM \(try row.decode(Timestamp?.self, at: 0))
                RETURNING id
                """
            )
            return removed.isEmpty ? .inUse : .removed
        }
    }

    package func removeExpired() async throws(StoreError) -> [Blob.ID] {
        try await StoreError.wrap {
            try await client.query(
                """
                -- blobs.tidy
                WITH over AS (
                    DELETE FROM blob_holds h
                    WHERE created_at < now() - interval '1 minute'
                        AND NOT EXISTS (
                            SELECT FROM queue q WHERE q.tenant_id = h.tenant_id AND q.job_id = h.job_id
                        )
                )
                UPDATE blobs
                SET idempotency_key = NULL
                WHERE idempotency_key IS NOT NULL AND created_at < now() - interval '24 hours'
                """
            )
            // A job whose claim was lost may have added a file that its result does not name.
            let fenced = try await client.query(
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
            let rows = try await client.query(
                """
                -- blobs.removeExpired
                DELETE FROM blobs b
                USING (
                    SELECT tenant_id, id
                    FROM blobs
                    WHERE expires_at < now()
                    ORDER BY expires_at
                    LIMIT 1000
                ) AS due
                WHERE b.tenant_id = due.tenant_id AND b.id = due.id AND b.expires_at < now()
                    AND NOT EXISTS (
                        SELECT
                        FROM blob_holds h
                        JOIN queue q ON q.tenant_id = h.tenant_id AND q.job_id = h.job_id
                        WHERE h.tenant_id = b.tenant_id AND h.blob_id = b.id
                    )
                    -- A job that was held for the blob just before may not be stored yet.
                    AND (b.held_at IS NULL OR b.held_at < now() - interval '1 minute')
                RETURNING b.id
                """
            )
            return try (Array(fenced) + Array(rows)).map { try $0.decode(at: 0) }
        }
    }

    /// Every table whose rows name blobs is asked here: what is not found is deleted.
    package func orphans(among ids: [Blob.ID]) async throws(StoreError) -> [Blob.ID] {
        guard !ids.isEmpty else { return [] }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- blobs.orphans
                SELECT stored.id
                FROM unnest(\(ids)) AS stored (id)
                WHERE NOT EXISTS (SELECT FROM blobs b WHERE b.id = stored.id)
                    -- The file of a download has a row of its own until it expires.
                    AND NOT EXISTS (SELECT FROM results r WHERE r.blob_id = stored.id AND r.file IS NULL)
                    AND NOT EXISTS (SELECT FROM cache_entries c WHERE c.blob_id = stored.id)
                """
            )
            return try rows.map { try $0.decode(at: 0) }
        }
    }
}

extension Blob {
    init(row: Row, tenant: Tenant.ID) throws {
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
