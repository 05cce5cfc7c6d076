/// The priority and the bandwidth of a job, which can be changed while it runs.
package struct JobPace: Sendable, Equatable {
    /// From 0 to 1.
    package let priority: Double
    /// Nil for the value of its session.
    package let maximumBytesPerSecond: Int64?

    package init(priority: Double, maximumBytesPerSecond: Int64?) {
        self.priority = priority
        self.maximumBytesPerSecond = maximumBytesPerSecond
    }
}

extension JobSpec {
    package var pace: JobPace {
        JobPace(priority: priority, maximumBytesPerSecond: configuration.connections.maximumBytesPerSecond)
    }
}
