import FetchEngine
package import FetchJobs
import Synchronization

/// The figures of the jobs of a test, in memory: the second form of ``FiguresStore``.
package final class MemoryFiguresStore: FiguresStore {
    private struct Set {
        var figures = JobFigures()
        var nodes: [NodeFigures] = []
        var database = DatabaseFigures(version: "15.0", bytes: 1, connections: 1, maximumConnections: 100)
    }

    private let jobs: MemoryJobStore
    private let extra = Mutex(Set())

    package init(jobs: MemoryJobStore) { self.jobs = jobs }

    // MARK: For tests

    /// What no job tells: circuits, deliveries and questions.
    package func set(_ figures: JobFigures) { extra.withLock { $0.figures = figures } }

    package func set(_ nodes: [NodeFigures]) { extra.withLock { $0.nodes = nodes } }

    package func set(_ database: DatabaseFigures) { extra.withLock { $0.database = database } }

    // MARK: The port

    package func figures(of tenant: Tenant.ID) async throws(StoreError) -> JobFigures {
        var figures = extra.withLock { $0.figures }
        let all = jobs.state.withLock { $0.jobs.values.filter { $0.tenant == tenant } }
        for state in JobState.allCases where !state.isFinal {
            figures.current[state] = BoundedCount(Int64(all.count { $0.state == state }))
        }
        figures.oldestQueuedAt = all.filter { $0.state == .queued }.map(\.createdAt).min()
        figures.minutes = Self.periods(all, of: 60)
        figures.hours = Self.periods(all, of: 3600)
        return figures
    }

    private static func periods(_ jobs: [Job], of seconds: Int64) -> [EndedJobs] {
        var periods: [Timestamp: EndedJobs] = [:]
        for job in jobs where job.state.isFinal {
            let end = (job.finishedAt ?? .now).seconds / seconds * seconds
            let start = Timestamp(microseconds: end * 1_000_000)
            periods[start, default: EndedJobs(start: start)].jobs[job.state, default: 0] += 1
        }
        return periods.values.sorted { $0.start < $1.start }
    }

    package func sample(of tenant: Tenant.ID, withFlows: Bool) async throws(StoreError) -> [SampledJob] {
        jobs.state.withLock { state in
            let ended = state.jobs.values.filter { $0.tenant == tenant && $0.state.isFinal }.sorted { $0.id > $1.id }
            return ended.prefix(SampledJob.limit).map { job in
                let attempt = job.attempts.last
                let seconds = attempt.map { Double($0.finishedAt.microseconds - $0.startedAt.microseconds) / 1e6 }
                return SampledJob(
                    id: job.id, state: job.state, finishedAt: job.finishedAt ?? .now, duration: seconds,
                    waiting: attempt.map {
                        max(0, Double($0.startedAt.microseconds - job.createdAt.microseconds) / 1e6)
                    },
                    status: attempt?.status, errorName: attempt?.errorName,
                    host: state.specs[job.id]?.request.url.hostAndPort,
                    flow: withFlows ? state.specs[job.id]?.flow?.key : nil)
            }
        }
    }

    package func nodes() async throws(StoreError) -> [NodeFigures] { extra.withLock { $0.nodes } }

    package func database() async throws(StoreError) -> DatabaseFigures { extra.withLock { $0.database } }
}
