import FetchJobs

/// Everything that is known of one job.
struct JobDetailPage {
    /// A step of its life.
    struct Step {
        let title: String
        let at: String
        let note: String?
    }

    struct Attempt {
        let number: Int
        let facts: [Fact]
        /// The decisions as sentences.
        let decisions: [String]
        let hasDecisions: Bool
    }

    /// A group of facts with a heading.
    struct Section {
        let id: String
        let title: String
        let hint: String?
        let facts: [Fact]
    }

    struct Action {
        let name: String
        let title: String
        let hint: String
    }

    /// So many header fields, redirects and cookies are shown, so that a page stays small.
    static let maximumRows = 40
    /// So many attempts are shown, the last ones.
    static let maximumAttempts = 10
    static let maximumDeliveries = 10

    /// What the page shows beside what the job says itself.
    struct Content: Sendable {
        let view: DashboardView
        let frame: PageFrame
        var preview: BodyPreview?
        /// The last messages about the job; nil when there are none.
        var deliveries: SheetPage.Table?
        var progress: JobProgress?
        var verbs: [JobActionRoutes.Action] = []
        var canDelete = false
        /// Whether it may be submitted anew with changes.
        var canSubmit = false
        let now: Timestamp
    }

    let frame: PageFrame
    /// Whose job it is, where that is another tenant's.
    let notice: String?
    /// The path of the page, below which its files are.
    let path: String
    /// The parameter that files of another tenant's job are asked for with.
    let query: String
    let id: String
    let state: String
    let method: String
    let url: String
    let isLive: Bool
    let progress: ProgressText?
    let actions: [Action]
    let canDelete: Bool
    let canSubmit: Bool
    let facts: [Fact]
    let history: [Step]
    let error: [Fact]
    let hasError: Bool
    /// The page of the documentation about the error; nil for one that has none.
    let errorPage: String?
    let ruler: String
    /// The lines of the drawing, as markup.
    let rows: String
    let hasRows: Bool
    let legend: [Fact]
    let attempts: [Attempt]
    let hasAttempts: Bool
    let earlierAttempts: String?
    let hops: [JobHops.Hop]
    let hasHops: Bool
    let sections: [Section]
    let deliveries: SheetPage.Table?
    let bodySize: String?
    /// Where the body is; nil of another tenant's job, and when there is none.
    let bodyPath: String?
    let text: String?
    let textNote: String?
    let isImage: Bool
    let bytes: String?
    let curl: String
    let command: String

    init(_ job: Job, _ content: Content) {
        let spec = Self.parse(job.spec)
        let request = spec?.member("request")
        let response = Self.parse(job.response)
        let measured = MeasuredAttempt.last(Self.maximumAttempts, of: job)
        frame = content.frame
        notice = DashboardRoutes.notice(content.view)
        path = "\(DashboardRoutes.jobsPath)/\(job.id)"
        query = String(content.view.job(job.id).dropFirst(path.utf8.count))
        id = job.id.description
        state = job.state.rawValue
        method = request?.member("method")?.text ?? "GET"
        url = VisibleText.cut(request?.member("url")?.text ?? "")
        isLive = !job.state.isFinal && content.view.isOwn
        progress = content.progress.map(ProgressText.init)
        actions = content.verbs.map { Action(name: $0.rawValue, title: $0.title, hint: $0.effect) }
        canDelete = content.canDelete
        canSubmit = content.canSubmit
        facts = Self.facts(job, spec: spec, response: response)
        history = Self.history(job, spec)
        let cause = Self.parse(job.shownError)
        error = Self.members(cause)
        hasError = !error.isEmpty
        let name = cause?.member("name")?.text
        errorPage = LoadErrorPages.all.first { $0.name == name }?.path
        let timeline = Timeline(job, measured, due: Self.due(job, spec), now: content.now)
        ruler = timeline.ruler
        rows = timeline.markup
        hasRows = !rows.isEmpty
        legend = timeline.kinds.map { Fact(name: $0.name, value: $0.title) }
        attempts = job.attempts.suffix(Self.maximumAttempts).map(Self.attempt)
        hasAttempts = !attempts.isEmpty
        let hidden = job.attempts.count - attempts.count
        earlierAttempts = hidden > 0 ? (hidden == 1 ? "1 earlier attempt" : "\(hidden) earlier attempts") : nil
        hops = JobHops(job, measured, method: method).hops
        hasHops = !hops.isEmpty
        sections = Self.sections(job, request, response, measured.last?.transfers ?? [])
        deliveries = content.deliveries
        bodySize = job.body.map { "\(Figure.bytes($0.bytes)) (\($0.bytes) bytes), \($0.digest.field)" }
        bodyPath = job.body != nil && content.view.isOwn ? "\(path)/body" : nil
        (text, textNote, isImage, bytes) = Self.parts(of: content.preview)
        let commands = RequestCommands(spec)
        curl = commands.curl
        command = commands.fetchd
    }

