import FetchJobs
import Postgres

// Jobs that wait to be claimed, in the order of their index: by tenant, rank, time and id.
//
// A bound that is a row ends an index scan by its first column only, so a scan never goes past a tenant and rank at
// once.

extension Query {
    /// The ends of the rows that looks step over, as the table `cursor`.
    static func cursor(_ ends: [ClaimCursor.End]) -> Query {
        """
        cursor AS MATERIALIZED (
            SELECT *
            FROM unnest(
                \(ends.map(\.tenant)), \(ends.map(\.rank)), \(ends.map(\.runAt)), \(ends.map(\.job))
            ) AS cursor (tenant_id, rank, run_at, job_id)
        )
        """
    }

    /// Jobs of a tenant that wait, without those in cursor: part by part, so that none is read before it is needed.
    static func waiting(_ columns: Query, of tenant: Query, limit: Query, locking: Query = "") -> Query {
        """
        SELECT waiting.*
        FROM (
            SELECT part.rank, part.run_at, part.job_id,
                lead(part.rank, 1, 32767::smallint) OVER (ORDER BY part.rank) AS before_rank
            FROM (
                SELECT (-1)::smallint AS rank, timestamptz '-infinity' AS run_at,
                    uuid '00000000-0000-0000-0000-000000000000' AS job_id
                UNION ALL
                SELECT s.rank, s.run_at, s.job_id FROM cursor s WHERE s.tenant_id = \(tenant)
            ) AS part
        ) AS part
        CROSS JOIN LATERAL (
            SELECT \(columns)
            FROM queue q
            WHERE q.tenant_id = \(tenant) AND \(isWaiting)
                AND (q.rank, q.run_at, q.job_id) > (part.rank, part.run_at, part.job_id) AND q.rank < part.before_rank
            ORDER BY q.rank, q.run_at, q.job_id
            LIMIT \(limit)
            \(locking)
        ) AS waiting
        LIMIT \(limit)
        """
    }

    /// The first tenant between two that has a job to be claimed.
    ///
    /// By the whole key, so that no other index can look better than the one of jobs that wait.
    static func waitingTenant(_ after: Query, _ before: Query) -> Query {
        """
        SELECT q.tenant_id
        FROM queue q
        WHERE \(isWaiting) AND q.tenant_id > \(after) AND q.tenant_id < \(before)
        ORDER BY q.tenant_id, q.rank, q.run_at, q.job_id
        LIMIT 1
        """
    }

    private static var isWaiting: Query {
        """
        q.node_id IS NULL AND NOT q.scheduled AND NOT q.suspended AND q.gate IS NULL AND q.crashes < 2
            AND (q.expires_at IS NULL OR q.expires_at > now())
        """
    }
}

/// Where to look for tenants with jobs that wait: tenants with cursor one by one, and the ranges between them.
struct WaitingTenants {
    let tenants: [Tenant.ID]
    let gaps: [WeightedRoundRobin.Gap]

    init(in gaps: [WeightedRoundRobin.Gap], without cursor: [ClaimCursor.End]) {
        let known = Set(cursor.map(\.tenant.rawValue)).sorted()
        var (tenants, between): ([Tenant.ID], [WeightedRoundRobin.Gap]) = ([], [])
        for gap in gaps {
            var after = gap.after
            for tenant in known where tenant > gap.after.rawValue && tenant < gap.before.rawValue {
                tenants.append(Tenant.ID(rawValue: tenant))
                between.append(.init(after: after, before: Tenant.ID(rawValue: tenant)))
                after = Tenant.ID(rawValue: tenant)
            }
            between.append(.init(after: after, before: gap.before))
        }
        (self.tenants, self.gaps) = (tenants, between)
    }

    /// The first tenant with such jobs in each gap, and where that ends.
    var first: Query {
        """
        SELECT next.tenant_id, gap.before
        FROM unnest(\(gaps.map(\.after)), \(gaps.map(\.before))) AS gap (after, before)
        CROSS JOIN LATERAL (\(Query.waitingTenant("gap.after", "gap.before"))) AS next
        """
    }

    /// The tenants with cursor that have such jobs.
    var known: Query {
        """
        SELECT known.tenant_id
        FROM unnest(\(tenants)) AS known (tenant_id)
        CROSS JOIN LATERAL (\(Query.waiting("1", of: "known.tenant_id", limit: "1"))) AS next
        """
    }
}
