import FetchJobs

/// One line in a list of jobs.
struct JobRow {
    let href: String
    let id: String
    let state: String
    let method: String
    let url: String
    /// The status of the response or the name of the error.
    let result: String
    let createdAt: String
    let age: String

    init(_ job: JobSummary, now: Timestamp) {
        href = "/dashboard/jobs/\(job.id)"
        id = job.id.description
        state = job.state.rawValue
        method = job.method
        url = job.url
        result = job.errorName ?? job.status.map { String($0) } ?? ""
        createdAt = job.createdAt.description
        age = Age.text(since: job.createdAt, now: now)
    }
}

/// Time that has passed, for people.
enum Age {
    static func text(since time: Timestamp, now: Timestamp) -> String {
        let seconds = max(0, now.seconds - time.seconds)
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
