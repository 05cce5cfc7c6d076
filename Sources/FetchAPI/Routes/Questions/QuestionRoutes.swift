import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import ServiceLifecycle

/// What loads ask of their delegates: reading, waiting for, and answering it.
struct QuestionRoutes: Sendable {
    private static let path = "/v1/questions"
    /// How often the store is asked about questions of other nodes, while somebody waits for one.
    private static let pollInterval = Duration.seconds(1)

    let questions: any QuestionStore
    let asked: AskedQuestions
    let answers: QuestionAnswers
    let jobs: any JobStore

    var routes: [Route] {
        [
            Route(.get, Self.path, tenant: list),
            Route(.get, "\(Self.path)/{id}", tenant: get),
            Route(.get, "/v1/jobs/{id}/questions", tenant: listOfJob),
            Route(.post, "/v1/jobs/{id}/questions/{question}", tenant: answer),
        ]
    }

    // MARK: Reading

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: QuestionFilter.parameters.union(["limit", "cursor"]))
        return try await page(call, try QuestionFilter(query), query, of: Self.path, tenant)
    }

    private func listOfJob(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["state", "kind", "limit", "cursor"])
        guard let id = Job.ID(call.parameter), try await jobs.job(id, of: tenant) != nil else {
            throw JobRoutes.notFound
        }
        var filter = QuestionFilter(state: try query.oneOf("state"))
        filter.kind = try query.oneOf("kind")
        filter.job = id
        return try await page(call, filter, query, of: "/v1/jobs/\(id)/questions", tenant)
    }

    private func page(
        _ call: Call, _ filter: QuestionFilter, _ query: Query, of path: String, _ tenant: Tenant.ID
    ) async throws -> Response {
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try Cursor<QuestionIDKind>($0, filter: filter.word).after }
        let preferences = Preferences(of: call.headers)
        let found = try await found(
            for: preferences.wait ?? 0, call.connection, tenant
        ) {
            try await questions.questions(of: tenant, matching: filter, after: after, limit: limit + 1)
        }
        var response = Response.page(
            found, limit: limit, of: path, filter.text(in: path),
            cursor: { Cursor(after: $0.id, filter: filter.word).text }, write: { $0.write(&$1) })
        if preferences.wait != nil { response.headers[.preferenceApplied] = preferences.applied }
        return response
    }

    /// What is found at once or, where nothing is, as soon as something is; nothing when the time is up.
    private func found(
        for seconds: Int, _ client: Connection?, _ tenant: Tenant.ID, find: () async throws -> [StoredQuestion]
    ) async throws -> [StoredQuestion] {
        let deadline = ContinuousClock.now + .seconds(seconds)
        // Before the first look, so that what is asked right after it is not missed.
        let listener = asked.listen(to: tenant)
        defer { asked.leave(listener) }
        let leaving = client?.onLeave { listener.condition.signal() }
        defer { if let leaving { client?.forget(leaving) } }
        while true {
            let found = try await find()
            let rest = deadline - .now
            guard found.isEmpty, rest > .zero, client?.hasLeft != true, !Task.isCancelled,
                !Task.isShuttingDownGracefully
            else { return found }
            await pause(listener.condition, for: min(rest, Self.pollInterval))
        }
    }

    /// Returns at a signal, when the time is up, or when the service stops.
    private func pause(_ condition: Condition, for time: Duration) async {
        await withDiscardingTaskGroup { group in
            group.addTask { if (try? await Task.sleep(for: time)) != nil { condition.signal() } }
            await withGracefulShutdownHandler {
                for await _ in condition.values { break }
            } onGracefulShutdown: {
                condition.signal()
            }
            group.cancelAll()
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Question.ID(call.parameter), let question = try await questions.question(id, of: tenant) else {
            throw QuestionAnswers.notFound
        }
        return .json { question.write(&$0) }
    }

    // MARK: Answering

    private func answer(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: Reply.maximumBytes)
        guard let job = Job.ID(call.parameter), let id = call.parameters.last.flatMap({ Question.ID($0) }),
            let question = try await questions.question(id, of: tenant), question.asked.job == job
        else { throw QuestionAnswers.notFound }
        let reply = try Reply(json: json, to: question.asked.kind)
        let now = try await answers.give(reply, to: question, by: try await answers.key(of: call))
        return .json { now.write(&$0) }
    }
}

