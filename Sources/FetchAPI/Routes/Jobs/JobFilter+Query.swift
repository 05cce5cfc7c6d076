import FetchJobs

extension JobFilter {
    /// The parameters that a filter is written with in a query.
    static let parameters: Set = [
        "state", "kind", "session", "schedule", "group", "host", "label", "error", "status", "createdAfter",
        "createdBefore",
    ]

    init(_ query: Query) throws(Problem) {
        self.init(state: try query.oneOf("state"))
        kind = try query.oneOf("kind")
        if query["session"] != nil { session = try query.session() }
        schedule = try query.identifier("schedule", "a schedule (sch_…)")
        group = try query.identifier("group", "a group (grp_…)")
        host = query["host"]
        error = query["error"]
        status = try query["status"].map { text throws(Problem) in
            guard let status = StatusFilter(text) else { throw Problem(parameter: "status", StatusFilter.rule) }
            return status
        }
        createdAfter = try query.time("createdAfter")
        createdBefore = try query.time("createdBefore")
        labels = try query.label().map { [$0] } ?? []
    }

    /// The filter as it goes on in the links of a list.
    var items: [(name: String, value: String?)] {
        [
            ("state", state?.rawValue), ("kind", kind?.rawValue), ("session", session?.description),
            ("schedule", schedule?.description), ("group", group?.description), ("host", host),
            ("label", labels.first?.text), ("error", error),
            ("status", status?.description),
            ("createdAfter", createdAfter?.description), ("createdBefore", createdBefore?.description),
        ]
    }

    /// The filter as one word, for cursors.
    var word: String {
        guard !isPlain else { return state?.rawValue ?? "" }
        var items = items
        items.append(("labels", labels.map(\.text).sorted().joined(separator: "\n")))
        let text = Query.text(items)
        return SHA256Digest(of: Array(text.utf8)).hexadecimal(12)
    }
}
