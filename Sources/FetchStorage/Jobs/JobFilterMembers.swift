import FetchJobs
import Postgres

/// The members of a filter as conditions: the one whose index a list walks, and those that jobs are looked at for.
///
/// However many jobs match some of them and not the others, a list reads no more than it looks at.
struct JobFilterMembers {
    /// What follows `WHERE`; empty when no member has an index.
    private(set) var walk: Query = ""
    /// What is true of the jobs that match, of those on the walk.
    private(set) var looks: Query = "true"
    /// Whether some on the walk may not match.
    private(set) var looksAtJobs = false
    private var walks = false

    /// Those come first whose jobs are likely the fewest.
    init(_ filter: JobFilter, _ tenant: Tenant.ID) {
        addWaiting(filter, tenant)
        if let schedule = filter.schedule { add("j.schedule_id = \(schedule)", hasIndex: true) }
        if let group = filter.group { add("j.group_id = \(group)", hasIndex: true) }
        if let session = filter.session {
            if session == .default {
                add("j.session IS NULL", hasIndex: false)
            } else {
                add("j.session = \(session.description)", hasIndex: true)
            }
        }
        if let error = filter.error { add("r.error_name = \(error)", hasIndex: true) }
        addEnded(filter.state)
        // Beside any of some states they are found together.
        if !filter.labels.isEmpty, filter.states == nil { add(Self.labels(filter, tenant), hasIndex: true) }
        addStatus(filter.status)
        if let kind = filter.kind {
            // Twice, since the index that leaves out the others is found by these words.
            add(
                kind == .data ? "j.kind = 'data'" : "j.kind <> 'data' AND j.kind = \(kind.rawValue)",
                hasIndex: kind != .data)
        }
        for host in Set([filter.host, filter.url?.host, filter.prefix?.host].compactMap(\.self)).sorted() {
            add("j.host = \(host)", hasIndex: true)
        }
        addRequest(filter)
        if let range = filter.bodyBytes?.range {
            let (first, last) = (range.lowerBound, range.upperBound)
            add("\(Query.bodyBytes("r")) BETWEEN \(first) AND \(last)", hasIndex: false)
        }
    }

    /// What is asked of states that are not final, or may not be: the queue is shorter than what there was.
    private mutating func addWaiting(_ filter: JobFilter, _ tenant: Tenant.ID) {
        if let states = filter.states {
            var condition: Query = "\(Query.jobState) = ANY(\(states.map(\.rawValue).sorted()))"
            // The planner may begin with the table that has them, which is the shorter one for those that are not final.
            if states.allSatisfy({ !$0.isFinal }) { condition = "\(condition) AND q.job_id IS NOT NULL" }
            if states.allSatisfy(\.isFinal) { condition = "\(condition) AND r.job_id IS NOT NULL" }
            if !filter.labels.isEmpty { condition = "\(condition) AND \(Self.labels(filter, tenant))" }
            add(condition, hasIndex: true)
        }
        guard let state = filter.state, !state.isFinal else { return }
        let index: Query =
            switch state {
            case .running: "q.node_id IS NOT NULL"
            case .awaitingDecision: "q.question_id IS NOT NULL"
            case .scheduled, .suspended: "(q.scheduled OR q.suspended)"
            default: "q.job_id IS NOT NULL"
            }
        add("\(Query.jobState) = \(state)", amid: index)
    }

    private mutating func addEnded(_ state: JobState?) {
        switch state {
        case .succeeded: add("r.state = 'succeeded'", hasIndex: false)
        // The index that leaves out the others is found by these words.
        case .failed, .cancelled:
            add("r.state <> 'succeeded' AND r.state = \(state ?? .failed)", hasIndex: true)
        default: break
        }
    }

    private mutating func addStatus(_ status: StatusFilter?) {
        guard let range = status?.range else { return }
        let (first, last) = (Int16(range.lowerBound), Int16(range.upperBound))
        let condition: Query = "r.status BETWEEN \(first) AND \(last)"
        // The index leaves out the others.
        if first >= 400 { add(condition, amid: "r.status >= 400") } else { add(condition, hasIndex: false) }
    }

    private mutating func addRequest(_ filter: JobFilter) {
        if let method = filter.method {
            add("coalesce(j.spec #>> '{request,method}', 'GET') = \(method)", hasIndex: false)
        }
        if let url = filter.url?.text { add("j.spec #>> '{request,url}' = \(url)", hasIndex: false) }
        if let prefix = filter.prefix?.text {
            add("starts_with(j.spec #>> '{request,url}', \(prefix))", hasIndex: false)
        }
    }

    private static func labels(_ filter: JobFilter, _ tenant: Tenant.ID) -> Query {
        "j.labels @> \(filter.labels.map { "\(tenant):\($0.name):\($0.value)" })"
    }

    private mutating func add(_ condition: Query, hasIndex: Bool) {
        if hasIndex, !walks {
            (walk, walks) = (" AND \(condition)", true)
        } else {
            (looks, looksAtJobs) = ("\(looks) AND \(condition)", true)
        }
    }

    /// - Parameter index: What is true of all that an index has, the jobs that match among them.
    private mutating func add(_ condition: Query, amid index: Query) {
        if !walks { add(index, hasIndex: true) }
        add(condition, hasIndex: false)
    }
}
