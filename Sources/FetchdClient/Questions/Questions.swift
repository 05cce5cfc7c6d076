import HTTPTypes

/// The questions of a tenant's loads.
public struct Questions: Sendable {
    let transport: Transport

    /// The questions that a filter means, the oldest first, over all pages.
    ///
    /// - Parameters:
    ///   - state: Only questions in this state.
    ///   - kind: Only questions of this kind.
    ///   - job: Only questions of this job.
    public func list(
        state: Question.State? = nil, kind: Question.Kind? = nil, job: String? = nil
    ) -> PageSequence<Question> {
        let query = [("state", state?.rawValue), ("kind", kind?.rawValue), ("job", job)]
        return PageSequence(transport: transport, path: "/v1/questions", query: query)
    }

    /// A question as it stands.
    public func get(_ id: String) async throws(FetchdError) -> Question {
        try await transport.value(Call(.get, Call.path("questions", id)))
    }

    /// Answers a question; the first answer counts, and the same one is accepted again.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - answer: A word of its `answers`, or an object with the word as `answer` and what goes with it.
    ///   - note: Why; it is kept with the answer and shown.
    /// - Throws: `alreadyAnswered`, `questionClosed` and `answerNotAllowed` among others.
    @discardableResult
    public func answer(
        _ question: Question, _ answer: JSONValue, note: String? = nil
    ) async throws(FetchdError) -> Question {
        var members = answer.members
        if case .string = answer { members["answer"] = answer }
        members["note"] = note.map { .string($0) }
        let path = Call.path("jobs", question.job, "questions", question.id)
        return try await transport.value(Call(.post, path).with(.object(members)))
    }
}
