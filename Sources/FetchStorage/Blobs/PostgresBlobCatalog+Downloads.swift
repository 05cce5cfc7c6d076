package import FetchEngine
package import FetchJobs
import Postgres

// The files of downloads, and the partial files of incomplete ones.
extension PostgresBlobCatalog {
    package func addFile(
        _ blob: Blob,
        of job: Job.ID?,
        named name: String,
        replacing: Bool
    ) async throws(StoreError) -> (filename: String, replaced: Blob.ID?) {
        try await withRoom(for: blob) { () throws(StoreError) in
            let added: (filename: String, replaced: Blob.ID?) = try await StoreError.wrap {
                guard replacing else { return (try await addNumberedFile(blob, of: job, named: name), nil) }
                return (name, try await replaceFile(blob, of: job, named: name))
            }
            #if DEBUG
                CrashPoint.blobListed.pass()
            #endif
            return (added, true)
        }
    }

    /// Takes the first name that is free: of many at once each gets one of its own.
    private func addNumberedFile(_ blob: Blob, of job: Job.ID?, named name: String) async throws -> String {
        var numbers = 0..<Self.namesAtOnce
        while numbers.lowerBound < Self.maximumNumber {
            let rows = try await client.of(blob.tenant).query(
                """
                -- blobs.addFile
                WITH free AS MATERIALIZED (
                    SELECT candidate.name
                    FROM unnest(\(numbers.map { Self.name(name, $0) })) WITH ORDINALITY AS candidate (name, position)
                    WHERE NOT EXISTS (
                        SELECT FROM blobs b WHERE b.tenant_id = \(blob.tenant) AND b.filename = candidate.name
                    )
                    ORDER BY position
                    LIMIT 1
                ), added AS (
                    INSERT INTO blobs (
                        tenant_id, id, bytes, digest, content_type, created_at, expires_at, job_id, filename
                    )
                    SELECT \(blob.tenant), \(blob.id), \(blob.content.bytes), \(blob.content.digest.bytes),
                        \(blob.contentType), \(blob.createdAt), \(blob.expiresAt), \(job), name
                    FROM free
                    -- The name was taken meanwhile, or the row is there already: the answer to an earlier try was lost.
                    ON CONFLICT DO NOTHING
                    RETURNING filename
                )
                SELECT free.name, coalesce(
                    added.filename,
                    (SELECT filename FROM blobs WHERE tenant_id = \(blob.tenant) AND id = \(blob.id))
                )
                FROM free
                LEFT JOIN added ON true
                """
            )
            guard let row = rows.first else {
                numbers = numbers.upperBound..<(numbers.upperBound + Self.namesAtOnce)
                continue
            }
            // Without a row of its own another download was faster: the next look sees its name.
            if let taken = try row.decode(String?.self, at: 1) { return taken }
        }
        throw StoreError(.failed, "Too many files have this name.")
    }

    /// Takes the name from whichever file has it.
    ///
    /// - Returns: The file that had it.
    private func replaceFile(_ blob: Blob, of job: Job.ID?, named name: String) async throws -> Blob.ID? {
        try await client.of(blob.tenant).transaction { connection in
            var replaced: Blob.ID?
            while true {
                let removed = try await connection.query(
                    """
                    -- blobs.makeWay
                    DELETE FROM blobs
                    WHERE tenant_id = \(blob.tenant) AND filename = \(name) AND id <> \(blob.id)
                    RETURNING id
                    """
                )
                replaced = try removed.first?.decode(Blob.ID.self, at: 0) ?? replaced
                let added = try await connection.query(
                    """
                    -- blobs.replaceFile
                    WITH added AS (
                        INSERT INTO blobs (
                            tenant_id, id, bytes, digest, content_type, created_at, expires_at, job_id, filename
                        )
                        VALUES (
                            \(blob.tenant), \(blob.id), \(blob.content.bytes), \(blob.content.digest.bytes),
                            \(blob.contentType), \(blob.createdAt), \(blob.expiresAt), \(job), \(name)
                        )
                        -- The row is there already: the answer to an earlier try was lost.
                        ON CONFLICT DO NOTHING
                        RETURNING id
                    )
                    SELECT id FROM added
                    UNION ALL
                    SELECT id FROM blobs WHERE tenant_id = \(blob.tenant) AND id = \(blob.id)
                    """
                )
                // Without a row, another file took the name while the one before it was being removed.
                if !added.isEmpty { return replaced }
            }
        }
    }

    private static var namesAtOnce: Int { 64 }
    private static var maximumNumber: Int { 100_000 }

    private static func name(_ name: String, _ number: Int) -> String {
        guard number > 0, let filename = Filename(sanitizing: name) else { return name }
        return filename.numbered(number).text
    }

    // MARK: Partial files

    package func addPartial(_ blob: Blob, _ data: ResumeData, of job: Job.ID) async throws(StoreError) {
        var data = data
        // It has no place on any disk while it is here.
        data.path = ""
        let bytes = data.bytes
        try await withRoom(for: blob) { () throws(StoreError) in
            try await StoreError.wrap {
                try await client.of(blob.tenant).query(
                    """
                    -- blobs.addPartial
                    INSERT INTO blobs (tenant_id, id, bytes, digest, created_at, expires_at, job_id, resume_data)
                    VALUES (
                        \(blob.tenant), \(blob.id), \(blob.content.bytes), \(blob.content.digest.bytes),
                        \(blob.createdAt), \(blob.expiresAt), \(job), \(bytes)
                    )
                    """
                )
            }
            return ((), true)
        }
    }

    package func partial(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> ResumeData? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- blobs.partial
                SELECT resume_data
                FROM blobs
                WHERE tenant_id = \(tenant) AND id = \(id) AND resume_data IS NOT NULL
                """
            )
            return try rows.first.map { try ResumeData(bytes: try $0.decode(at: 0)) }
        }
    }

    package func ended(among jobs: [Job.ID]) async throws(StoreError) -> [Job.ID] {
        guard !jobs.isEmpty else { return [] }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- blobs.endedJobs
                SELECT job.id
                FROM unnest(\(jobs)) AS job (id)
                WHERE NOT EXISTS (SELECT FROM queue q WHERE q.job_id = job.id)
                """
            )
            return try rows.map { try $0.decode(at: 0) }
        }
    }
}
