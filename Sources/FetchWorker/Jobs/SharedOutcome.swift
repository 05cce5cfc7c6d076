import FetchEngine
import FetchJobs

/// The outcome of an attempt in a block of its own.
///
/// The frames of functions that wait for it have a reference, where the outcome itself has more than 300 bytes in each.
final class SharedOutcome: Sendable {
    let value: JobOutcome

    init(_ value: JobOutcome) { self.value = value }

    /// The outcome of a job that ended with an error before it was loaded, or instead of it.
    ///
    /// Not inlined, for the same frames.
    @inline(never)
    convenience init(failing error: LoadError, startedAt start: Timestamp) {
        self.init(JobOutcome(failing: error, startedAt: start))
    }
}
