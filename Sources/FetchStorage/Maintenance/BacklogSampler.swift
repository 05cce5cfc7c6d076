import FetchJobs
package import FetchRuntime
package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

/// Counts for the metrics what waits in the database: jobs by state, deliveries, questions, and stored bytes.
///
/// It looks now and then, and at ``limit`` rows of each kind at most, so that it costs the same however much there is.
package final class BacklogSampler: Service {
    /// The most that is counted; more counts as this.
    package static let limit = 100_000
    private static let interval = Duration.seconds(15)
    /// What was seen so long ago is not shown: nobody knows.
    private static let lifetime = Duration.seconds(120)

    /// What waits in the database.
    struct Sample: Sendable {
        var jobs: [JobState: Int64] = [:]
        var ages: [JobState: Duration] = [:]
        var deliveries: Int64 = 0
        var oldestDelivery: Duration?
        var openQuestions: Int64 = 0
        var blobBytes: Double = 0
    }

    private let client: Client
    private let logger: Logger
    private let last = Mutex<(sample: Sample, at: ContinuousClock.Instant)?>(nil)

    package init(client: Client, metrics: MetricsRegistry, logger: Logger) {
        self.client = client
        self.logger = logger
        metrics.observeAll(.queueJobs) { [weak self] in
            Self.observations(self?.known?.jobs.mapValues { Double($0) })
        }
        metrics.observeAll(.queueOldestAge) { [weak self] in
            Self.observations(self?.known?.ages.mapValues { $0 / .seconds(1) })
        }
        metrics.observe(.webhookBacklog) { [weak self] in self?.known.map { Double($0.deliveries) } }
        metrics.observe(.webhookOldestDueAge) { [weak self] in
            self?.known.map { ($0.oldestDelivery ?? .zero) / .seconds(1) }
        }
        metrics.observe(.questionsOpen) { [weak self] in self?.known.map { Double($0.openQuestions) } }
        metrics.observe(.blobStoreBytes) { [weak self] in self?.known?.blobBytes }
    }

    private var known: Sample? {
        last.withLock { last in last.flatMap { ContinuousClock.now - $0.at < Self.lifetime ? $0.sample : nil } }
    }

    private static func observations(_ values: [JobState: Double]?) -> [MetricsRegistry.Observation] {
        (values ?? [:]).sorted { $0.key.rawValue < $1.key.rawValue }
            .map { MetricsRegistry.Observation(labels: [$0.key.rawValue], value: $0.value) }
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.look()
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Looks once.
    package func look() async {
        do throws(StoreError) {
            let sample = try await sample()
            last.withLock { $0 = (sample, .now) }
        } catch {
            // What was seen last is shown for a while.
            logger.debug("the backlog was not counted", metadata: ["error": "\(error)"])
        }
    }

    private func sample() async throws(StoreError) -> Sample {
        try await StoreError.wrap {
            var sample = try await jobs()
            try await addMessages(to: &sample)
            sample.blobBytes = try await blobBytes()
            return sample
        }
    }

    private func jobs() async throws -> Sample {
        let limit = Int64(Self.limit)
        let rows = try await client.query(
            """
            -- backlog.jobs
            WITH held AS MATERIALIZED (
                SELECT suspended, question_id FROM queue WHERE scheduled OR suspended LIMIT \(limit)
            ), active AS MATERIALIZED (
                SELECT suspended, question_id, claimed_at FROM queue WHERE node_id IS NOT NULL LIMIT \(limit)
            ), waiting AS (
                SELECT FROM queue
                WHERE node_id IS NULL AND NOT scheduled AND NOT suspended AND gate IS NULL
                LIMIT \(limit)
            ), gated AS (
                (SELECT FROM queue WHERE gate = 'flow' AND NOT suspended LIMIT \(limit))
                UNION ALL
                (SELECT FROM queue WHERE gate = 'host' AND NOT suspended LIMIT \(limit))
            ), asking AS (
                SELECT suspended FROM queue WHERE question_id IS NOT NULL LIMIT \(limit)
            ), due AS (
                SELECT run_at, suspended, question_id FROM queue WHERE scheduled ORDER BY run_at LIMIT 1000
            )
            SELECT
                least(\(limit), (SELECT count(*) FROM waiting) + (SELECT count(*) FROM gated)),
                (SELECT count(*) FROM held WHERE NOT suspended AND question_id IS NULL),
                (SELECT count(*) FROM held WHERE suspended),
                (SELECT count(*) FROM active WHERE NOT suspended AND question_id IS NULL),
                (SELECT count(*) FROM asking WHERE NOT suspended),
                (SELECT greatest(now() - min(run_at), interval '0') FROM due WHERE NOT suspended AND question_id IS NULL),
                (SELECT now() - min(claimed_at) FROM active WHERE NOT suspended AND question_id IS NULL)
            """
        )
        guard let row = rows.first else { return Sample() }
        var sample = Sample()
        for (column, state) in [JobState.queued, .scheduled, .suspended, .running, .awaitingDecision].enumerated() {
            sample.jobs[state] = try row.decode(Int64.self, at: column)
        }
        sample.ages[.scheduled] = try row.decode(Duration?.self, at: 5) ?? .zero
        sample.ages[.running] = try row.decode(Duration?.self, at: 6) ?? .zero
        return sample
    }

    private func addMessages(to sample: inout Sample) async throws {
        let limit = Int64(Self.limit)
        let rows = try await client.query(
            """
            -- backlog.messages
            WITH pending AS MATERIALIZED (
                SELECT next_attempt_at FROM webhook_deliveries
                WHERE state = 'pending'
                ORDER BY next_attempt_at
                LIMIT \(limit)
            ), open AS (
                SELECT FROM questions WHERE state = 'open' LIMIT \(limit)
            )
            SELECT
                (SELECT count(*) FROM pending),
                (SELECT greatest(now() - min(next_attempt_at), interval '0') FROM pending),
                (SELECT count(*) FROM open)
            """
        )
        guard let row = rows.first else { return }
        sample.deliveries = try row.decode(at: 0)
        sample.oldestDelivery = try row.decode(at: 1)
        sample.openQuestions = try row.decode(at: 2)
    }

    /// The bytes of all blobs, or what they would be if all were like the first.
    private func blobBytes() async throws -> Double {
        let rows = try await client.query(
            """
            -- backlog.blobs
            WITH first AS MATERIALIZED (SELECT bytes FROM blobs LIMIT \(Int64(Self.limit)))
            SELECT
                (SELECT count(*) FROM first), (SELECT coalesce(sum(bytes), 0)::bigint FROM first),
                (SELECT reltuples::bigint FROM pg_class WHERE oid = 'blobs'::regclass)
            """
        )
        guard let row = rows.first else { return 0 }
        let (count, bytes): (Int64, Int64) = (try row.decode(at: 0), try row.decode(at: 1))
        guard count >= Self.limit else { return Double(bytes) }
        return Double(bytes) / Double(count) * Double(max(count, try row.decode(Int64.self, at: 2)))
    }
}
