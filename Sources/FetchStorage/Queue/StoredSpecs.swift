import DequeModule
import FetchJobs
import Synchronization

/// The specs of jobs that this node has stored and that wait, so that a claim here need not read them again.
///
/// A spec is given for the very bytes that it was stored as, and once: what somebody has changed since is read. Those
/// with secrets are not kept, nor those with times, which are stored shorter than they are.
package final class StoredSpecs: Sendable {
    /// A parsed spec is larger than its text, which is kept beside it.
    private static let bytesOfSpec = 2048
    private static let lifetime = Duration.seconds(600)

    private struct Entry {
        let stored: RawJSON
        let spec: JobSpec
    }

    private struct State {
        var entries: [Job.ID: Entry] = [:]
        /// In the order in which they were stored, those that are gone included.
        var order = Deque<(id: Job.ID, at: ContinuousClock.Instant, bytes: Int)>()
        var bytes = 0
    }

    private let maximumBytes: Int
    private let state = Mutex(State())

    /// - Parameter maximumBytes: About how much memory all of them may take.
    package init(maximumBytes: Int = 16 << 20) { self.maximumBytes = maximumBytes }

    /// How many are kept.
    package var count: Int { state.withLock { $0.entries.count } }

    /// Keeps the specs of jobs that wait now.
    func note(_ submissions: some Sequence<Enqueuing.Submission>, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            for submission in submissions where submission.secrets == nil && submission.job.spec.readsBackTheSame {
                let id = submission.job.id
                state.entries[id] = Entry(stored: submission.spec, spec: submission.job.spec)
                let bytes = submission.spec.bytes.count + Self.bytesOfSpec
                state.order.append((id, now, bytes))
                state.bytes += bytes
            }
            while let first = state.order.first, state.bytes > maximumBytes || now - first.at > Self.lifetime {
                state.order.removeFirst()
                state.bytes -= first.bytes
                state.entries[first.id] = nil
            }
        }
    }

    /// The spec of a job that was claimed, when it is stored as it was; it is not kept any longer.
    func take(_ id: Job.ID, _ stored: RawJSON) -> JobSpec? {
        let entry = state.withLock { $0.entries.removeValue(forKey: id) }
        return entry.flatMap { $0.stored == stored ? $0.spec : nil }
    }
}

extension JobSpec {
    /// Whether it is what is read from ``json``, once it runs.
    fileprivate var readsBackTheSame: Bool {
        runAt == nil && delay == nil && expiresAt == nil && scheduledAt == nil && schedule == nil && !isSuspended
            && !isDiscretionary
    }
}
