import FetchJobs
import Postgres

// Lists of jobs by more than their state.

extension PostgresJobStore {
    /// How far the clocks that ids are made by may be from the database's.
    private static let clockDifference = Duration.seconds(3600)

    /// The jobs that match a filter, those nearest to the place of the page first.
    ///
    /// Conditions that are not asked for are not in the text, so that each combination has a plan of its own: it walks
    /// the index of the rarest of its members, or the jobs of the tenant when there is none. What no index has is not a
    /// condition but the column "matches", so that whoever asks can tell how far to look.
    static func search(of tenant: Tenant.ID, _ filter: JobFilter, _ page: JobPage, _ isSharded: Bool) -> Query {
        // What waits of a tenant, as it is on a server of its own; where nothing of it is looked at, none.
        let waiting: Query =
            isSharded
            ? """
            (
                SELECT * FROM queue WHERE tenant_id = \(tenant)\(filter.looksAtStates ? "" as Query : " LIMIT 0")
            )
            """ : "queue"
        return """
            SELECT j.id AS job_id, \(looks(filter)) AS matches
            FROM jobs j
            LEFT JOIN \(waiting) q ON q.tenant_id = j.tenant_id AND q.job_id = j.id
            LEFT JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
            WHERE j.tenant_id = \(tenant) AND \(page.place.condition(on: "j.id"))\(times(filter))\(members(filter, tenant))
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

    private static func members(_ filter: JobFilter, _ tenant: Tenant.ID) -> Query {
        var conditions: Query = ""
        if let state = filter.state { conditions = "\(conditions) AND \(Query.jobState) = \(state)" }
        if let states = filter.states {
            conditions = "\(conditions) AND \(Query.jobState) = ANY(\(states.map(\.rawValue).sorted()))"
            // The planner may begin with the table that has them, which is the shorter one for those that are not final.
            if states.allSatisfy({ !$0.isFinal }) { conditions = "\(conditions) AND q.job_id IS NOT NULL" }
            if states.allSatisfy(\.isFinal) { conditions = "\(conditions) AND r.job_id IS NOT NULL" }
        }
        switch filter.kind {
        case nil: break
        case .data: conditions = "\(conditions) AND j.kind = 'data'"
        // Twice, since the index that leaves out the others is found by these words.
        case .download, .upload:
            conditions = "\(conditions) AND j.kind <> 'data' AND j.kind = \(filter.kind?.rawValue)"
        }
        if let session = filter.session {
            conditions =
                session == .default
                ? "\(conditions) AND j.session IS NULL" : "\(conditions) AND j.session = \(session.description)"
        }
        if let schedule = filter.schedule { conditions = "\(conditions) AND j.schedule_id = \(schedule)" }
        if let group = filter.group { conditions = "\(conditions) AND j.group_id = \(group)" }
        for host in Set([filter.host, filter.url?.host, filter.prefix?.host].compactMap(\.self)) {
            conditions = "\(conditions) AND j.host = \(host)"
        }
        if let error = filter.error { conditions = "\(conditions) AND r.error_name = \(error)" }
        if let range = filter.status?.range {
            let (first, last) = (Int16(range.lowerBound), Int16(range.upperBound))
            conditions = "\(conditions) AND r.status BETWEEN \(first) AND \(last)"
            // The index that leaves out the others is found by these words.
            if first >= 400 { conditions = "\(conditions) AND r.status >= 400" }
        }
        if !filter.labels.isEmpty {
            let labels = filter.labels.map { "\(tenant):\($0.name):\($0.value)" }
            conditions = "\(conditions) AND j.labels @> \(labels)"
        }
        return conditions
    }
}

extension JobFilter {
    /// Whether a condition is about what only the queue knows of jobs.
    fileprivate var looksAtStates: Bool { state != nil || states != nil }
}

extension PostgresJobStore {
    /// What jobs are looked at for one by one.
    private static func looks(_ filter: JobFilter) -> Query {
        var conditions: Query = "true"
        if let method = filter.method {
            conditions = "\(conditions) AND coalesce(j.spec #>> '{request,method}', 'GET') = \(method)"
        }
        if let url = filter.url?.text { conditions = "\(conditions) AND j.spec #>> '{request,url}' = \(url)" }
        if let prefix = filter.prefix?.text {
            conditions = "\(conditions) AND starts_with(j.spec #>> '{request,url}', \(prefix))"
        }
        if let range = filter.bodyBytes?.range {
            conditions =
                "\(conditions) AND coalesce(\(Query.bodyBytes("r")) BETWEEN \(range.lowerBound) AND \(range.upperBound), false)"
        }
        return conditions
    }
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
