import FetchJobs

/// Where a list of jobs goes on.
typealias JobCursor = Cursor<Job.Kind>

extension JobCursor {
    init(after: Job.ID, filter: JobFilter) { self.init(after: after, filter: filter.word) }

    init(_ text: String, filter: JobFilter) throws(Problem) { try self.init(text, filter: filter.word) }
}
