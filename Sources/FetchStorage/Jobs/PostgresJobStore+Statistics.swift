package import FetchJobs
import Postgres

// Ends are counted by the minute when they are settled, so counts are cheap however many jobs there are. What is not
// final is counted up to a bound, as in overviews. Times are those of a sample of bounded size: the jobs submitted last.

extension PostgresJobStore: StatisticsStore {
    private static let maximumHosts = 100

    package func statistics(of tenant: Tenant.ID, since time: Timestamp) async throws(StoreError) -> JobStatistics {
        try await StoreError.wrap {
            var statistics = JobStatistics(from: time, to: .now)
            var figures = JobFigures()
            if let row = try await client.of(tenant).query(PostgresFiguresStore.current(of: tenant)).first {
                try figures.take(current: row)
            }
            statistics.current = figures.current.mapValues(\.value).filter { $0.value > 0 }
            statistics.hours = try EndedJobs.read(
                try await client.of(tenant).query(Self.ended(of: tenant, since: time)))
            for row in try await client.ofJobs(of: tenant).query(Self.sample(of: tenant, since: time)) {
                try statistics.take(row, maximumHosts: Self.maximumHosts)
            }
            return statistics
        }
    }

    private static func ended(of tenant: Tenant.ID, since time: Timestamp) -> Query {
        """
        -- jobs.endedByHour
        SELECT date_trunc('hour', minute, 'UTC') AS hour, state, sum(jobs)::bigint, sum(body_bytes)::bigint
        FROM job_counts
        WHERE tenant_id = \(tenant) AND minute >= \(time)
        GROUP BY hour, state
        ORDER BY hour DESC
        """
    }

    private static func sample(of tenant: Tenant.ID, since time: Timestamp) -> Query {
        """
        -- jobs.sample
        WITH sample AS MATERIALIZED (
            SELECT r.state, date_trunc('hour', r.finished_at, 'UTC') AS hour, j.host,
                (r.status / 100)::int AS status_class,
                extract(epoch FROM r.finished_at - r.started_at)::float8 AS duration,
                greatest(extract(epoch FROM r.started_at - j.created_at), 0)::float8 AS waiting
            FROM (
                SELECT job_id, state, status, started_at, finished_at
                FROM results
                WHERE tenant_id = \(tenant) AND job_id >= \(Job.ID(earliestAt: time))
                ORDER BY job_id DESC
                LIMIT \(JobStatistics.sampleLimit)
            ) r
            JOIN jobs j ON j.tenant_id = \(tenant) AND j.id = r.job_id
        )
        SELECT grouping(state, hour, host, status_class), state, hour, host, count(*), count(*) FILTER (WHERE state <> 'succeeded'),
            percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY duration),
            percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY waiting), status_class
        FROM sample
        GROUP BY GROUPING SETS ((), (state), (hour), (host), (status_class))
        ORDER BY count(*) DESC, host
        """
    }
}

extension JobStatistics {
    /// Takes one group: the bits of its first column tell by which column it is grouped.
    fileprivate mutating func take(_ row: Row, maximumHosts: Int) throws {
        let group = Group(
            jobs: try row.decode(at: 4), unsuccessful: try row.decode(at: 5),
            duration: try Percentiles(try row.decode([Double]?.self, at: 6)),
            waiting: try Percentiles(try row.decode([Double]?.self, at: 7)))
        switch try row.decode(Int32.self, at: 0) {
        case 0b1111: sample = group
        case 0b0111: sampleByState[try row.decode(at: 1)] = group
        case 0b1011: sampleByHour[try row.decode(at: 2)] = group
        case 0b1110:
            // Those without a response have none.
            if let number = try row.decode(Int32?.self, at: 8) { sampleByStatusClass[Int(number)] = group }
        default:
            guard let host = try row.decode(String?.self, at: 3), sampleByHost.count < maximumHosts else { return }
            sampleByHost.append((host, group))
        }
    }
}

extension JobStatistics.Percentiles {
    fileprivate init?(_ values: [Double]?) throws {
        guard let values, values.count == 3 else { return nil }
        self.init(p50: values[0], p90: values[1], p99: values[2])
    }
}
