import FetchJobs
import Postgres

/// An Idempotency-Key that came with a request to make something other than a job.
///
/// It is stored with the keys of jobs and expires like them: a key is for one request, whatever that makes.
struct CreationKey {
    let text: String?
    let fingerprint: [UInt8]?

    init(_ idempotency: Idempotency?) {
        text = idempotency?.key
        fingerprint = idempotency?.fingerprint.bytes
    }

    /// Makes a row, or finds the one that was made when the key was used before.
    ///
    /// Where the row is refused, no key is stored.
    ///
    /// - Parameters:
    ///   - table: Where the row is, with the alias that `columns` use.
    ///   - insertion: The `INSERT` with a `SELECT` of the values to store, except its condition.
    ///   - parts: More `WITH` parts, each with a comma before it, for which `table.alias` has the row when it is new.
    func create<Kind>(
        _ id: Identifier<Kind>, of tenant: Tenant.ID, in table: (name: Query, alias: Query), _ columns: Query,
        by insertion: Query, with parts: Query = "", client: Client
    ) async throws -> Creation<Row> {
        let rows = try await client.of(tenant).query(
            """
            -- \(table.name).create
            WITH \(storing(for: id, of: tenant)), \(table.alias) AS (
                \(insertion)
                WHERE \(isNew)
                RETURNING \(columns)
            )\(parts)
            SELECT \(columns)
            FROM \(table.alias)
            """
        )
        if let row = rows.first { return .created(row) }
        let earlier = try await createdBefore(of: tenant, in: table, columns, client: client)
        return earlier.map { .replayed($0) } ?? .conflict
    }

    /// The row that was made when the key was used before for the same; nil when there is none.
    func createdBefore(
        of tenant: Tenant.ID, in table: (name: Query, alias: Query), _ columns: Query, client: Client
    ) async throws -> Row? {
        guard text != nil else { return nil }
        return try await client.of(tenant).query(
            """
            -- \(table.name).createdBefore
            SELECT \(columns)
            FROM idempotency_keys k
            JOIN \(table.name) \(table.alias) ON \(table.alias).tenant_id = k.tenant_id
                AND \(table.alias).id = k.created_id
            WHERE k.tenant_id = \(tenant) AND k.key = \(text) AND k.fingerprint = \(fingerprint)
            """
        ).first
    }

    /// Goes behind a `WITH`, and stores the key unless it is there.
    private func storing<Kind>(for id: Identifier<Kind>, of tenant: Tenant.ID) -> Query {
        """
        new_key AS (
            INSERT INTO idempotency_keys (tenant_id, key, fingerprint, created_id)
            SELECT \(tenant), \(text), \(fingerprint), \(id)
            WHERE \(text)::text IS NOT NULL
            ON CONFLICT DO NOTHING
            RETURNING created_id
        )
        """
    }

    /// Whether the object has to be made: there is no key, or it is new.
    private var isNew: Query { "(\(text)::text IS NULL OR EXISTS (SELECT FROM new_key))" }
}
