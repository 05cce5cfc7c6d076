import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// The questions of loads to their delegates: listing them, waiting for one, and answering one.
struct QuestionRoutes: Sendable {
    private static let path = "/v1/questions"

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
        let filter = try QuestionFilter(query)
        return try await page(call, filter, query, of: Self.path, filter.items, tenant)
    }

    private func listOfJob(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["state", "kind", "limit", "cursor"])
        guard let id = Job.ID(call.parameter), try await jobs.job(id, of: tenant) != nil else {
            throw JobRoutes.notFound
        }
        var filter = QuestionFilter(state: try query.oneOf("state"))
        filter.kind = try query.oneOf("kind")
        let items = filter.items
        filter.job = id
        return try await page(call, filter, query, of: "/v1/jobs/\(id)/questions", items, tenant)
    }

    /// - Parameter items: The parts of the filter that the path of the list does not say, for the links of the page.
    private func page(
        _ call: Call, _ filter: QuestionFilter, _ query: Query, of path: String,
        _ items: [(name: String, value: String?)], _ tenant: Tenant.ID
    ) async throws -> Response {
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try Cursor<QuestionIDKind>($0, filter: filter.word).after }
        let preferences = Preferences(of: call.headers)
        let page = try await questions(waiting: preferences.wait ?? 0, for: call.connection, tenant) {
            try await questions.questions(of: tenant, matching: filter, after: after, limit: limit + 1)
        }
        var response = Response.page(
            page, limit: limit, of: path, Query.text(items),
            cursor: { Cursor(after: $0.id, filter: filter.word).text }, write: { $0.write(&$1) })
        if preferences.wait != nil { response.headers[.preferenceApplied] = preferences.applied }
        return response
    }

    /// The questions that `find` finds; where it finds none, it is called again until it does, for some seconds.
    private func questions(
        waiting seconds: Int, for client: Connection?, _ tenant: Tenant.ID, find: () async throws -> [StoredQuestion]
    ) async throws -> [StoredQuestion] {
        let deadline = ContinuousClock.now + .seconds(seconds)
        // Listens before it looks, so that it misses no question that is asked in between.
        let listener = asked.listen(to: tenant)
        defer { asked.leave(listener) }
        var page = try await find()
        guard page.isEmpty else { return page }
        try await listener.condition.wait(until: deadline, for: client) {
            page = try await find()
            return !page.isEmpty
        }
        return page
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
        guard let job = Job.ID(call.parameter), let id = call.parameters.last.flatMap({ Question.ID($0) }) else {
            throw QuestionAnswers.notFound
        }
        guard let question = try await questions.question(id, of: tenant), question.asked.job == job else {
            // Tells which node has a job of an ephemeral session, and what that asks.
            _ = try await jobs.job(job, of: tenant)
            throw QuestionAnswers.notFound
        }
        let reply = try await KeyReading.shared.read(json, of: tenant) { json throws(InvalidInput) in
            try Reply(json: json, to: question.asked)
        }
        let now = try await answers.give(reply, to: question, by: try answers.key(of: call))
        return .json { now.write(&$0) }
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

    /// The parameters of the filter, as they go on in the links of a list.
    var items: [(name: String, value: String?)] {
        [
            ("state", state?.rawValue), ("kind", kind?.rawValue), ("job", job?.description),
            ("group", group?.description), ("label", labels.first?.text), ("host", host),
        ]
    }

    /// A digest of the filter, for cursors.
    var word: String { Cursor<QuestionIDKind>.digest(of: Query.text(items + [("labels", labelsText)])) }

    private var labelsText: String? {
        labels.count < 2 ? nil : labels.map(\.text).sorted().joined(separator: "\n")
    }
}
