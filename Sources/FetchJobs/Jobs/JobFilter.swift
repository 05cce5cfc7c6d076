import FetchEngine
import HTTPTypes

/// A set of jobs: those that match every member that is set.
package struct JobFilter: Sendable, Equatable {
    package var state: JobState?
    /// Any of them; nil for every state.
    ///
    /// The API's filters cannot say it.
    package var states: Set<JobState>?
    package var kind: JobSpec.Kind?
    /// ``TenantSession/ID/default`` for jobs that name none.
    package var session: TenantSession.ID?
    package var schedule: Schedule.ID?
    package var group: JobGroup.ID?
    /// Of the request's URL, as that spells it: with its port where that is not the scheme's own.
    package var host: String?
    /// All of them, with these values.
    package var labels: [JobSpec.Label] = []
    /// The name of the error that the job ended with.
    package var error: String?
    /// The status of the last response of the job, in any final state.
    package var status: StatusFilter?
    package var method: String?
    /// The URL of the request, whole.
    package var url: URLFilter?
    /// How the URL of the request begins.
    package var prefix: URLFilter?
    /// Of the body that is kept of the response.
    package var bodyBytes: BodySizeFilter?
    package var createdAfter: Timestamp?
    package var createdBefore: Timestamp?

    package init(state: JobState? = nil) { self.state = state }

    /// It asks for a state at most.
    package var isPlain: Bool { self == JobFilter(state: state) }

    package static let memberNames: Set = [
        "state", "kind", "session", "schedule", "group", "host", "label", "labels", "error", "status", "method", "url",
        "prefix", "bodyBytes", "createdAfter", "createdBefore",
    ]

    package init?(reader: JSONReader) {
        guard let object = reader.object(of: Self.memberNames) else { return nil }
        state = object["state"]?.oneOf(JobState.self)
        kind = object["kind"]?.oneOf(JobSpec.Kind.self)
        session = object["session"]?.read(upTo: 64, "is not the id of a session (ses_…) and not \"default\"") {
            TenantSession.ID(naming: $0)
        }
        schedule = object["schedule"]?.identifier("a schedule (sch_…)")
        group = object["group"]?.identifier("a group (grp_…)")
        host = object["host"]?.string(maximumLength: 253)
        labels = JobSpec.Label.ofFilter(object)
        error = object["error"]?.string(maximumLength: 64)
        status = object["status"]?.read(upTo: 3, StatusFilter.rule) { StatusFilter($0) }
        method = object["method"]?.string(maximumLength: 32)
        url = object["url"]?.read(upTo: URLFilter.maximumLength, URLFilter.rule) { URLFilter($0) }
        prefix = object["prefix"]?.read(upTo: URLFilter.maximumLength, URLFilter.rule) { URLFilter($0) }
        bodyBytes = object["bodyBytes"]?.read(upTo: 40, BodySizeFilter.rule) { BodySizeFilter($0) }
        createdAfter = object["createdAfter"]?.timestamp()
        createdBefore = object["createdBefore"]?.timestamp()
    }

    /// Whether a job matches, as far as it is known whole.
    package func matches(_ job: Job) -> Bool {
        guard state == nil || job.state == state, states?.contains(job.state) ?? true,
            createdAfter.map({ job.createdAt >= $0 }) ?? true,
            createdBefore.map({ job.createdAt < $0 }) ?? true, error == nil || job.attempts.last?.errorName == error,
            status.map({ job.state.isFinal && $0.range.contains(job.attempts.last?.status ?? 0) }) ?? true,
            bodyBytes.map({ size in job.body.map { size.range.contains(Int64($0.bytes)) } ?? false }) ?? true
        else { return false }
        guard !isPlain else { return true }
        guard let spec = job.storedSpec else { return false }
        return (kind == nil || spec.kind == kind) && (session == nil || (spec.session ?? .default) == session)
            && (schedule == nil || spec.schedule == schedule) && (group == nil || spec.group == group)
            && (host == nil || spec.request.url.hostAndPort == host) && labels.allSatisfy { spec.labels.contains($0) }
            && matches(spec.request)
    }

    private func matches(_ request: JobRequest) -> Bool {
        let shown = request.urlForm.text(of: request.url)
        return (method == nil || request.method.rawValue == method) && (url.map { $0.text == shown } ?? true)
            && (prefix.map { shown.hasPrefix($0.text) } ?? true)
    }
}

extension JSONReader {
    /// A text that stands for a value.
    fileprivate func read<Value>(upTo maximumLength: Int, _ rule: String, _ value: (String) -> Value?) -> Value? {
        guard let text = string(maximumLength: maximumLength) else { return nil }
        let value = value(text)
        if value == nil { refuse(rule) }
        return value
    }
}
