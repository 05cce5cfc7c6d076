import FetchEngine

/// A set of jobs: those that match every member that is set.
package struct JobFilter: Sendable, Equatable {
    package var state: JobState?
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
    package var createdAfter: Timestamp?
    package var createdBefore: Timestamp?

    package init(state: JobState? = nil) { self.state = state }

    /// It asks for a state at most.
    package var isPlain: Bool { self == JobFilter(state: state) }

    package static let memberNames: Set = [
        "state", "kind", "session", "schedule", "group", "host", "label", "labels", "error", "status",
        "createdAfter", "createdBefore",
    ]

    package init?(reader: JSONReader) {
        guard let object = reader.object(of: Self.memberNames) else { return nil }
        state = object["state"]?.oneOf(JobState.self)
        kind = object["kind"]?.oneOf(JobSpec.Kind.self)
        session = object["session"].flatMap { reader in
            guard let text = reader.string(maximumLength: 64) else { return nil }
            let id = TenantSession.ID(naming: text)
            if id == nil { reader.refuse("is not the id of a session (ses_…) and not \"default\"") }
            return id
        }
        schedule = object["schedule"]?.identifier("a schedule (sch_…)")
        group = object["group"]?.identifier("a group (grp_…)")
        host = object["host"]?.string(maximumLength: 253)
        labels = JobSpec.Label.ofFilter(object)
        error = object["error"]?.string(maximumLength: 64)
        status = object["status"].flatMap { reader in
            guard let text = reader.string(maximumLength: 3) else { return nil }
            let status = StatusFilter(text)
            if status == nil { reader.refuse(StatusFilter.rule) }
            return status
        }
        createdAfter = object["createdAfter"]?.timestamp()
        createdBefore = object["createdBefore"]?.timestamp()
    }

    /// Whether a job matches, as far as it is known whole.
    package func matches(_ job: Job) -> Bool {
        guard state == nil || job.state == state, createdAfter.map({ job.createdAt >= $0 }) ?? true,
            createdBefore.map({ job.createdAt < $0 }) ?? true, error == nil || job.attempts.last?.errorName == error,
            status.map({ job.state.isFinal && $0.range.contains(job.attempts.last?.status ?? 0) }) ?? true
        else { return false }
        guard !isPlain else { return true }
        guard let spec = job.storedSpec else { return false }
        return (kind == nil || spec.kind == kind) && (session == nil || (spec.session ?? .default) == session)
            && (schedule == nil || spec.schedule == schedule) && (group == nil || spec.group == group)
            && (host == nil || spec.request.url.hostAndPort == host) && labels.allSatisfy { spec.labels.contains($0) }
    }
}