/// Gives answers: within the limits of their questions, and the first one to each.
struct QuestionAnswers: Sendable {
    static let notFound = Problem(.notFound, "There is no question with this id.")

    let questions: any QuestionStore
    let judge: AnswerJudge
    let catalog: any BlobCatalog
    let authenticator: Authenticator

    /// Who answers by the key of a call.
    func key(of call: Call) async throws -> Decision.Decider {
        .key(try await authenticator.key(of: call).id.description)
    }

    /// - Returns: The question with its answer.
    /// - Throws: ``Problem`` `answerNotAllowed`, `alreadyAnswered` or `questionClosed`.
    func give(_ reply: Reply, to question: StoredQuestion, by decider: Decision.Decider) async throws -> StoredQuestion
    {
        // Whether an answer would be allowed does not matter of one that is over.
        if question.state == .open {
            let violations = try await judge.violations(of: reply.answer, to: question.asked)
            guard violations.isEmpty else { throw Problem(notAllowed: violations) }
            try await hold(reply.answer.blobs, for: question.asked)
        }
        switch try await questions.answer(question.id, of: question.asked.tenant, reply, by: decider) {
        case .accepted(let question): return question
        case .alreadyAnswered(let question): throw Problem(answered: question)
        case .closed(let question): throw Problem(closed: question)
        case .notFound: throw Self.notFound
        }
    }

    /// Keeps the blobs of an answer as long as its job has not ended.
    private func hold(_ blobs: [Blob.ID], for question: AskedQuestion) async throws {
        guard !blobs.isEmpty else { return }
        let held = try await catalog.hold(Set(blobs), for: question.job, of: question.tenant)
        guard held.isSuperset(of: blobs) else {
            throw Problem(
                notAllowed: [Violation(pointer: "/body", message: "names a blob that is not one of yours")])
        }
    }
}

extension Problem {
    init(notAllowed violations: [Violation]) {
        self.init(InvalidInput(violations))
        let errors = errors
        self.init(.answerNotAllowed, detail)
        self.errors = errors
    }

    fileprivate init(answered question: StoredQuestion) {
        let who = question.given.map { "by \($0.by.name)" } ?? "by somebody"
        let time = question.endedAt.map { " at \($0)" } ?? ""
        self.init(.alreadyAnswered, "The question was answered \(who)\(time), and otherwise.")
    }

    fileprivate init(closed question: StoredQuestion) {
        let reason =
            switch question.reason {
            case .withdrawn: "Its job ended, or was stopped."
            case .superseded: "The node whose load asked is gone; the next attempt asks anew."
            case .expired, nil: "Nobody answered before \(question.deadline)."
            }
        self.init(.questionClosed, reason)
    }
}

extension Decision.Decider {
    /// Who it is, for a sentence.
    var name: String {
        switch self {
        case .configuration: "the configuration"
        case .rule(let name, _, _): name.map { "the rule \"\($0)\"" } ?? "a rule"
        case .delegate(let endpoint): "the endpoint \(endpoint)"
        case .key(let id): "the key \(id)"
        case .operator: "a person at the dashboard"
        case .otherwise: "the configuration, for nobody else did"
        }
    }
}

extension QuestionFilter {
    /// The parameters that a filter is written with in a query.
    static let parameters: Set = ["state", "kind", "job", "group", "label", "host"]

    init(_ query: Query) throws(Problem) {
        self.init(state: try query.oneOf("state"))
        kind = try query.oneOf("kind")
        job = try query.identifier("job", "a job (job_…)")
        group = try query.identifier("group", "a group (grp_…)")
        host = try query.text("host", maximumLength: Self.maximumHostLength)
        labels = try query.label().map { [$0] } ?? []
    }

    private var items: [(name: String, value: String?)] {
        [
            ("state", state?.rawValue), ("kind", kind?.rawValue), ("job", job?.description),
            ("group", group?.description), ("label", labels.first?.text), ("host", host),
        ]
    }

    /// The filter as it goes on in the links of a list; one of a job's list has the job in its path.
    func text(in path: String) -> String {
        Query.text(items.filter { $0.name != "job" || !path.hasPrefix("/v1/jobs/") })
    }

    /// The filter in a word, for cursors.
    var word: String { Cursor<QuestionIDKind>.digest(of: Query.text(items + [("labels", labelsText)])) }

    private var labelsText: String? {
        labels.count < 2 ? nil : labels.map(\.text).sorted().joined(separator: "\n")
    }
}
