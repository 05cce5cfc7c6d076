import FetchJobs
import HTTPTypes
import Hummingbird

// The inbox: the open questions, for a person to answer.

extension DashboardRoutes {
    private static let path = "/dashboard/questions"
    private static let answerPath = "\(path)/{id}/answer"
    /// How many ended questions the page shows.
    private static let endedCount = 10

    var questionRoutes: [Route] {
        [
            page(.get, Self.path, inbox),
            page(.post, Self.answerPath, answer),
        ]
    }

    private func inbox(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "cursor")
        let view = try await view(query, call, session)
        let filter = QuestionFilter(state: .open)
        let now = Timestamp.now
        let after = try query["cursor"].map { try Cursor<QuestionIDKind>($0, filter: filter.word).after }
        let items = try await questions.questions(
            of: view.tenant, matching: filter, after: after, limit: Self.pageSize + 1)
        let part = ListPart(items, limit: Self.pageSize)
        let next = part.next { view.href(Self.path, ("cursor", Cursor(after: $0.id, filter: filter.word).text)) }
        let ended = try await questions.lastEnded(of: view.tenant, limit: Self.endedCount)
        var content = QuestionListPage(
            part.shown, isFirst: after == nil, next: next, ended: ended, view: view,
            mayAnswer: view.may(Self.answerPath), frame: frame("Questions", call, session), now: now)
        content.notice = Self.notice(view)
        content.search = search(call, view, [])
        return page(.questions, content)
    }

    private func answer(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let form = try await gate.form(of: call, in: session)
        guard let id = Question.ID(call.parameter),
            let question = try await questions.question(id, of: session.tenant)
        else { throw QuestionAnswers.notFound }
        let reply = try Reply(json: Self.answer(form), to: question.asked)
        if form["all"] != nil, let alike = Self.alike(question, before: form["before"]) {
            _ = try await answers.giveAll(reply, to: alike, of: session.tenant, by: .operator)
        } else {
            _ = try await answers.give(reply, to: question, by: .operator)
        }
        return Self.redirect(to: Self.path)
    }

    /// The open questions of the same kind about the same host that were asked before a time.
    ///
    /// Nil without a host, as a filter without one means every host, and without a time.
    private static func alike(_ question: StoredQuestion, before time: String?) -> QuestionFilter? {
        guard let host = question.asked.host, let time = time.flatMap({ Timestamp(rfc3339: $0) }) else { return nil }
        var filter = QuestionFilter(state: .open)
        filter.kind = question.asked.kind
        filter.host = host
        filter.askedBefore = time
        return filter
    }

    /// The reply that a form holds, as the API would get it.
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
