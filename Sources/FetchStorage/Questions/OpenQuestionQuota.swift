import FetchJobs
import Postgres
import Synchronization

/// How many open questions each tenant may have.
///
/// Whether there is room is known from memory. The database is asked when a tenant first asks here, now and then while
/// it goes on, and before anything is refused: to count for each statement is to read what all parked jobs wait for. So
/// all nodes together may let in too many by what the others store between two counts.
final class OpenQuestionQuota: Sendable {
    private let client: Client
    private let maximum: Int
    private let counts: Mutex<QuotaCounts>

    init(client: Client, maximum: Int) {
        self.client = client
        self.maximum = maximum
        counts = Mutex(QuotaCounts(standard: maximum))
    }

    /// Lets questions in, as many of each tenant as there is room for.
    ///
    /// - Returns: How many, up to those wanted; ``giveBack(_:of:)`` takes those that then are not open.
    func take(_ wanted: [Tenant.ID: Int]) async throws -> [Tenant.ID: Int] {
        let now = ContinuousClock.now
        var taken: [Tenant.ID: Int] = [:]
        let unknown = counts.withLock { counts -> Set<Tenant.ID> in
            var unknown = counts.due(at: now)
            for (tenant, number) in wanted where !unknown.contains(tenant) {
                taken[tenant] = counts.take(number, of: tenant, at: now)
                if taken[tenant] == nil { unknown.insert(tenant) }
            }
            return unknown
        }
        guard !unknown.isEmpty else { return taken }
        try await count(unknown)
        return counts.withLock { counts in
            wanted.reduce(into: taken) { taken, wish in
                if taken[wish.key] == nil { taken[wish.key] = counts.takeCounted(wish.value, of: wish.key) }
            }
        }
    }

    /// Some are open no more, or were not stored.
    func giveBack(_ number: Int, of tenant: Tenant.ID) {
        guard number > 0 else { return }
        counts.withLock { $0.giveBack(number, of: tenant) }
    }

    private func count(_ tenants: Set<Tenant.ID>) async throws {
        let start = ContinuousClock.now
        let asked = counts.withLock { $0.begin(tenants, at: start) }
        guard !asked.isEmpty else { return }
        let rows = try await client.query(
            """
            -- questions.countOpen
            SELECT asked.tenant_id, open.count
            FROM unnest(\(asked)) AS asked (tenant_id)
            CROSS JOIN LATERAL (
                SELECT count(*) AS count
                FROM (
                    SELECT
                    FROM questions a
                    WHERE a.tenant_id = asked.tenant_id AND a.state = 'open' AND a.deadline > now()
                    -- By the index of open ones, so that those of others are not read.
                    ORDER BY a.id
                    LIMIT \(Int64(maximum))
                ) AS question
            ) AS open
            """
        )
        let counted = try rows.map { row in
            (try row.decode(Tenant.ID.self, at: 0), Int(try row.decode(Int64.self, at: 1)))
        }
        counts.withLock { counts in
            for (tenant, open) in counted { counts.counted(open, of: tenant, since: start, at: .now) }
        }
    }
}
