import FetchJobs
package import FetchRuntime
package import Postgres
import ServiceLifecycle
import Synchronization

/// A limit of how many of something a tenant may have, of those that are counted in the database (R3).
///
/// Whether there is room is known from memory; the database is asked when a tenant first takes some here, now and then
/// while it goes on, and before anything is refused: to count for each statement is to read all that there is. So all
/// nodes together may let in too many, by what the others store between two counts.
package final class TenantQuota: Service {
    private let limit: TenantLimit
    private let limits: KnownTenantLimits
    private let counts: SharedCounts
    private let counting: Batcher<Tenant.ID, Void>

    /// - Parameters:
    ///   - limits: The limits as this node knows them.
    ///   - count: Selects how many there are of a tenant, `asked.tenant_id`, by an index that begins with it; more than
    ///     `asked.quota` need not be told.
    ///   - held: How many a tenant has that cannot be selected yet.
    private init(
        _ limit: TenantLimit, of limits: KnownTenantLimits, client: Client, count: Query,
        held: @escaping @Sendable (Tenant.ID) -> Int = { _ in 0 }
    ) {
        self.limit = limit
        self.limits = limits
        let counts = SharedCounts(found: count, quota: { limits[limit, $0].map { Int(clamping: $0) } }, held: held)
        self.counts = counts
        counting = Batcher(maximumItems: 1000) { tenants in
            try await counts.count(tenants, with: client)
            return tenants.map { _ in }
        }
    }

    /// - Parameter rows: Those that count, in the order of an index.
    private convenience init(
        _ limit: TenantLimit, of limits: KnownTenantLimits, client: Client, rows: Query
    ) {
        self.init(
            limit, of: limits, client: client,
            count: "SELECT count(*) AS count FROM (SELECT \(rows) LIMIT asked.quota) AS one")
    }

    /// That of jobs that wait.
    package static func waitingJobs(of limits: KnownTenantLimits, client: Client) -> TenantQuota {
        TenantQuota(
            .maximumWaitingJobs, of: limits, client: client,
            // By the key, so that the jobs of others are not read, however many they are.
            rows: """
                FROM queue q
                WHERE q.tenant_id = asked.tenant_id AND q.node_id IS NULL
                ORDER BY q.job_id
                """)
    }

    /// That of open questions.
    package static func openQuestions(of limits: KnownTenantLimits, client: Client) -> TenantQuota {
        TenantQuota(
            .maximumOpenQuestions, of: limits, client: client,
            // By the index of open ones, so that those of others are not read.
            rows: """
                FROM questions a
                WHERE a.tenant_id = asked.tenant_id AND a.state = 'open' AND a.deadline > now()
                ORDER BY a.id
                """)
    }

    /// That of sessions.
    package static func sessions(of limits: KnownTenantLimits, client: Client) -> TenantQuota {
        TenantQuota(
            .maximumSessions, of: limits, client: client,
            rows: """
                FROM sessions s
                WHERE s.tenant_id = asked.tenant_id AND s.ended_at IS NULL
                ORDER BY s.id
                """)
    }

    /// That of bytes in blobs, in bodies that are kept with jobs, and in uploads that become blobs here.
    package static func storedBytes(
        of limits: KnownTenantLimits, client: Client, unfinished: UnfinishedUploads
    ) -> TenantQuota {
        TenantQuota(
            .maximumStoredBytes, of: limits, client: client,
            count: Query.storedBytes(of: "asked.tenant_id"), held: { Int(unfinished.bytes(of: $0)) })
    }

    /// Keeps the counts up, for tenants that take some here.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Cancelled at shutdown: nothing to tell anyone.
                try? await Task.sleep(for: QuotaCounts.interval)
                let due = self.counts.state.withLock { $0.due(at: .now) }
                // When the database does not answer, the counts stay as they are until it does.
                if !due.isEmpty { _ = try? await self.counting.submit(Array(due)) }
            }
        }
    }

    /// How many a tenant may have; nil for as many as it likes.
    func quota(of tenant: Tenant.ID) -> Int? { limits[limit, tenant].map { Int(clamping: $0) } }

    /// How many more a tenant may have; nil for as many as it likes.
    func room(of tenant: Tenant.ID) async throws -> (quota: Int, left: Int)? {
        guard let quota = quota(of: tenant) else { return nil }
        let read = { self.counts.state.withLock { $0.room(of: tenant, at: .now) } }
        if let left = read() { return (quota, left) }
        _ = try await counting.submit([tenant])
        return (quota, read() ?? 0)
    }

    /// Lets some of a tenant in, as many as there is room for.
    ///
    /// - Returns: How many, up to `wanted`; ``giveBack(_:of:)`` takes those that then do not count.
    func take(_ wanted: Int, of tenant: Tenant.ID) async throws -> Int {
        try await take([tenant: wanted])[tenant] ?? 0
    }

    /// The same for several tenants.
    func take(_ wanted: [Tenant.ID: Int]) async throws -> [Tenant.ID: Int] {
        let now = ContinuousClock.now
        let taken = counts.state.withLock { counts in
            wanted.compactMapValues(by: { counts.take($1, of: $0, at: now) })
        }
        guard taken.count < wanted.count else { return taken }
        let others = wanted.filter { taken[$0.key] == nil }
        _ = try await counting.submit(Array(others.keys))
        return counts.state.withLock { counts in
            taken.merging(others.compactMapValues(by: { counts.takeCounted($1, of: $0) })) { $1 }
        }
    }

    func giveBack(_ number: Int, of tenant: Tenant.ID) {
        guard number > 0 else { return }
        counts.state.withLock { $0.giveBack(number, of: tenant) }
    }
}

/// The counts, and the query that brings them up to date.
private final class SharedCounts: Sendable {
    let state: Mutex<QuotaCounts>
    private let found: Query

    /// - Parameter found: Selects the `count` of one tenant.
    init(
        found: Query, quota: @escaping @Sendable (Tenant.ID) -> Int?, held: @escaping @Sendable (Tenant.ID) -> Int
    ) {
        self.found = found
        state = Mutex(QuotaCounts(quota: quota, held: held))
    }

    func count(_ tenants: [Tenant.ID], with client: Client) async throws {
        let start = ContinuousClock.now
        let asked = state.withLock { state in
            state.begin(Set(tenants), at: start).compactMap { tenant in
                state.quota(of: tenant).map { (tenant: tenant, quota: Int64($0)) }
            }
        }
        guard !asked.isEmpty else { return }
        let rows = try await client.query(
            """
            -- quotas.count
            SELECT asked.tenant_id, found.count
            FROM unnest(\(asked.map(\.tenant)), \(asked.map(\.quota))) AS asked (tenant_id, quota)
            CROSS JOIN LATERAL (\(found)) AS found
            """
        )
        let counted = try rows.map { row in
            (try row.decode(Tenant.ID.self, at: 0), Int(try row.decode(Int64.self, at: 1)))
        }
        state.withLock { state in
            for (tenant, count) in counted { state.counted(count, of: tenant, since: start, at: .now) }
        }
    }
}

extension [Tenant.ID: Int] {
    fileprivate func compactMapValues(by transform: (Tenant.ID, Int) -> Int?) -> [Tenant.ID: Int] {
        reduce(into: [:]) { values, entry in values[entry.key] = transform(entry.key, entry.value) }
    }
}
