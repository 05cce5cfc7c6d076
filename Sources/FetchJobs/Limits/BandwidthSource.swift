package import FetchEngine

/// The bandwidth that jobs share: one port for every kind of runner.
package protocol BandwidthSource: Sendable {
    /// The bandwidths of a job on this node now: those that are set for its limiters, for its tenant, and for all jobs.
    ///
    /// Quick, for it is asked before each piece of a body.
    func bandwidths(of job: ClaimedJob) -> [Bandwidth]
}

extension Bandwidth {
    /// How many bytes a second may be set for something.
    package static let settable: ClosedRange<Int64> = 1024...(1 << 40)
}
