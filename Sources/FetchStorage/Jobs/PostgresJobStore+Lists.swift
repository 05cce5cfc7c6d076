package import FetchJobs
import Postgres

extension PostgresJobStore {
    package func jobs(
        of tenant: Tenant.ID,
        matching filter: JobFilter,
        page: JobPage
    ) async throws(StoreError) -> JobList {
        let query = Self.summaries(of: tenant, part(of: tenant, filter, page), client.isSharded)
        return try await StoreError.wrap {
            var found: [JobSummary] = []
            var end: Job.ID?
            for row in try await database(of: tenant, for: filter).query(query) {
                if try row.decode(Bool.self, at: 8) {
                    end = try row.decode(at: 0)
                } else {
                    found.append(try JobSummary(row: row))
                }
            }
            return JobList(found, of: page, end: end)
        }
    }

    package func count(
        of tenant: Tenant.ID, matching filter: JobFilter, limit: Int
    ) async throws(StoreError) -> JobCount {
        let page = JobPage(limit: limit)
        let (condition, most): (Query, Int) =
            looksAtJobs(filter, of: tenant) ? ("job.matches", min(limit, JobList.maximumLooks)) : ("true", limit)
        return try await StoreError.wrap {
            let rows = try await database(of: tenant, for: filter).query(
                """
                -- jobs.count
                SELECT count(*) FILTER (WHERE \(condition)), count(*)
                FROM (\(source(of: tenant, filter, page)) LIMIT \(most)) AS job
                """
            )
            let number = Int(try rows.first?.decode(Int64.self, at: 0) ?? 0)
            return JobCount(number, isWhole: try rows.first?.decode(Int64.self, at: 1) ?? 0 < Int64(most))
        }
    }

    /// Under row-level security no index finds labels: `@>` is not leakproof.
    ///
    /// Each label begins with its tenant.
    private func database(of tenant: Tenant.ID, for filter: JobFilter) -> any QueryRunner {
        filter.labels.isEmpty ? client.ofJobs(of: tenant) : client
    }

    /// Whether jobs are looked at one by one: a list looks at a bounded number.
    private func looksAtJobs(_ filter: JobFilter, of tenant: Tenant.ID) -> Bool {
        !filter.isPlain && JobFilterMembers(filter, tenant).looksAtJobs
    }

    private func source(of tenant: Tenant.ID, _ filter: JobFilter, _ page: JobPage) -> Query {
        filter.isPlain
            ? Self.list(of: tenant, state: filter.state, page)
            : Self.search(of: tenant, filter, page, client.isSharded)
    }

    /// The jobs nearest to where the page before ended, walking one index from there.
    private static func list(of tenant: Tenant.ID, state: JobState?, _ page: JobPage) -> Query {
        let (place, order) = (page.place.condition(on: "job_id"), page.place.order)
        return switch state {
        case nil:
            """
            SELECT id AS job_id
            FROM jobs
            WHERE tenant_id = \(tenant) AND \(page.place.condition(on: "id"))
            ORDER BY id \(order)
            """
        case .scheduled:
            """
            SELECT job_id
            FROM queue
            WHERE tenant_id = \(tenant) AND \(place) AND scheduled AND NOT suspended
                AND question_id IS NULL
            ORDER BY job_id \(order)
            """
        case .queued:
            """
            SELECT job_id
            FROM queue
            WHERE tenant_id = \(tenant) AND \(place) AND node_id IS NULL AND NOT scheduled AND NOT suspended
                AND question_id IS NULL
            ORDER BY job_id \(order)
            """
        case .running:
            """
            SELECT job_id
            FROM queue
            WHERE tenant_id = \(tenant) AND \(place) AND node_id IS NOT NULL AND NOT suspended
                AND question_id IS NULL
            ORDER BY job_id \(order)
            """
        case .awaitingDecision:
            """
            SELECT job_id
            FROM queue
            WHERE tenant_id = \(tenant) AND \(place) AND question_id IS NOT NULL AND NOT suspended
            ORDER BY job_id \(order)
            """
        case .suspended:
            """
            SELECT job_id
            FROM queue
            WHERE tenant_id = \(tenant) AND \(place) AND suspended
            ORDER BY job_id \(order)
            """
        case .succeeded:
            """
            SELECT job_id
            FROM results
            WHERE tenant_id = \(tenant) AND \(place) AND state = 'succeeded'
            ORDER BY job_id \(order)
            """
        case .failed, .cancelled:
            """
            SELECT job_id
            FROM results
            WHERE tenant_id = \(tenant) AND \(place) AND state <> 'succeeded' AND state = \(state ?? .failed)
            ORDER BY job_id \(order)
            """
        }
    }