    private static func parts(of preview: BodyPreview?) -> (String?, String?, Bool, String?) {
        switch preview {
        case nil: (nil, nil, false, nil)
        case .text(let text, let note): (text, note, false, nil)
        case .image: (nil, nil, true, nil)
        case .bytes(let dump): (nil, nil, false, dump)
        }
    }

    // MARK: Story

    private static func facts(_ job: Job, spec: JSONValue?, response: JSONValue?) -> [Fact] {
        var facts: [Fact] = []
        func add(_ name: String, _ value: String?) {
            if let value { facts.append(Fact(name: name, value: VisibleText.cut(value))) }
        }
        if job.isCancelling { add("State", "\(job.state.rawValue), cancelling") }
        add("Status", response?.member("status")?.integer.map { "\($0)" })
        add("Response from", response?.member("url")?.text)
        add("Waits for", job.waitingFor.map { "the answer to \($0)" })
        for name in ["kind", "session", "group", "schedule", "priority", "flow", "labels", "webhook", "configuration"] {
            add(name.prefix(1).uppercased() + name.dropFirst(), spec?.member(name)?.shown)
        }
        add("File", parse(job.file)?.shown)
        return facts
    }

    private static func history(_ job: Job, _ spec: JSONValue?) -> [Step] {
        var steps: [Step] = []
        func add(_ title: String, _ at: Timestamp, _ note: String? = nil) {
            steps.append(Step(title: title, at: at.description, note: note.map(VisibleText.cut)))
        }
        add("Submitted", job.createdAt)
        let due = due(job, spec)
        if due > job.createdAt { add("Due", due) }
        for attempt in job.attempts.suffix(maximumAttempts) {
            add("Attempt \(attempt.number) started", attempt.startedAt)
            let result = [attempt.errorName, attempt.status.map { "status \($0)" }].compactMap(\.self)
            add(
                "Attempt \(attempt.number) ended: \(attempt.state.rawValue)", attempt.finishedAt,
                result.isEmpty ? nil : result.joined(separator: ", "))
            if let next = attempt.nextAttemptAt { add("Next attempt due", next) }
        }
        if job.state.isFinal {
            if let end = job.finishedAt { add("Ended: \(job.state.rawValue)", end) }
        } else if job.isClaimed, let start = job.startedAt {
            add("Running since", start)
        }
        return steps
    }

    /// When its first attempt was to begin.
    private static func due(_ job: Job, _ spec: JSONValue?) -> Timestamp {
        max(job.createdAt, spec?.member("runAt")?.text.flatMap { Timestamp(rfc3339: $0) } ?? job.createdAt)
    }

    private static func attempt(_ attempt: Job.Attempt) -> Attempt {
        let took = Double(attempt.finishedAt.microseconds - attempt.startedAt.microseconds) / 1_000_000
        var facts = [
            Fact(name: "Took", value: Waterfall.show(max(0, took))),
            Fact(name: "State", value: attempt.state.rawValue),
        ]
        if let name = attempt.errorName { facts.append(Fact(name: "Error", value: VisibleText.cut(name))) }
        let decisions = (parse(attempt.decisions)?.elements ?? []).prefix(maximumRows).map { DecisionSentence($0).text }
        return Attempt(
            number: attempt.number, facts: facts, decisions: decisions, hasDecisions: !decisions.isEmpty)
    }

