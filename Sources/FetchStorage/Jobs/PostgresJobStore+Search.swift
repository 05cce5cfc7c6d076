import FetchJobs
import Postgres

// Lists of jobs by more than their state.

extension PostgresJobStore {
    /// How far the clocks that ids are made by may be from the database's.
    private static let clockDifference = Duration.seconds(3600)

    /// The jobs that match a filter, those nearest to the place of the page first.
    ///
    /// Conditions that are not asked for are not in the text, so that each combination has a plan of its own: it walks
    /// the index of one of its members, or the jobs of the tenant when none has any. The others are not conditions but
    /// the column "matches", so that whoever asks can tell how far to look.
    static func search(of tenant: Tenant.ID, _ filter: JobFilter, _ page: JobPage, _ isSharded: Bool) -> Query {
        // What waits of a tenant, as it is on a server of its own; where nothing of it is looked at, none.
        let waiting: Query =
            isSharded
            ? """
            (
                SELECT * FROM queue WHERE tenant_id = \(tenant)\(filter.looksAtStates ? "" as Query : " LIMIT 0")
            )
            """ : "queue"
        let members = JobFilterMembers(filter, tenant)
        return """
            SELECT j.id AS job_id, \(members.looks) AS matches
            FROM jobs j
            LEFT JOIN \(waiting) q ON q.tenant_id = j.tenant_id AND q.job_id = j.id
            LEFT JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
            WHERE j.tenant_id = \(tenant) AND \(page.place.condition(on: "j.id"))\(times(filter))\(members.walk)
            ORDER BY j.id \(page.place.order)
            """
    }

    /// Ids tell when jobs were stored, apart from the difference of clocks.
    private static func times(_ filter: JobFilter) -> Query {
        var conditions: Query = ""
        if let time = filter.createdAfter {
            let first = Job.ID(earliestAt: time.advanced(by: .zero - clockDifference))
            conditions = "\(conditions) AND j.created_at >= \(time) AND j.id >= \(first)"
        }
        if let time = filter.createdBefore {
            let last = Job.ID(earliestAt: time.advanced(by: clockDifference))
            conditions = "\(conditions) AND j.created_at < \(time) AND j.id < \(last)"
        }
        return conditions
    }
}

extension JobFilter {
    /// Whether a condition is about what only the queue knows of jobs.
    fileprivate var looksAtStates: Bool { state != nil || states != nil }
}

extension Query {
    /// The column `labels` of a job whose `tenant_id` and `spec` are in the row at hand.
    static var labels: Query { labels(of: "spec", tenant: "tenant_id") }

    static func labels(of spec: Query, tenant: Query) -> Query {
        """
        (
            SELECT array_agg(\(tenant) || ':' || label.key || ':' || label.value)
            FROM json_each_text(\(spec) -> 'labels') AS label
        )
        """
    }
}
