/// Where a job is in its life.
///
/// `queued` → `running` → one of the final states; `running` → `queued` when the node that ran it was lost.
package enum JobState: String, Sendable, CaseIterable {
    case queued
    case running
    case succeeded
    case failed
    case cancelled

    /// Nothing changes any more: the job has its result.
    package var isFinal: Bool {
        switch self {
        case .queued, .running: false
        case .succeeded, .failed, .cancelled: true
        }
    }
}
