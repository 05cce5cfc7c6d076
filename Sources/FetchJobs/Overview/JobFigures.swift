/// How the jobs of a tenant stand now, and how they went in the last day.
package struct JobFigures: Sendable {
    /// The jobs that are not final, by state.
    package var current: [JobState: BoundedCount] = [:]
    /// Since when the first of those waits that are ready and at no gate of a limiter.
    package var oldestQueuedAt: Timestamp?
    /// Those of the last hour that have jobs, the earliest first.
    package var minutes: [EndedJobs] = []
    /// Those of the last 24 hours that have jobs, the earliest first.
    package var hours: [EndedJobs] = []
    /// Webhook messages on their way.
    package var pendingDeliveries: BoundedCount = 0
    /// Webhook messages of the last 24 hours that were given up.
    package var abandonedDeliveries: BoundedCount = 0
    package var openQuestions: BoundedCount = 0
    /// The hosts whose origins asked for patience, those that wait longest first; up to ``maximumCircuits``.
    package var openCircuits: [Limiter] = []

    package static let maximumCircuits = 20

    package init() {}
}

/// A job that has ended, as far as figures need it.
package struct SampledJob: Sendable, Equatable {
    /// The number of jobs in a sample.
    package static let limit = 2000

    package let id: Job.ID
    package let state: JobState
    package let finishedAt: Timestamp
    /// From its last start to its end, in seconds; nil when it never started.
    package let duration: Double?
    /// From its submission to its last start, in seconds.
    package let waiting: Double?
    /// Of the last response.
    package let status: Int?
    package let errorName: String?
    /// Nil when its URL has none.
    package let host: String?
    /// The key of its flow; nil for none, and in a sample without flows.
    package let flow: String?

    package init(
        id: Job.ID, state: JobState, finishedAt: Timestamp, duration: Double?, waiting: Double?, status: Int?,
        errorName: String?, host: String?, flow: String? = nil
    ) {
        self.id = id
        self.state = state
        self.finishedAt = finishedAt
        self.duration = duration
        self.waiting = waiting
        self.status = status
        self.errorName = errorName
        self.host = host
        self.flow = flow
    }
}

/// A node, as its lease tells of it.
package struct NodeFigures: Sendable, Equatable {
    package let id: Node.ID
    package let startedAt: Timestamp
    package let leaseUntil: Timestamp
    /// Where other nodes reach it; nil when they cannot.
    package let url: String?
    package let roles: Set<NodeRole>
    /// The jobs of all tenants that it has.
    package let jobs: BoundedCount

    package init(
        id: Node.ID, startedAt: Timestamp, leaseUntil: Timestamp, url: String?,
        roles: Set<NodeRole> = Set(NodeRole.allCases), jobs: BoundedCount
    ) {
        self.id = id
        self.startedAt = startedAt
        self.leaseUntil = leaseUntil
        self.url = url
        self.roles = roles
        self.jobs = jobs
    }
}

/// The database, as operators see it.
package struct DatabaseFigures: Sendable {
    package struct Migration: Sendable {
        package let name: String
        package let appliedAt: Timestamp

        package init(name: String, appliedAt: Timestamp) {
            self.name = name
            self.appliedAt = appliedAt
        }
    }

    package struct Table: Sendable {
        package let name: String
        /// With its indices and what lies beside it.
        package let bytes: Int64
        /// As the planner estimates them.
        package let rows: Int64

        package init(name: String, bytes: Int64, rows: Int64) {
            self.name = name
            self.bytes = bytes
            self.rows = rows
        }
    }

    package let version: String
    package let bytes: Int64
    package let connections: Int64
    package let maximumConnections: Int64
    /// In the order of their names, which is that of their application.
    package var migrations: [Migration] = []
    /// The largest first; partitions are counted with their table.
    package var tables: [Table] = []

    package init(version: String, bytes: Int64, connections: Int64, maximumConnections: Int64) {
        self.version = version
        self.bytes = bytes
        self.connections = connections
        self.maximumConnections = maximumConnections
    }
}
