package import FetchJobs

/// The places up to which this node has claimed the jobs of each tenant and rank.
///
/// Before such a place no job waits, except jobs that came late, for example when they were given back. The database
/// keeps the index entries of removed jobs while any old snapshot is open, and a scan from the head reads all of them
/// (R41). Most scans skip these ranges; ``FullScanBudget`` says when one may not.
package struct ClaimCursor: Sendable {
    /// The last job that was taken.
    package struct End: Sendable, Equatable {
        package let tenant: Tenant.ID
        package let rank: Int16
        package let runAt: Timestamp
        package let job: Job.ID

        package init(tenant: Tenant.ID, rank: Int16, runAt: Timestamp, job: Job.ID) {
            self.tenant = tenant
            self.rank = rank
            self.runAt = runAt
            self.job = job
        }
    }

    /// Each costs a look a step of its own.
    package static let maximumCount = 32

    /// The ends, with the one used last at the end.
    package private(set) var ends: [End] = []

    package init() {}

    package mutating func take(_ end: End) {
        guard let index = ends.lastIndex(where: { $0.tenant == end.tenant && $0.rank == end.rank }) else {
            if ends.count == Self.maximumCount { ends.removeFirst() }
            return ends.append(end)
        }
        let known = ends.remove(at: index)
        // One that came late is no end.
        ends.append(known.runAt > end.runAt ? known : end)
    }

    /// Steps over no job of this time or a later one.
    package mutating func moveBack(to time: Timestamp) {
        let before = Timestamp(microseconds: time.microseconds - 1)
        ends = ends.map { end in
            end.runAt < time ? end : End(tenant: end.tenant, rank: end.rank, runAt: before, job: end.job)
        }
    }
}