    /// The jobs of a page, with one more that tells that the list goes on.
    private func part(of tenant: Tenant.ID, _ filter: JobFilter, _ page: JobPage) -> Query {
        let (source, size) = (source(of: tenant, filter, page), page.limit + 1)
        guard looksAtJobs(filter, of: tenant) else {
            return "page AS MATERIALIZED (SELECT job_id, false AS is_end FROM (\(source) LIMIT \(size)) AS job)"
        }
        // Rows of "seen" are made when they are asked for, in order: one page full is the last that is looked at.
        // The last row of all that a page looks at is its end, where the page has room left.
        return """
            seen AS MATERIALIZED (\(source) LIMIT \(JobList.maximumLooks)),
            found AS MATERIALIZED (SELECT job_id FROM seen WHERE matches LIMIT \(size)),
            page AS MATERIALIZED (
                SELECT job_id, false AS is_end FROM found
                UNION ALL
                (
                    SELECT job_id, true FROM seen
                    WHERE (SELECT count(*) FROM found) < \(size)
                    OFFSET \(JobList.maximumLooks - 1)
                )
            )
            """
    }

    /// The jobs of a page, as lists show them.
    private static func summaries(of tenant: Tenant.ID, _ page: Query, _ isSharded: Bool) -> Query {
        // From a server of its own, the rows of the queue come before those of jobs are read.
        let waiting: Query =
            isSharded
            ? """
            , held AS MATERIALIZED (
                SELECT q.*
                FROM page
                JOIN queue q ON q.tenant_id = \(tenant) AND q.job_id = page.job_id
            )
            """ : ""
        return """
            -- jobs.list
            WITH \(page)\(waiting)
            SELECT j.id, \(Query.jobState), j.created_at, r.finished_at,
                j.spec #>> '{request,method}', j.spec #>> '{request,url}', r.status, r.error_name, page.is_end
            FROM page
            JOIN jobs j ON j.tenant_id = \(tenant) AND j.id = page.job_id
            LEFT JOIN \(isSharded ? "held" as Query : "queue") q ON q.tenant_id = j.tenant_id AND q.job_id = j.id
            LEFT JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
            ORDER BY j.id DESC
            """
    }
}

extension JobPage.Place {
    /// Where a page lies, as a condition on the column of ids.
    func condition(on column: Query) -> Query {
        switch self {
        case .start: "\(column) < \(Job.ID(UUIDv7(high: .max, low: .max)))"
        case .after(let id): "\(column) < \(id)"
        case .before(let id): "\(column) > \(id)"
        }
    }

    /// The order in which its jobs are found: those nearest to its place first.
    var order: Query { if case .before = self { "ASC" } else { "DESC" } }
}

extension JobSummary {
    fileprivate init(row: Row) throws {
        let url = try row.decode(String?.self, at: 5) ?? ""
        self.init(
            id: try row.decode(at: 0),
            state: try row.decode(at: 1),
            createdAt: try row.decode(at: 2),
            finishedAt: try row.decode(at: 3),
            method: try row.decode(String?.self, at: 4) ?? "GET",
            url: String(url.prefix { $0 != "?" && $0 != "#" }),
            status: try row.decode(Int16?.self, at: 6).map { Int($0) },
            errorName: try row.decode(at: 7)
        )
    }
}