    // MARK: Exchange

    private static func sections(
        _ job: Job, _ request: JSONValue?, _ response: JSONValue?, _ transfers: [JSONValue]
    ) -> [Section] {
        [
            Section(id: "redirects", title: "Redirects", hint: nil, facts: redirects(job)),
            Section(
                id: "challenges", title: "Challenges", hint: "What was answered, and to whom.", facts: challenges(job)),
            Section(
                id: "certificates", title: "Certificates", hint: "What servers have shown, their own first.",
                facts: certificates(of: transfers)),
            Section(
                id: "cookies-sent", title: "Cookies sent", hint: "By name, with what they were sent to.",
                facts: cookiesSent(with: transfers)),
            Section(
                id: "cookies", title: "Cookies kept and refused", hint: "By name: only the jar has the values.",
                facts: cookies(response)),
            Section(id: "cache", title: "Cache", hint: nil, facts: cache(response)),
            Section(
                id: "request-headers", title: "Request header fields", hint: nil, facts: headers(request)),
            Section(
                id: "response-headers", title: "Response header fields", hint: nil, facts: headers(response)),
            Section(id: "trailers", title: "Trailer fields", hint: nil, facts: headers(response, "trailers")),
        ].filter { !$0.facts.isEmpty }
    }

    private static func redirects(_ job: Job) -> [Fact] {
        (parse(job.redirects)?.elements ?? []).prefix(maximumRows).map { hop in
            let cause = (hop.member("cause")?.text).map { ", because of \(VisibleText.cut($0))" } ?? ""
            let target = "\(hop.member("method")?.text ?? "") \(hop.member("location")?.text ?? hop.shown)"
            return Fact(
                name: VisibleText.cut("\(hop.member("status")?.shown ?? "") \(hop.member("url")?.text ?? "")"),
                value: VisibleText.cut(target) + cause)
        }
    }

    private static func challenges(_ job: Job) -> [Fact] {
        (parse(job.challenges)?.elements ?? []).prefix(maximumRows).map { challenge in
            let space = members(challenge.member("protectionSpace")).map { "\($0.name) \($0.value)" }
            return Fact(
                name: VisibleText.cut(challenge.member("answer")?.shown ?? challenge.shown),
                value: VisibleText.cut(space.joined(separator: ", ")))
        }
    }

    /// Each certificate once, though several servers have shown it.
    private static func certificates(of transfers: [JSONValue]) -> [Fact] {
        var seen: Set<String> = []
        return transfers.flatMap { $0.member("certificates")?.elements ?? [] }
            .filter { seen.insert($0.member("sha256")?.text ?? "").inserted }.prefix(maximumRows).map { certificate in
                let text = { (name: String) in certificate.member(name)?.text ?? "" }
                return Fact(
                    name: VisibleText.cut(text("subject")),
                    value: VisibleText.cut(
                        "issued by \(text("issuer")), valid from \(text("notBefore")) to \(text("notAfter")), "
                            + "SHA-256 \(text("sha256"))"))
            }
    }

    private static func cookiesSent(with transfers: [JSONValue]) -> [Fact] {
        transfers.compactMap { transfer -> Fact? in
            let names = (transfer.member("cookies")?.elements ?? []).map(\.shown)
            guard !names.isEmpty else { return nil }
            return Fact(
                name: VisibleText.cut(transfer.member("url")?.text ?? ""),
                value: VisibleText.cut(names.joined(separator: ", ")))
        }.prefix(maximumRows).map(\.self)
    }

