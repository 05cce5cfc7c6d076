/// A page of a list of jobs, the newest first.
///
/// A filter of more than one index has is looked for in jobs one by one, and may find less than a page holds, or nothing,
/// in as many as one page looks at. The list has ended only when ``rest`` is nil.
package struct JobList: Sendable, RandomAccessCollection {
    package let jobs: [JobSummary]
    /// The job behind which the list goes on, in the direction of the page; nil at the end of the list.
    package let rest: Job.ID?

    /// How many jobs a page looks at one by one.
    package static let maximumLooks = 2000

    /// - Parameters:
    ///   - found: What the page may have, the newest first; one more than it holds tells that the list goes on.
    ///   - end: The last job that was looked at, when that was not the last of the list.
    package init(_ found: [JobSummary], of page: JobPage, end: Job.ID? = nil) {
        jobs = page.cut(found)
        let isCut = found.count > page.limit
        rest = isCut ? page.place.isBackward ? jobs.first?.id : jobs.last?.id : end
    }

    package var startIndex: Int { jobs.startIndex }
    package var endIndex: Int { jobs.endIndex }
    package subscript(position: Int) -> JobSummary { jobs[position] }
}

/// How many jobs match a filter.
package struct JobCount: Sendable, Equatable {
    package let number: Int
    /// Whether all jobs were counted; else there may be more.
    package let isWhole: Bool

    package init(_ number: Int, isWhole: Bool) {
        self.number = number
        self.isWhole = isWhole
    }
}
