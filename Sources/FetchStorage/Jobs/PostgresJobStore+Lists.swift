package import FetchJobs
import Postgres

extension PostgresJobStore {
    package func jobs(
        of tenant: Tenant.ID,
        matching filter: JobFilter,
        page: JobPage
    ) async throws(StoreError) -> [JobSummary] {
        let query = Self.summaries(of: tenant, Self.source(of: tenant, filter, page), page)
        return try await StoreError.wrap {
            try await database(of: tenant, for: filter).query(query).map { try JobSummary(row: $0) }
        }
    }

    package func count(of tenant: Tenant.ID, matching filter: JobFilter, limit: Int) async throws(StoreError) -> Int {
        let page = JobPage(limit: limit)
        return try await StoreError.wrap {
            let rows = try await database(of: tenant, for: filter).query(
                """
                -- jobs.count
                SELECT count(*) FROM (\(Self.source(of: tenant, filter, page)) LIMIT \(limit)) AS job
                """
            )
            return Int(try rows.first?.decode(Int64.self, at: 0) ?? 0)
        }
    }

    /// Under row-level security no index finds labels: `@>` is not leakproof.
    ///
    /// Each label begins with its tenant.
    private func database(of tenant: Tenant.ID, for filter: JobFilter) -> any QueryRunner {
        filter.labels.isEmpty ? client.of(tenant) : client
    }

    private static func source(of tenant: Tenant.ID, _ filter: JobFilter, _ page: JobPage) -> Query {
        filter.isPlain ? list(of: tenant, state: filter.state, page) : search(of: tenant, filter, page)
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

    /// The jobs that a query gives, as lists show them.
    static func summaries(of tenant: Tenant.ID, _ source: Query, _ page: JobPage) -> Query {
        """
        -- jobs.list
        WITH page AS MATERIALIZED (\(source) LIMIT \(page.limit))
        SELECT j.id, \(Query.jobState), j.created_at, r.finished_at,
            j.spec #>> '{request,method}', j.spec #>> '{request,url}', r.status, r.error_name
        FROM page
        JOIN jobs j ON j.tenant_id = \(tenant) AND j.id = page.job_id
        LEFT JOIN queue q ON q.tenant_id = j.tenant_id AND q.job_id = j.id
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
