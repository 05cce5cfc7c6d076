import FetchJobs

/// What is written into the filter of the list of jobs: words such as `state:failed host:a.example`, all of which a job
/// has to match.
///
/// A job's id, the beginning of a URL, a host, a state and a status are understood without a name before them. A value
/// with spaces stands in quotation marks.
struct JobSearch {
    /// A word that is not understood.
    struct Fault: Error, Equatable {
        /// A sentence with the word and what is known in its place.
        let message: String
    }

    /// The names of words, each with an example of its value.
    static let words: [(name: String, example: String)] = [
        ("state", "failed"), ("status", "5xx"), ("error", "timedOut"), ("host", "example.org"),
        ("url", "https://example.org/a"), ("prefix", "https://example.org/b/"), ("method", "POST"),
        ("size", "1000000.."), ("kind", "download"),
        ("label", "name=value"), ("session", "ses_…"), ("group", "grp_…"), ("schedule", "sch_…"),
        ("after", "2026-11-01"), ("before", "2026-12-01T12:00:00Z"),
    ]
    static let maximumLength = 2000

    private(set) var filter: JobFilter
    /// The job whose id is all that is written.
    private(set) var job: Job.ID?

    /// - Parameter base: What holds besides.
    init(_ text: String, in base: JobFilter = JobFilter()) throws(Fault) {
        filter = base
        guard text.utf8.count <= Self.maximumLength else {
            throw Fault(message: "The filter has more than \(Self.maximumLength) bytes.")
        }
        let words = try Self.split(text)
        if words.count == 1, let id = Job.ID(words[0]) {
            job = id
            return
        }
        for word in words { try take(word) }
    }

    private static func split(_ text: String) throws(Fault) -> [String] {
        var words: [String] = []
        var word = ""
        var (isQuoted, isBegun) = (false, false)
        for character in text {
            if character == "\"" {
                (isQuoted, isBegun) = (!isQuoted, true)
            } else if character.isWhitespace, !isQuoted {
                if isBegun { words.append(word) }
                (word, isBegun) = ("", false)
            } else {
                word.append(character)
                isBegun = true
            }
        }
        guard !isQuoted else { throw Fault(message: "The filter has a quotation mark without its other one.") }
        if isBegun { words.append(word) }
        return words
    }

    private mutating func take(_ word: String) throws(Fault) {
        let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, Self.words.contains(where: { $0.name == parts[0] }) else { return try takeBare(word) }
        let (name, value) = (parts[0], parts[1])
        guard !value.isEmpty else { throw Fault(message: "\(name): has no value behind it.") }
        switch name {
        case "state": try set(\.state, try Self.oneOf(JobState.self, value, word), word)
        case "kind": try set(\.kind, try Self.oneOf(JobSpec.Kind.self, value, word), word)
        case "host": try set(\.host, value.lowercased(), word)
        case "error": try set(\.error, value, word)
        case "method": try set(\.method, value, word)
        case "url": try set(\.url, try Self.read(URLFilter(value), word, URLFilter.rule), word)
        case "prefix": try set(\.prefix, try Self.read(URLFilter(value), word, URLFilter.rule), word)
        case "size": try set(\.bodyBytes, try Self.read(BodySizeFilter(value), word, BodySizeFilter.rule), word)
        case "status": try set(\.status, try Self.read(StatusFilter(value), word, StatusFilter.rule), word)
        case "session":
            try set(\.session, try Self.read(TenantSession.ID(naming: value), word, "must be ses_… or default"), word)
        case "group":
            try set(\.group, try Self.read(JobGroup.ID(value), word, "must be the id of a group, grp_…"), word)
        case "schedule":
            try set(\.schedule, try Self.read(Schedule.ID(value), word, "must be the id of a schedule, sch_…"), word)
        case "after": try set(\.createdAfter, try Self.time(value, word), word)
        case "before": try set(\.createdBefore, try Self.time(value, word), word)
        default: try takeLabel(value, word)
        }
    }

