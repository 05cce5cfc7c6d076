import FetchJobs
package import Postgres

/// Wraps everything that an old master key wraps with the first key of the ring instead (SEC-51).
///
/// The service may run meanwhile, and so may a second rotation: a row that has changed since it was read is left for
/// the next round, and one that stops half-way goes on where it was.
package struct KeyRotation {
    /// The uses of the master keys after a rotation.
    package struct Report: Sendable, Equatable {
        /// How many wrapped keys and secrets were wrapped again.
        package var rewrapped = 0
        /// The number of values that each key of the ring, or a missing one, still wraps, by the key's number.
        package var uses: [Int: Int64] = [:]

        package init() {}
    }

    /// A column of sealed bytes, and where each row's place is.
    private struct Column {
        let table: Query
        let column: Query
        /// The row's key as text, and the tenant.
        let row: Query
        let tenant: Query
        let place: @Sendable (_ tenant: Int64, _ row: String) -> KeyRing.Place?
    }

    private static let columns = [
        Column(table: "tenant_keys", column: "sealed_key", row: "tenant_id::text", tenant: "tenant_id") { tenant, _ in
            .tenantKey(of: Tenant.ID(rawValue: tenant))
        },
        Column(table: "service_keys", column: "sealed_key", row: "purpose", tenant: "0::bigint") { _, purpose in
            .serviceKey(for: purpose)
        },
        Column(table: "webhook_endpoints", column: "sealed_secret", row: "id::text", tenant: "tenant_id") {
            tenant, id in
            WebhookEndpoint.ID(uuid: id).map { .secret(of: $0, tenant: Tenant.ID(rawValue: tenant)) }
        },
        Column(table: "webhook_endpoints", column: "sealed_previous_secret", row: "id::text", tenant: "tenant_id") {
            tenant, id in
            WebhookEndpoint.ID(uuid: id).map { .previousSecret(of: $0, tenant: Tenant.ID(rawValue: tenant)) }
        },
        Column(table: "webhook_endpoints", column: "sealed_identity", row: "id::text", tenant: "tenant_id") {
            tenant, id in
            WebhookEndpoint.ID(uuid: id).map { .identity(of: $0, tenant: Tenant.ID(rawValue: tenant)) }
        },
        Column(table: "protocols", column: "sealed_secret", row: "name", tenant: "0::bigint") { _, name in
            .secret(ofProtocol: name)
        },
        Column(table: "protocols", column: "sealed_previous_secret", row: "name", tenant: "0::bigint") { _, name in
            .previousSecret(ofProtocol: name)
        },
    ]

    private let client: Client
    private let ring: KeyRing

    package init(client: Client, ring: KeyRing) {
        self.client = client
        self.ring = ring
    }

    package func run() async throws -> Report {
        var report = Report()
        for column in Self.columns {
            report.rewrapped += try await rewrap(column)
            report.uses.merge(try await uses(of: column), uniquingKeysWith: +)
        }
        return report
    }

    private func rewrap(_ column: Column) async throws -> Int {
        let rows = try await client.query(
            """
            -- keys.sealedByOthers
            SELECT \(column.tenant), \(column.row), \(column.column)
            FROM \(column.table)
            WHERE get_byte(\(column.column), 0) <> \(Int32(ring.sealingKey))
            """
        )
        var count = 0
        for row in rows {
            let (tenant, id) = (try row.decode(Int64.self, at: 0), try row.decode(String.self, at: 1))
            let sealed = try row.decode([UInt8].self, at: 2)
            guard let place = column.place(tenant, id) else { continue }
            let again = try ring.seal(try ring.open(sealed, for: place), for: place)
            count += try await client.query(
                """
                -- keys.rewrap
                UPDATE \(column.table)
                SET \(column.column) = \(again)
                WHERE \(column.tenant) = \(tenant) AND \(column.row) = \(id) AND \(column.column) = \(sealed)
                """
            ).affected
        }
        return count
    }

    private func uses(of column: Column) async throws -> [Int: Int64] {
        let rows = try await client.query(
            """
            -- keys.uses
            SELECT get_byte(\(column.column), 0), count(*)
            FROM \(column.table)
            WHERE \(column.column) IS NOT NULL
            GROUP BY 1
            """
        )
        let counts = try rows.map { (Int(try $0.decode(Int32.self, at: 0)), try $0.decode(Int64.self, at: 1)) }
        return Dictionary(counts, uniquingKeysWith: +)
    }
}

extension Identifier {
    /// The id whose UUID PostgreSQL writes as this text.
    fileprivate init?(uuid text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(UUIDv7(high: high, low: low))
    }
}
