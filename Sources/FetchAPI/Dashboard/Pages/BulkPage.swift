import FetchJobs

/// What an action would do to how many jobs, before it does.
struct BulkPage {
    /// What has to be written before jobs are deleted.
    static let confirmation = "delete"

    let frame: PageFrame
    let action: String
    let title: String
    let effect: String
    let changed: String
    /// Those of the jobs that stay as they are.
    let others: String?
    let isMany: Bool
    let states: [Fact]
    let search: String
    let isForAll: Bool
    let ids: [String]
    /// The word that has to be written; nil where a click is enough.
    let confirmation: String?
    let changesNothing: Bool
    let back: String
    /// The request that does the same.
    let call: String

    init(
        _ action: JobActionRoutes.Action, search: String, chosen: [Job.ID]?, outcome: JobActionRoutes.Outcome,
        frame: PageFrame
    ) {
        self.frame = frame
        self.action = action.rawValue
        title = action.title
        effect = action.effect
        changed = Self.count(outcome.changed)
        let rest = outcome.matched - outcome.changed
        others = rest > 0 ? Self.count(rest) : nil
        isMany = outcome.last != nil
        states = JobState.allCases.compactMap { state in
            outcome.states[state].map { Fact(name: state.rawValue, value: "\($0)") }
        }
        self.search = search
        isForAll = chosen == nil
        ids = chosen?.map(\.description) ?? []
        confirmation = action == .delete ? Self.confirmation : nil
        changesNothing = outcome.changed == 0
        back = Query.text([("q", search.isEmpty ? nil : search)]).dropFirst().description
        call = Self.call(action, search, chosen)
    }

    private static func count(_ count: Int) -> String { count == 1 ? "1 job" : "\(count) jobs" }

    private static func call(_ action: JobActionRoutes.Action, _ search: String, _ chosen: [Job.ID]?) -> String {
        guard chosen == nil else {
            let verb = action == .delete ? "DELETE /v1/jobs/{id}" : "POST /v1/jobs/{id}/\(action.rawValue)"
            return "\(verb), for each of them"
        }
        // It was read before.
        let filter = (try? JobSearch(search).filter) ?? JobFilter()
        let body = JSONWriter.object { writer in
            writer.member("action", action.rawValue)
            writer.member("filter", object: filter.write)
            if filter == JobFilter() { writer.member("all", true) }
        }
        return "POST /v1/jobs/actions\n\(String(decoding: body, as: UTF8.self))"
    }
}

extension JobFilter {
    /// Writes the members as ``init(reader:)`` reads them.
    fileprivate func write(_ writer: inout JSONWriter) {
        for (name, value) in items where name != "label" { writer.member(name, value) }
        guard !labels.isEmpty else { return }
        writer.member("labels", object: { writer in labels.forEach { writer.member($0.name, $0.value) } })
    }
}
