import FetchJobs
import Postgres

/// How far a sink has got in every chain, and which node writes to it.
struct AuditPositions: Sendable {
    /// How many entries are handed over at once, and of each chain, so that one tenant does not hold up the others.
    static let batch = 1000
    static let batchOfChain = 100
    static let chains = 100
    /// How long a node that has died keeps others from a sink.
    static let lease = Duration.seconds(15)

    let sink: String
    let node: Node.ID
    let client: Client

    /// - Returns: Whether this node writes to the sink, for the time of a lease.
    func claim() async throws -> Bool {
        let rows = try await client.query(
            """
            -- auditSinks.claim
            INSERT INTO audit_sinks AS s (name, node_id, lease_until)
            VALUES (\(sink), \(node), now() + \(Self.lease))
            ON CONFLICT (name) DO UPDATE
            SET node_id = excluded.node_id, lease_until = excluded.lease_until
            WHERE s.node_id = excluded.node_id OR s.lease_until < now()
            RETURNING name
            """
        )
        return !rows.isEmpty
    }

    /// Lets another node write to it.
    func release() async throws {
        try await client.query(
            """
            -- auditSinks.release
            UPDATE audit_sinks SET lease_until = '-infinity' WHERE name = \(sink) AND node_id = \(node)
            """
        )
    }

    /// The entries that have a place and that the sink lacks, and those that retention removed before it had them.
    func backlog() async throws -> (waiting: Int64, lost: Int64) {
        let rows = try await client.query(
            """
            -- auditSinks.backlog
            SELECT
                coalesce(sum(c.head_sequence - greatest(p.sequence, c.anchor_sequence)), 0)::bigint,
                coalesce(sum(greatest(c.anchor_sequence - p.sequence, 0)), 0)::bigint
            FROM audit_chains c
            LEFT JOIN audit_sink_positions p ON p.sink = \(sink) AND p.tenant_id = c.tenant_id
            """
        )
        guard let row = rows.first else { return (0, 0) }
        return (try row.decode(at: 0), try row.decode(at: 1))
    }

    /// The next entries that it lacks, those of each chain in order.
    ///
    /// - Parameter chain: The last that entries were taken of: others come first.
    func entries(after chain: Tenant.ID?) async throws -> [AuditEntry] {
        try await client.query(
            """
            -- auditSinks.entries
            WITH behind AS MATERIALIZED (
                SELECT c.tenant_id, greatest(p.sequence, c.anchor_sequence) AS sequence, c.head_sequence,
                    row_number() OVER (ORDER BY c.tenant_id <= \(chain), c.tenant_id) AS turn
                FROM audit_chains c
                LEFT JOIN audit_sink_positions p ON p.sink = \(sink) AND p.tenant_id = c.tenant_id
                WHERE c.head_sequence > greatest(p.sequence, c.anchor_sequence)
                ORDER BY turn
                LIMIT \(Self.chains)
            )
            SELECT entry.*
            FROM behind b
            CROSS JOIN LATERAL (
                SELECT \(AuditEntry.columns)
                FROM audit_entries e
                LEFT JOIN tenants t ON t.id = e.tenant_id
                WHERE e.tenant_id = b.tenant_id AND e.sequence > b.sequence AND e.sequence <= b.head_sequence
                ORDER BY e.sequence
                LIMIT \(Self.batchOfChain)
            ) AS entry
            ORDER BY b.turn, entry.sequence
            LIMIT \(Self.batch)
            """
        ).map { try AuditEntry(row: $0) }
    }

    /// Notes that the sink has entries, which were handed over in this order.
    func advance(past entries: [AuditEntry]) async throws {
        var last: [Tenant.ID: Int64] = [:]
        for entry in entries { last[entry.chain] = entry.sequence }
        try await client.query(
            """
            -- auditSinks.advance
            INSERT INTO audit_sink_positions AS p (sink, tenant_id, sequence)
            SELECT \(sink), tenant_id, sequence
            FROM unnest(\(Array(last.keys)), \(Array(last.values))) AS done (tenant_id, sequence)
            ON CONFLICT (sink, tenant_id) DO UPDATE
            SET sequence = excluded.sequence
            WHERE p.sequence < excluded.sequence
            """
        )
    }
}
