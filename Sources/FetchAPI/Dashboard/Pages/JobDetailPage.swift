import FetchJobs

/// Everything that is known of one job.
struct JobDetailPage {
    struct Attempt {
        let number: Int
        let facts: [Fact]
        let transfers: [Transfer]
        let hasTransfers: Bool
        /// The decisions as sentences.
        let decisions: [String]
        let hasDecisions: Bool
    }

    struct Transfer {
        let url: String
        let status: String
        let duration: String
        /// Markup, made of numbers and words of ours only.
        let chart: String
        let facts: [Fact]
    }

    /// So many headers, redirects and transfers are shown, so that a page stays small.
    static let maximumRows = 60

    let frame: PageFrame
    let id: String
    let state: String
    let method: String
    let url: String
    let facts: [Fact]
    let error: [Fact]
    let hasError: Bool
    let redirects: [String]
    let hasRedirects: Bool
    let requestHeaders: [Fact]
    let hasRequestHeaders: Bool
    let responseHeaders: [Fact]
    let hasResponse: Bool
    let attempts: [Attempt]
    let hasAttempts: Bool
    let legend: [Fact]
    let bodySize: String?
    let preview: String?
    let canCancel: Bool
    let canRetry: Bool

    init(_ job: Job, preview: String?, mayCancel: Bool, mayRetry: Bool, frame: PageFrame) {
        let spec = Self.parse(job.spec)
        let request = spec?.member("request")
        let response = Self.parse(job.response)
        let failure = Self.parse(job.error)
        self.frame = frame
        id = job.id.description
        state = job.state.rawValue
        method = request?.member("method")?.text ?? "GET"
        url = VisibleText.cut(request?.member("url")?.text ?? "")
        facts = Self.facts(job, spec: spec, response: response)
        error = Self.members(failure)
        hasError = !error.isEmpty
        redirects = (Self.parse(job.redirects)?.elements ?? []).prefix(Self.maximumRows).map {
            VisibleText.cut($0.shown)
        }
        hasRedirects = !redirects.isEmpty
        requestHeaders = Self.headers(request)
        hasRequestHeaders = !requestHeaders.isEmpty
        responseHeaders = Self.headers(response)
        hasResponse = response != nil
        let due = [Self.due(job, spec)] + job.attempts.map(\.nextAttemptAt)
        attempts = zip(job.attempts, due).suffix(10).map { Self.attempt($0, due: $1) }
        hasAttempts = !attempts.isEmpty
        legend = Waterfall.Phase.allCases.map { Fact(name: $0.rawValue, value: $0.title) }
        bodySize = job.body.map { "\($0.bytes) bytes, \($0.digest.field)" }
        self.preview = preview
        canCancel = mayCancel && !job.state.isFinal && !job.isCancelling
        canRetry = mayRetry && JobRetrier.allows(job)
    }

    private static func facts(_ job: Job, spec: JSONValue?, response: JSONValue?) -> [Fact] {
        var facts = [
            Fact(name: "State", value: job.isCancelling ? "\(job.state.rawValue), cancelling" : job.state.rawValue)
        ]
        if let status = response?.member("status")?.integer { facts.append(Fact(name: "Status", value: "\(status)")) }
        if let url = response?.member("url")?.text {
            facts.append(Fact(name: "Response from", value: VisibleText.cut(url)))
        }
        facts.append(Fact(name: "Created", value: job.createdAt.description))
        if let time = job.startedAt { facts.append(Fact(name: "Started", value: time.description)) }
        if let time = job.finishedAt { facts.append(Fact(name: "Finished", value: time.description)) }
        for name in ["priority", "configuration", "labels", "webhook"] {
            guard let value = spec?.member(name) else { continue }
            facts.append(
                Fact(name: name.prefix(1).uppercased() + name.dropFirst(), value: VisibleText.cut(value.shown)))
        }
        return facts
    }

    /// When its first attempt was to begin.
    private static func due(_ job: Job, _ spec: JSONValue?) -> Timestamp {
        max(job.createdAt, spec?.member("runAt")?.text.flatMap { Timestamp(rfc3339: $0) } ?? job.createdAt)
    }

    private static func attempt(_ attempt: Job.Attempt, due: Timestamp?) -> Attempt {
        let metrics = parse(attempt.metrics)
        let queued = due.map { Double(attempt.startedAt.microseconds - $0.microseconds) / 1_000_000 } ?? 0
        let waterfall = Waterfall(metrics: metrics, queued: queued)
        var facts = [
            Fact(name: "Started", value: attempt.startedAt.description),
            Fact(name: "Finished", value: attempt.finishedAt.description),
            Fact(name: "State", value: attempt.state.rawValue),
        ]
        if queued > 0 { facts.insert(Fact(name: "Queued for", value: Waterfall.show(queued)), at: 0) }
        if let name = attempt.errorName { facts.append(Fact(name: "Error", value: VisibleText.cut(name))) }
        let transfers = zip(metrics?.elements ?? [], waterfall.rows).prefix(maximumRows).map { transfer, row in
            Transfer(
                url: VisibleText.cut(transfer.member("url")?.text ?? ""),
                status: transfer.member("status")?.integer.map { String($0) } ?? "no response",
                duration: Waterfall.show(row.duration),
                chart: waterfall.svg(row),
                facts: self.facts(of: transfer, waterfall.phases(of: row))
            )
        }
        let decisions = (parse(attempt.decisions)?.elements ?? []).prefix(maximumRows).map {
            DecisionSentence($0).text
        }
        return Attempt(
            number: attempt.number, facts: facts, transfers: transfers, hasTransfers: !transfers.isEmpty,
            decisions: decisions, hasDecisions: !decisions.isEmpty)
    }

    /// The phases in numbers, then all that the engine measured beside them.
    private static func facts(of transfer: JSONValue, _ phases: [(Waterfall.Phase, Double)]) -> [Fact] {
        let phases = phases.map { Fact(name: $0.title, value: Waterfall.show($1)) }
        let drawn = Set(Waterfall.Phase.allCases.map(\.rawValue) + ["url", "status", "duration"])
        return phases + members(transfer, without: drawn)
    }

    private static func headers(_ message: JSONValue?) -> [Fact] {
        (message?.member("headers")?.elements ?? []).prefix(maximumRows).map { header in
            let name = header.member("name")?.text ?? ""
            // A secret that an earlier release has stored in clear is not shown either.
            let value = Redaction.hides(fieldNamed: name) ? Redaction.text : header.member("value")?.text ?? ""
            return Fact(name: VisibleText.cut(name), value: VisibleText.cut(value))
        }
    }

    private static func members(_ value: JSONValue?, without names: Set<String> = []) -> [Fact] {
        guard case .object(let members) = value else { return [] }
        return members.filter { !names.contains($0.name) }.prefix(maximumRows)
            .map { Fact(name: VisibleText.cut($0.name), value: VisibleText.cut($0.value.shown)) }
    }

    private static func parse(_ json: RawJSON?) -> JSONValue? {
        // JSON that cannot be read counts as absent: the page shows the rest.
        json.flatMap { try? JSONParser.parse($0.bytes) }
    }
}