    private static func cookies(_ response: JSONValue?) -> [Fact] {
        let cookies = response?.member("cookies")
        let kept = (cookies?.member("accepted")?.elements ?? []).prefix(maximumRows).map {
            Fact(name: VisibleText.cut($0.shown), value: "kept")
        }
        let refused = (cookies?.member("rejected")?.elements ?? []).prefix(maximumRows).map {
            Fact(
                name: VisibleText.cut($0.member("name")?.text ?? ""),
                value: VisibleText.cut("refused: \($0.member("message")?.text ?? $0.shown)"))
        }
        return kept + refused
    }

    private static func cache(_ response: JSONValue?) -> [Fact] {
        guard let status = response?.member("cacheStatus")?.text else { return [] }
        let isStored = response?.member("fromCache") == .bool(true)
        return [
            Fact(name: "Verdict", value: isStored ? "answered from the cache" : "answered by the origin"),
            Fact(name: "Cache-Status", value: VisibleText.cut(status)),
        ]
    }

    static func headers(_ message: JSONValue?, _ name: String = "headers") -> [Fact] {
        (message?.member(name)?.elements ?? []).prefix(maximumRows).map { header in
            let name = header.member("name")?.text ?? ""
            // A secret that an earlier release has stored in clear is not shown either.
            let value = Redaction.hides(fieldNamed: name) ? Redaction.text : header.member("value")?.text ?? ""
            return Fact(name: VisibleText.cut(name), value: VisibleText.cut(value))
        }
    }

    static func members(_ value: JSONValue?, without names: Set<String> = []) -> [Fact] {
        guard case .object(let members) = value else { return [] }
        return members.filter { !names.contains($0.name) }.prefix(maximumRows)
            .map { Fact(name: VisibleText.cut($0.name), value: VisibleText.cut($0.value.shown)) }
    }

    static func parse(_ json: RawJSON?) -> JSONValue? {
        // JSON that cannot be read counts as absent: the page shows the rest.
        json.flatMap { try? JSONParser.parse($0.bytes) }
    }
}

extension JobDetailPage: MustacheParent {
    func child(named name: String) -> Any? { head(name) ?? story(name) ?? body(name) }

    private func head(_ name: String) -> Any? {
        switch name {
        case "frame": frame
        case "notice": Shown.of(notice)
        case "path": path
        case "query": query
        case "id": id
        case "state": state
        case "method": method
        case "url": url
        case "isLive": isLive
        case "progress": Shown.of(progress)
        case "actions": actions
        case "canDelete": canDelete
        case "canSubmit": canSubmit
        default: nil
        }
    }

    private func story(_ name: String) -> Any? {
        switch name {
        case "facts": Fact.markup(facts)
        case "history": history
        case "error": Fact.markup(error)
        case "hasError": hasError
        case "errorPage": Shown.of(errorPage)
        case "ruler": ruler
        case "rows": rows
        case "hasRows": hasRows
        case "legend": legend
        case "attempts": attempts
        case "hasAttempts": hasAttempts
        case "earlierAttempts": Shown.of(earlierAttempts)
        case "hops": hops
        case "hasHops": hasHops
        case "sections": sections
        default: nil
        }
    }

    private func body(_ name: String) -> Any? {
        switch name {
        case "deliveries": Shown.of(deliveries)
        case "bodySize": Shown.of(bodySize)
        case "bodyPath": Shown.of(bodyPath)
        case "text": Shown.of(text)
        case "textNote": Shown.of(textNote)
        case "isImage": isImage
        case "bytes": Shown.of(bytes)
        case "curl": curl
        case "command": command
        default: nil
        }
    }
}

extension JobDetailPage.Step: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "title": title
        case "at": at
        case "note": Shown.of(note)
        default: nil
        }
    }
}

extension JobDetailPage.Attempt: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "number": number
        case "facts": Fact.markup(facts)
        case "decisions": decisions
        case "hasDecisions": hasDecisions
        default: nil
        }
    }
}

extension JobDetailPage.Section: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "id": id
        case "title": title
        case "hint": Shown.of(hint)
        case "facts": Fact.markup(facts)
        default: nil
        }
    }
}

extension JobDetailPage.Action: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "title": title
        case "hint": hint
        default: nil
        }
    }
}
