/// Where a job is in its life.
///
/// `scheduled` → `queued` → `running` → one of the final states; `running` → `scheduled` when another attempt follows,
/// and → `queued` when the node that ran it was lost. One that runs is `awaitingDecision` while its delegate is asked.
/// A job that is not final can be `suspended` and resumed.
package enum JobState: String, Sendable, CaseIterable {
    /// Waits for its time: `runAt`, or that of its next attempt.
    case scheduled
    case queued
    case running
    /// A load waits for an answer of its delegate.
    case awaitingDecision
    /// Held by its client.
    case suspended
    case succeeded
    case failed
    case cancelled

    /// Nothing changes any more: the job has its result.
    package var isFinal: Bool {
        switch self {
        case .scheduled, .queued, .running, .awaitingDecision, .suspended: false
        case .succeeded, .failed, .cancelled: true
        }
    }
}
