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
    /// How far its transfer is; nil when it does not run here.
    let progress: ProgressText?

    init(_ job: JobSummary, progress: JobProgress? = nil, view: DashboardView, now: Timestamp) {
        href = view.job(job.id)
        id = job.id.description
        state = job.state.rawValue
        method = job.method
        url = job.url
        result = job.errorName ?? job.status.map { String($0) } ?? ""
        createdAt = job.createdAt.description
        age = Age.text(since: job.createdAt, now: now)
        self.progress = progress.map(ProgressText.init)
    }
}

/// How far a transfer is, for people.
struct ProgressText {
    let received: String
    /// Of all, the bytes that are here and those that there will be; nil when nobody knows.
    let part: Part?
    let speed: String

    struct Part {
        let bytes: Int64
        let of: Int64
        let total: String
    }

    init(_ progress: JobProgress) {
        received = Figure.bytes(progress.bytesReceived)
        part = progress.bytesExpectedToReceive.map {
            Part(bytes: progress.bytesReceived, of: max($0, 1), total: Figure.bytes($0))
        }
        speed = Figure.bytesPerSecond(progress.bytesPerSecond)
    }
}

extension JobRow: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "href": href
        case "id": id
        case "state": state
        case "method": method
        case "url": url
        case "result": result
        case "createdAt": createdAt
        case "age": age
        case "progress": Shown.of(progress)
        default: nil
        }
    }
}

extension ProgressText: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "received": received
        case "part": Shown.of(part)
        case "speed": speed
        default: nil
        }
    }
}

extension ProgressText.Part: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "bytes": bytes
        case "of": of
        case "total": total
        default: nil
        }
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
