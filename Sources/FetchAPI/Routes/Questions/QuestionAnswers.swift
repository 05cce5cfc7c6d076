import FetchJobs

/// Answers questions within their limits; the first answer to a question counts.
struct QuestionAnswers: Sendable {
    static let notFound = Problem(.notFound, "There is no question with this id.")
    /// How many questions one request answers at most.
    static let maximumQuestions = 10_000
    /// How many questions are answered at once.
    private static let pageSize = 500

    let questions: any QuestionStore
    let judge: AnswerJudge

    /// The author of an answer: the key of a call.
    func key(of call: Call) throws -> Decision.Decider { .key(try call.requireKey().id.description) }

    /// - Returns: The question with its answer.
    /// - Throws: ``Problem`` `answerNotAllowed`, `alreadyAnswered` or `questionClosed`.
    func give(_ reply: Reply, to question: StoredQuestion, by decider: Decision.Decider) async throws -> StoredQuestion
    {
        // Whether an answer would be allowed does not matter of one that is over.
        if question.state == .open {
            let violations = try await judge.violations(of: reply.answer, to: question.asked)
            guard violations.isEmpty else { throw Problem(notAllowed: violations) }
        }
        switch try await questions.answer(question.id, of: question.asked.tenant, reply, by: decider) {
        case .accepted(let question): return question
        case .alreadyAnswered(let question): throw Problem(answered: question)
        case .closed(let question): throw Problem(closed: question)
        case .notFound: throw Self.notFound
        }
    }

    /// The questions that one reply was given to.
    struct Total {
        /// How many questions matched the filter.
        var matched = 0
        /// How many of them have got the answer, or would get it.
        var changed = 0
        /// The last of them when the limit may have left some out; nil when it has not.
        var last: Question.ID?
    }

    /// Gives one reply to the open questions of a filter, the oldest first.
    ///
    /// A question that is over, or whose limits the answer breaks, stays as it is.
    ///
    /// - Parameters:
    ///   - after: The question to go on after; nil to begin with the oldest.
    ///   - limit: How many questions to answer at most.
    ///   - isDryRun: Counts the questions, and answers none.
    func giveAll(
        _ reply: Reply, to filter: QuestionFilter, of tenant: Tenant.ID, after: Question.ID? = nil,
        limit: Int = maximumQuestions, isDryRun: Bool = false, by decider: Decision.Decider
    ) async throws -> Total {
        var total = Total(last: after)
        while total.matched < limit {
            let size = min(Self.pageSize, limit - total.matched)
            let page = try await questions.questions(of: tenant, matching: filter, after: total.last, limit: size)
            total.matched += page.count
            total.changed += isDryRun ? page.count : try await give(reply, to: page, by: decider)
            total.last = page.count == size ? page.last?.id : nil
            if total.last == nil { break }
        }
        return total
    }

    /// - Returns: How many questions have got the answer.
    private func give(
        _ reply: Reply, to page: [StoredQuestion], by decider: Decision.Decider
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for question in page {
                group.addTask {
                    do {
                        _ = try await give(reply, to: question, by: decider)
                        return true
                    } catch let problem as Problem
                        where [.answerNotAllowed, .alreadyAnswered, .questionClosed, .notFound].contains(problem.code)
                    {
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
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
        let who = question.answer.map { "by \($0.by.name)" } ?? "by somebody"
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
    /// The author in a sentence.
    var name: String {
        switch self {
        case .configuration: "the configuration"
        case .rule(let name, _, _): name.map { "the rule \"\($0)\"" } ?? "a rule"
        case .remembered(let question): "the answer to \(question), which was remembered"
        case .delegate(let endpoint): "the endpoint \(endpoint)"
        case .key(let id): "the key \(id)"
        case .operator: "a person at the dashboard"
        case .otherwise: "the configuration, for nobody else did"
        }
    }
}
