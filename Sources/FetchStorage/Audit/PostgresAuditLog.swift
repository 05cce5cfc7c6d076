package import FetchJobs
package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

/// The audit log in PostgreSQL.
///
/// Entries are only inserted where something is done; as a service, this gives them their places in the chains. So no
/// transaction waits for another one's place, and the chain of one tenant holds up nobody else's.
package final class PostgresAuditLog: AuditLog, Service {
    /// How many entries one statement gives places to.
    private static let step = 1000
    /// How many such statements a reader waits for.
    private static let maximumSteps = 20
    private static let interval = Duration.seconds(1)
    /// How long it is until the next look when there was nothing.
    private static let idleInterval = Duration.seconds(5)

    private let client: Client
    private let logger: Logger
    private let tally = Mutex(AuditTally())

    package init(client: Client, logger: Logger) {
        self.client = client
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var looksAt = ContinuousClock.now
            while !Task.isCancelled {
                let isDue = ContinuousClock.now >= looksAt
                if await self.tidy(looks: isDue) {
                    looksAt = .now
                } else if isDue {
                    looksAt = .now + Self.idleInterval
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
        // What stops after this has nothing more to tell.
        _ = await tidy(isLast: true)
    }

    /// Writes what was noted, and gives entries their places.
    ///
    /// - Parameter looks: Whether it looks for entries when it has written none itself.
    /// - Returns: Whether there were any, so that there may be more soon.
    private func tidy(isLast: Bool = false, looks: Bool = true) async -> Bool {
        do {
            let hasWritten = try await writeNotes(isLast: isLast)
            guard looks || hasWritten else { return false }
            let chains = try await waiting()
            for chain in chains { _ = try await seal(chain) }
            return !chains.isEmpty
        } catch {
            logger.warning("the audit log lags behind", metadata: ["error": "\(error)"])
            return true
        }
    }

    // MARK: Adding

    package func record(_ event: AuditEvent) async throws(StoreError) {
        let now = Timestamp.now
        try await StoreError.wrap { try await insert([.init(event: event, count: 1, first: now, last: now)]) }
    }

    package func note(_ event: AuditEvent) { tally.withLock { $0.add(event, at: .now) } }

    /// Writes what was noted and is due.
    ///
    /// - Returns: Whether there was anything.
    @discardableResult
    package func writeNotes(isLast: Bool = false, at now: Timestamp = .now) async throws(StoreError) -> Bool {
        let due = tally.withLock { $0.due(at: now, isLast: isLast) }
        guard !due.isEmpty else { return false }
        do {
            try await insert(due)
            return true
        } catch {
            tally.withLock { $0.putBack(due) }
            throw StoreError(error)
        }
    }

    private func insert(_ due: [AuditTally.Due]) async throws {
        let actors = due.map(\.event.actor)
        try await client.query(
            """
            -- audit.add
            INSERT INTO audit_entries (
                tenant_id, id, at, until, count, actor, key, sign_in, client, request, action, object, details
            )
            SELECT *
            FROM unnest(
                \(due.map(\.event.chain)),
                \(due.map { _ in AuditEntry.ID() }),
                \(due.map(\.first)),
                \(due.map { $0.count > 1 ? $0.last : nil }),
                \(due.map(\.count)),
                \(actors.map(\.kind)),
                \(actors.map(\.key)),
                \(actors.map(\.signIn)),
                \(actors.map(\.client)),
                \(actors.map(\.request)),
                \(due.map(\.event.action)),
                \(due.map(\.event.object)),
                \(due.map(\.event.details))
            )
            """
        )
    }

    // MARK: Chains

    /// The chains that have entries without a place.
    private func waiting() async throws -> [Tenant.ID] {
        try await client.query(
            """
            -- audit.waiting
            WITH RECURSIVE waiting AS (
                (SELECT tenant_id FROM audit_entries WHERE sequence IS NULL ORDER BY tenant_id LIMIT 1)
                UNION ALL
                -- From one chain to the next, however many entries wait in each.
                SELECT (
                    SELECT e.tenant_id
                    FROM audit_entries e
                    WHERE e.sequence IS NULL AND e.tenant_id > w.tenant_id
                    ORDER BY e.tenant_id
                    LIMIT 1
                )
                FROM waiting w
                WHERE w.tenant_id IS NOT NULL
            )
            SELECT tenant_id FROM waiting WHERE tenant_id IS NOT NULL
            """
        ).map { try $0.decode(at: 0) }
    }

    /// Gives entries of a chain their places.
    ///
    /// - Returns: How many.
    private func seal(_ chain: Tenant.ID) async throws -> Int {
        let rows = try await client.query(
            """
            -- audit.seal
            SELECT count(*) FROM seal_audit_entries(\(chain), \(Int32(Self.step)))
            """
        )
        return Int(try rows.first?.decode(Int64.self, at: 0) ?? 0)
    }

    /// Gives the entries that wait now their places.
    ///
    /// - Parameter chain: Nil for all chains.
    private func sealAll(_ chain: Tenant.ID?) async throws {
        let chains = if let chain { [chain] } else { try await waiting() }
        for chain in chains {
            var steps = 1
            while try await seal(chain) == Self.step, steps < Self.maximumSteps { steps += 1 }
        }
    }

    package func entries(
        matching filter: AuditFilter, after entry: AuditEntry.ID?, limit: Int
    ) async throws(StoreError) -> [AuditEntry] {
        try await StoreError.wrap {
            try await sealAll(filter.chain)
            let earliest = filter.from.map { AuditEntry.ID(earliestAt: $0.advanced(by: .seconds(-3600))) }
            let subject = filter.action.flatMap { $0.hasSuffix(".*") ? String($0.dropLast(1)) : nil }
            return try await client.of(filter.chain).query(
                """
                -- audit.list
                SELECT \(AuditEntry.columns)
                FROM audit_entries e
                LEFT JOIN tenants t ON t.id = e.tenant_id
                WHERE e.sequence IS NOT NULL
                    AND (\(filter.chain)::bigint IS NULL OR e.tenant_id = \(filter.chain))
                    AND (\(entry)::uuid IS NULL OR e.id < \(entry))
                    AND (\(filter.from)::timestamptz IS NULL OR e.at >= \(filter.from))
                    -- An id is not older than what its entry tells of, but for what the clocks of nodes differ.
                    AND (\(earliest)::uuid IS NULL OR e.id >= \(earliest))
                    AND (\(filter.to)::timestamptz IS NULL OR e.at < \(filter.to))
                    AND (\(filter.actor)::text IS NULL OR \(filter.actor) IN (e.actor, e.key, e.sign_in))
                    AND (
                        \(filter.action)::text IS NULL OR e.action = \(filter.action)
                        OR starts_with(e.action, \(subject))
                    )
                    AND (\(filter.object)::text IS NULL OR e.object = \(filter.object))
                ORDER BY e.id DESC
                LIMIT \(limit)
                """
            ).map { try AuditEntry(row: $0) }
        }
    }

    // MARK: Checking

    package func verify(_ chain: Tenant.ID?) async throws(StoreError) -> [AuditChainReport] {
        try await StoreError.wrap {
            try await sealAll(chain)
            let chains = try await client.of(chain).query(
                """
                -- audit.chains
                SELECT c.tenant_id, t.name
                FROM audit_chains c
                LEFT JOIN tenants t ON t.id = c.tenant_id
                WHERE \(chain)::bigint IS NULL OR c.tenant_id = \(chain)
                ORDER BY c.tenant_id
                """
            )
            var reports: [AuditChainReport] = []
            for row in chains {
                reports.append(try await verify(try row.decode(Tenant.ID.self, at: 0), named: try row.decode(at: 1)))
            }
            return reports
        }
    }

    private func verify(_ chain: Tenant.ID, named tenant: String?) async throws -> AuditChainReport {
        var ends = try await ends(of: chain)
        while true {
            var check = AuditChain(after: ends.anchor)
            while check.fault == nil, check.end.sequence < ends.head.sequence {
                let entries = try await entries(of: chain, after: check.end.sequence, upTo: ends.head.sequence)
                guard !entries.isEmpty else { break }
                for entry in entries { check.check(entry) }
            }
            check.finish(at: ends.head)
            let report = AuditChainReport(
                chain: chain, tenant: tenant, anchor: ends.anchor, head: ends.head, fault: check.fault)
            guard check.fault != nil else { return report }
            // Retention may have removed meanwhile what was to be checked.
            let now = try await self.ends(of: chain)
            guard now.anchor != ends.anchor else { return report }
            ends = now
        }
    }

    private func ends(of chain: Tenant.ID) async throws -> (anchor: AuditChain.End, head: AuditChain.End) {
        let rows = try await client.of(chain).query(
            """
            -- audit.ends
            SELECT anchor_sequence, anchor_hash, head_sequence, head_hash FROM audit_chains WHERE tenant_id = \(chain)
            """
        )
        guard let row = rows.first else { return (AuditChain.origin(of: chain), AuditChain.origin(of: chain)) }
        return (
            AuditChain.End(sequence: try row.decode(at: 0), hash: try row.decode(at: 1)),
            AuditChain.End(sequence: try row.decode(at: 2), hash: try row.decode(at: 3))
        )
    }

    private func entries(of chain: Tenant.ID, after first: Int64, upTo last: Int64) async throws -> [AuditEntry] {
        try await client.of(chain).query(
            """
            -- audit.chain
            SELECT \(AuditEntry.columns)
            FROM audit_entries e
            LEFT JOIN tenants t ON t.id = e.tenant_id
            WHERE e.tenant_id = \(chain) AND e.sequence > \(first) AND e.sequence <= \(last)
            ORDER BY e.sequence
            LIMIT \(Self.step)
            """
        ).map { try AuditEntry(row: $0) }
    }
}

extension AuditEntry {
    static let columns: Query = """
        e.id, e.tenant_id, t.name, e.sequence, e.at, e.until, e.count, e.actor, e.key, e.sign_in, e.client, e.request,
        e.action, e.object, e.details, e.hash
        """

    init(row: Row) throws {
        self.init(
            id: try row.decode(at: 0), chain: try row.decode(at: 1), tenant: try row.decode(at: 2),
            sequence: try row.decode(at: 3), at: try row.decode(at: 4), until: try row.decode(at: 5),
            count: try row.decode(at: 6), actor: try row.decode(at: 7), key: try row.decode(at: 8),
            signIn: try row.decode(at: 9), client: try row.decode(at: 10), request: try row.decode(at: 11),
            action: try row.decode(at: 12), object: try row.decode(at: 13), details: try row.decode(at: 14),
            hash: try row.decode(at: 15))
    }
}
