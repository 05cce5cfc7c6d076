/// The jobs that ended within one minute or one hour of the clock.
package struct EndedJobs: Sendable, Equatable {
    package let start: Timestamp
    /// By the state that they ended in.
    package var jobs: [JobState: Int64] = [:]
    /// Of the bodies of their responses.
    package var bodyBytes: Int64 = 0

    package init(start: Timestamp) { self.start = start }

    package var count: Int64 { jobs.values.reduce(0, +) }
}
