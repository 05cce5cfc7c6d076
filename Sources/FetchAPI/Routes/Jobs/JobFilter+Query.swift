import FetchJobs

extension JobFilter {
    /// The parameters that a filter is written with in a query.
    static let parameters: Set = [
        "state", "kind", "session", "schedule", "group", "host", "label", "error", "status", "method", "url", "prefix",
        "bodyBytes", "createdAfter", "createdBefore",
    ]

    init(_ query: Query) throws(Problem) {
        self.init(state: try query.oneOf("state"))
        kind = try query.oneOf("kind")
        if query["session"] != nil { session = try query.session() }
        schedule = try query.identifier("schedule", "a schedule (sch_…)")
        group = try query.identifier("group", "a group (grp_…)")
        host = query["host"]
        error = query["error"]
        status = try query.read("status", StatusFilter.rule) { StatusFilter($0) }
        method = try query.text("method", maximumLength: 32)
        url = try query.read("url", URLFilter.rule) { URLFilter($0) }
        prefix = try query.read("prefix", URLFilter.rule) { URLFilter($0) }
        bodyBytes = try query.read("bodyBytes", BodySizeFilter.rule) { BodySizeFilter($0) }
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
            ("status", status?.description), ("method", method), ("url", url?.text), ("prefix", prefix?.text),
            ("bodyBytes", bodyBytes?.description),
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

extension Query {
    /// A text that stands for a value.
    fileprivate func read<Value>(
        _ name: String, _ rule: String, _ value: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = self[name] else { return nil }
        guard let value = value(text) else { throw Problem(parameter: name, rule) }
        return value
    }
}