    private mutating func takeBare(_ word: String) throws(Fault) {
        if word.contains("://") { return try takeURL(word) }
        if let state = JobState(rawValue: word) { return try set(\.state, state, word) }
        if let status = StatusFilter(word) { return try set(\.status, status, word) }
        if Job.ID(word) != nil { throw Fault(message: "The id \(word) stands alone: it names one job.") }
        let name = word.prefix { $0 != ":" }
        let port = word.dropFirst(name.count + 1)
        let isHost =
            (name.contains(".") || name == "localhost" || word.hasPrefix("["))
            && (word == name || word.hasPrefix("[") || (!port.isEmpty && port.allSatisfy(\.isNumber)))
        if isHost { return try set(\.host, word.lowercased(), word) }
        let known = Self.words.map { "\($0.name):" }.joined(separator: ", ")
        throw Fault(
            message: "“\(word)” is no word of a filter. Known are \(known) and a job's id, a URL or a host alone.")
    }

    /// A URL as it is pasted: lists show none with a query, so it is the beginning of those that are meant.
    private mutating func takeURL(_ word: String) throws(Fault) {
        let url = try Self.read(URLFilter(pasted: word), word, URLFilter.rule)
        if url.isHostAlone { return try set(\.host, url.host, word) }
        try set(\.prefix, url, word)
    }

    private mutating func takeLabel(_ value: String, _ word: String) throws(Fault) {
        let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw Fault(message: "“\(word)” must have the form label:name=value.")
        }
        filter.labels.append(JobSpec.Label(name: String(parts[0]), value: String(parts[1])))
    }

    private mutating func set<Value: Equatable>(
        _ member: WritableKeyPath<JobFilter, Value?>, _ value: Value?, _ word: String
    ) throws(Fault) {
        guard filter[keyPath: member] == nil || filter[keyPath: member] == value else {
            throw Fault(message: "“\(word)” says another value of what is said already: a job has one.")
        }
        filter[keyPath: member] = value
    }

    private static func read<Value>(_ value: Value?, _ word: String, _ rule: String) throws(Fault) -> Value {
        guard let value else { throw Fault(message: "“\(word)” \(rule).") }
        return value
    }

    private static func oneOf<Choice: RawRepresentable<String> & CaseIterable>(
        _ type: Choice.Type, _ value: String, _ word: String
    ) throws(Fault) -> Choice {
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return try read(Choice(rawValue: value), word, "must be one of \(known)")
    }

    /// A time as RFC 3339 writes it, or the begin of a day in UTC.
    private static func time(_ value: String, _ word: String) throws(Fault) -> Timestamp {
        let time = Timestamp(rfc3339: value) ?? Timestamp(rfc3339: "\(value)T00:00:00Z")
        return try read(time, word, "must be a day or a time such as 2026-11-01 or 2026-11-01T10:52:00Z")
    }
}

extension JobSearch {
    /// A filter in the words that it is written with.
    static func text(_ filter: JobFilter) -> String {
        let items: [(String, String?)] = [
            ("state", filter.state?.rawValue), ("status", filter.status?.description), ("error", filter.error),
            ("host", filter.host), ("url", filter.url?.text), ("prefix", filter.prefix?.text),
            ("method", filter.method), ("size", filter.bodyBytes?.description), ("kind", filter.kind?.rawValue),
            ("session", filter.session.map { $0 == .default ? "default" : $0.description }),
            ("group", filter.group?.description), ("schedule", filter.schedule?.description),
            ("after", filter.createdAfter?.description), ("before", filter.createdBefore?.description),
        ]
        let words = items.compactMap { name, value in value.map { "\(name):\($0)" } }
        return (words + filter.labels.map { "label:\($0.name)=\($0.value)" })
            .map { $0.contains(where: \.isWhitespace) ? "\"\($0)\"" : $0 }.joined(separator: " ")
    }

    /// The list of the jobs that match a filter.
    static func path(_ filter: JobFilter, _ more: (name: String, value: String?)...) -> String {
        let text = text(filter)
        return DashboardView.address(DashboardRoutes.jobsPath, [("q", text.isEmpty ? nil : text)] + more)
    }
}
