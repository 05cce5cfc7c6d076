import FetchJobs
import HTTPTypes
import Hummingbird

// The inbox: what loads ask, answered by a person.

extension DashboardRoutes {
    private static let path = "/dashboard/questions"
    /// How many of those that are over are shown.
    private static let endedCount = 10

    var questionRoutes: [Route] {
        [
            Route(.get, Self.path, signedIn(inbox)),
            Route(.post, "\(Self.path)/{id}/answer", signedIn(answer)),
        ]
    }

    private func inbox(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try call.query(allowing: ["cursor"])
        let filter = QuestionFilter(state: .open)
        let after = try query["cursor"].map { try Cursor<QuestionIDKind>($0, filter: filter.word).after }
        let found = try await questions.questions(
            of: session.tenant, matching: filter, after: after, limit: Self.pageSize + 1)
        let shown = Array(found.prefix(Self.pageSize))
        let next = found.count > shown.count ? shown.last.map { Cursor(after: $0.id, filter: filter.word) } : nil
        let ended = try await questions.lastEnded(of: session.tenant, limit: Self.endedCount)
        let content = QuestionListPage(
            shown, ended: ended, next: next.map { "\(Self.path)?cursor=\($0.text)" },
            frame: frame("Questions", session), now: .now)
        return page(.questions, content)
    }

    private func answer(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let form = try await gate.form(of: call, in: session)
        guard let id = Question.ID(call.parameter),
            let question = try await questions.question(id, of: session.tenant)
        else { throw QuestionAnswers.notFound }
        let reply = try Reply(json: Self.answer(form), to: question.asked.kind)
        guard form["all"] != nil, let before = form["before"].flatMap({ Timestamp(rfc3339: $0) }) else {
            _ = try await answers.give(reply, to: question, by: .operator)
            return Self.redirect(to: Self.path)
        }
        var filter = QuestionFilter(state: .open)
        filter.kind = question.asked.kind
        filter.host = question.asked.host
        filter.askedBefore = before
        let alike = try await questions.questions(
            of: session.tenant, matching: filter, after: nil, limit: QuestionActionRoute.maximumQuestions)
        _ = try await QuestionActionRoute(questions: questions, answers: answers)
            .give(reply, to: alike, by: .operator)
        return Self.redirect(to: Self.path)
    }

    /// The answer that a form says.
    private static func answer(_ form: Query) -> JSONValue {
        var members = [JSONMember("answer", .string(form["answer"] ?? ""))]
        if form["answer"] == Answer.Word.useCredential.rawValue {
            let login = [
                JSONMember("user", .string(form["user"] ?? "")),
                JSONMember("password", .string(form["password"] ?? "")),
            ]
            members.append(JSONMember("credential", .object(login)))
        }
        if let note = form["note"], !note.isEmpty { members.append(JSONMember("note", .string(note))) }
        return .object(members)
    }
}
