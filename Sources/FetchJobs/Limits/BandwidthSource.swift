package import FetchEngine

/// The bandwidth that jobs share: one port for every kind of runner.
package protocol BandwidthSource: Sendable {
    /// What bounds a job on this node now: its limiters', its tenant's, and that of all jobs, as far as they are set.
    ///
    /// Quick, for it is asked before each piece of a body.
    func bandwidths(of job: ClaimedJob) -> [Bandwidth]
}

extension Bandwidth {
    /// How many bytes a second may be set for something.
    package static let settable: ClosedRange<Int64> = 1024...(1 << 40)
}
