/// A decided question: its answer, its author, and its time.
package struct Decision: Sendable {
    /// The author of a decision.
    package enum Decider: Sendable, Equatable {
        /// The configuration's own policy.
        case configuration
        /// A rule of the job, its session or the service.
        case rule(name: String?, RuleBook.Level, index: Int)
        /// The answer to an earlier question, which the session has remembered.
        case remembered(Question.ID)
        /// The delegate, by its reply.
        case delegate(WebhookEndpoint.ID)
        /// A client with an API key.
        case key(String)
        /// A person at the dashboard.
        case `operator`
        /// Nobody in time.
        case otherwise(Reason)
    }

    /// Why there was no answer.
    package enum Reason: String, Sendable, CaseIterable {
        /// The deadline passed.
        case timeout
        /// The endpoint could not be reached, and is not waited for.
        case unreachable
        /// The job, or its tenant, has asked as often as it may.
        case tooManyQuestions
    }

    /// Its order among the questions of the attempt, from 1.
    package let sequence: Int
    package let at: Timestamp
    package let kind: Question.Kind
    /// A JSON object of the facts, short and without secrets.
    package let facts: RawJSON
    package let by: Decider
    package let answer: Answer
    /// How long the load waited; nil when it did not.
    package let waited: Duration?
    /// Which limit kept the answer from being used; nil when it was.
    package let refusal: String?

    package init(
        sequence: Int,
        at time: Timestamp = .now,
        _ question: Question,
        by decider: Decider,
        _ answer: Answer,
        waited: Duration? = nil,
        refusal: String? = nil,
        _ urls: URLForm = .whole
    ) {
        self.sequence = sequence
        at = time
        kind = question.kind
        facts = RawJSON(JSONWriter.object { question.writeSummary(&$0, urls) })
        by = decider
        self.answer = answer
        self.waited = waited
        self.refusal = refusal
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("sequence", sequence)
        writer.member("at", at.description)
        writer.member("kind", kind.rawValue)
        writer.member("facts", facts)
        writer.member("by", object: by.write)
        writer.name("answer")
        answer.write(&writer, .redacted)
        writer.member("waited", waited?.seconds)
        writer.member("refusal", refusal)
    }
}

extension Decision.Decider {
    /// The name of the decider's kind.
    package var word: String {
        switch self {
        case .configuration: "configuration"
        case .rule: "rule"
        case .remembered: "remembered"
        case .delegate: "delegate"
        case .key: "key"
        case .operator: "operator"
        case .otherwise: "otherwise"
        }
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("who", word)
        switch self {
        case .configuration, .operator: break
        case .rule(let name, let level, let index):
            writer.member("rule", name)
            writer.member("from", level.rawValue)
            writer.member("index", index)
        case .remembered(let question): writer.member("question", question.description)
        case .delegate(let endpoint): writer.member("endpoint", endpoint.description)
        case .key(let id): writer.member("key", id)
        case .otherwise(let reason): writer.member("reason", reason.rawValue)
        }
    }
}
