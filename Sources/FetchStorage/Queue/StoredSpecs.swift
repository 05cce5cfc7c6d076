import DequeModule
import FetchJobs
import Synchronization

/// The specs of jobs that this node has stored and that wait, so that a claim here need not read them again.
///
/// A spec is given for the very bytes that it was stored as, and once: what somebody has changed since is read. Those
/// with secrets are not kept, nor those with times, which are stored shorter than they are. When there is no room, those
/// that are kept stay: they have waited longest, and most jobs are claimed in the order in which they came.
package final class StoredSpecs: Sendable {
    /// A parsed spec is larger than its text, which is kept beside it.
    private static let bytesOfSpec = 2048
    /// Jobs that others have claimed, or that wait for longer, leave room for those that come.
    private static let lifetime = Duration.seconds(60)

    private struct Entry {
        let stored: RawJSON
        let job: NewJob

        var bytes: Int { stored.bytes.count + bytesOfSpec }
    }

    private struct State {
        var entries: [Job.ID: Entry] = [:]
        /// In the order in which they were stored, some of those that are gone included.
        var order = Deque<(id: Job.ID, at: ContinuousClock.Instant)>()
        var bytes = 0

        mutating func keep(_ entry: Entry, at now: ContinuousClock.Instant) {
            _ = remove(entry.job.id)
            entries[entry.job.id] = entry
            order.append((entry.job.id, now))
            bytes += entry.bytes
        }

        mutating func remove(_ id: Job.ID) -> Entry? {
            let entry = entries.removeValue(forKey: id)
            bytes -= entry?.bytes ?? 0
            return entry
        }

        mutating func dropOld(at now: ContinuousClock.Instant) {
            while let first = order.first, now - first.at > lifetime {
                _ = remove(first.id)
                order.removeFirst()
            }
            if order.count > 2 * entries.count + 1000 { order.removeAll { entries[$0.id] == nil } }
        }
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
            state.dropOld(at: now)
            for submission in submissions where submission.secrets == nil && submission.job.spec.readsBackTheSame {
                guard state.bytes < maximumBytes else { return }
                state.keep(Entry(stored: submission.spec, job: submission.job), at: now)
            }
        }
    }

    /// The spec of a job that was claimed, when it is stored as it was; it is not kept any longer.
    func take(_ id: Job.ID, _ stored: RawJSON) -> JobSpec? {
        let entry = state.withLock { $0.remove(id) }
        return entry.flatMap { $0.stored == stored ? $0.job.spec : nil }
    }
}

extension JobSpec {
    /// Whether it is what is read from ``json``, once it runs.
    fileprivate var readsBackTheSame: Bool {
        runAt == nil && delay == nil && expiresAt == nil && scheduledAt == nil && schedule == nil && !isSuspended
            && !isDiscretionary
    }
}
