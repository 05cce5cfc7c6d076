import FetchJobs

/// Where a list of jobs goes on.
typealias JobCursor = Cursor<Job.Kind>

extension JobCursor {
    init(after: Job.ID, state: JobState?) { self.init(after: after, filter: state?.rawValue ?? "") }

    init(_ text: String, state: JobState?) throws(Problem) { try self.init(text, filter: state?.rawValue ?? "") }
}
