import FetchJobs
package import Postgres
import ServiceLifecycle
import Synchronization

/// How many jobs each tenant may have waiting (R3).
///
/// Whether there is room is known from memory; the database is asked when a tenant first stores jobs here, now and then
/// while it goes on, and before anything is refused. So all nodes together may let in too many, by the jobs that the
/// others store between two counts.
package final class WaitingQuotas: Service {
    private let client: Client
    private let counts: SharedCounts
    private let counting: Batcher<Tenant.ID, Void>
    private let version = Atomic<Int64>(-1)

    /// - Parameter standard: The quota of tenants that have none of their own; nil for none.
    package init(client: Client, standard: Int? = nil) {
        self.client = client
        let counts = SharedCounts(standard: standard)
        self.counts = counts
        counting = Batcher(maximumItems: 1000) { tenants in
            try await counts.count(tenants, with: client)
            return tenants.map { _ in }
        }
    }

    /// Keeps the counts up, for tenants that store jobs here.
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

    /// Reads the quotas again, when something about tenants has changed.
    func refresh(to version: Int64) async throws {
        guard self.version.load(ordering: .relaxed) != version else { return }
        let rows = try await client.query(
            """
            -- quotas.read
            SELECT id, maximum_waiting_jobs FROM tenants WHERE maximum_waiting_jobs IS NOT NULL
            """
        )
        let quotas = try rows.map { row in
            (try row.decode(Tenant.ID.self, at: 0), Int(try row.decode(Int64.self, at: 1)))
        }
        counts.state.withLock { $0.set(Dictionary(quotas, uniquingKeysWith: { $1 })) }
        self.version.store(version, ordering: .relaxed)
    }

    func quota(of tenant: Tenant.ID) -> Int? { counts.state.withLock { $0.quota(of: tenant) } }

    /// Lets jobs of a tenant in, as many as there is room for.
    ///
    /// - Returns: How many, up to `wanted`; ``giveBack(_:of:)`` takes those that then do not wait.
    func take(_ wanted: Int, of tenant: Tenant.ID) async throws -> Int {
        if let taken = counts.state.withLock({ $0.take(wanted, of: tenant, at: .now) }) { return taken }
        _ = try await counting.submit([tenant])
        return counts.state.withLock { $0.takeCounted(wanted, of: tenant) }
    }

    func giveBack(_ number: Int, of tenant: Tenant.ID) {
        guard number > 0 else { return }
        counts.state.withLock { $0.giveBack(number, of: tenant) }
    }
}

/// The counts of waiting jobs, and the query that brings them up to date.
private final class SharedCounts: Sendable {
    let state: Mutex<QuotaCounts>

    init(standard: Int?) { state = Mutex(QuotaCounts(standard: standard)) }

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
            SELECT asked.tenant_id, waiting.count
            FROM unnest(\(asked.map(\.tenant)), \(asked.map(\.quota))) AS asked (tenant_id, quota)
            CROSS JOIN LATERAL (
                SELECT count(*) AS count
                FROM (
                    SELECT
                    FROM queue q
                    WHERE q.tenant_id = asked.tenant_id AND q.node_id IS NULL
                    -- By the key, so that the jobs of others are not read, however many they are.
                    ORDER BY q.job_id
                    LIMIT asked.quota
                ) AS job
            ) AS waiting
            """
        )
        let counted = try rows.map { row in
            (try row.decode(Tenant.ID.self, at: 0), Int(try row.decode(Int64.self, at: 1)))
        }
        state.withLock { state in
            for (tenant, waiting) in counted { state.counted(waiting, of: tenant, since: start, at: .now) }
        }
    }
}
