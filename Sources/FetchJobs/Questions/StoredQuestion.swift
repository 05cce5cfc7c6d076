import FetchEngine

/// A question to a delegate in its present state: its content, its deadline, and its answer.
package struct StoredQuestion: Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// It waits for an answer.
        case open
        case answered
        /// It was never answered; see ``Reason``.
        case closed
    }

    /// Why a question was closed without an answer.
    package enum Reason: String, Sendable, CaseIterable {
        /// There was no answer before the deadline.
        case expired
        /// Its job ended, or was stopped.
        case withdrawn
        /// The node of the load is gone: the next attempt asks again.
        case superseded
    }

    /// An answer and its author.
    package struct StoredAnswer: Sendable {
        /// Without its secrets.
        package let value: RawJSON
        package let by: Decision.Decider
        /// The note of the author.
        package let note: String?
        /// For how long and for which questions it is remembered, as the API writes it; nil when it is not.
        package let remember: RawJSON?

        package init(
            _ value: RawJSON, by decider: Decision.Decider, note: String? = nil, remember: RawJSON? = nil
        ) {
            self.value = value
            by = decider
            self.note = note
            self.remember = remember
        }
    }

    package let asked: AskedQuestion
    package let askedAt: Timestamp
    package let deadline: Timestamp
    package var state = State.open
    /// When it was answered or closed.
    package var endedAt: Timestamp?
    package var reason: Reason?
    package var answer: StoredAnswer?
    /// The fault of the last reply of its endpoint.
    package var fault: String?

    package var id: Question.ID { asked.id }

    package init(_ asked: AskedQuestion, askedAt: Timestamp, deadline: Timestamp) {
        self.asked = asked
        self.askedAt = askedAt
        self.deadline = deadline
    }

    package func write(_ writer: inout JSONWriter) {
        asked.writeOrigin(&writer)
        writer.member("state", state.rawValue)
        writer.member("askedAt", askedAt.description)
        writer.member("deadline", deadline.description)
        asked.writeContent(&writer)
        writer.member("endedAt", endedAt?.description)
        writer.member("reason", reason?.rawValue)
        if let answer {
            writer.member("answer", answer.value)
            writer.member("by", object: answer.by.write)
            writer.member("note", answer.note)
            writer.member("remember", answer.remember)
        }
        writer.member("fault", fault)
    }
}

/// A question as a load asks it.
package struct AskedQuestion: Sendable {
    package let id: Question.ID
    package let tenant: Tenant.ID
    package let job: Job.ID
    /// The claim of the job whose attempt asks.
    package let claim: Int32
    /// The number of its event among those of the attempt, from 1.
    package let sequence: Int
    package let kind: Question.Kind
    /// Host and port of the server that the question is about; nil when the URL has no host.
    package let host: String?
    package let group: JobGroup.ID?
    /// The session of the job, by which its client knows whose question it is, and which may remember an answer; nil when
    /// it has none.
    package let session: TenantSession.ID?
    package let labels: [JobSpec.Label]
    /// An object with `request` and `facts`, without secrets.
    package let content: RawJSON
    package let limits: AnswerLimits
    /// The endpoint that is asked; nil when the question waits in the API only.
    package let endpoint: WebhookEndpoint.ID?

    package init(
        id: Question.ID = Question.ID(),
        tenant: Tenant.ID,
        job: Job.ID,
        claim: Int32,
        sequence: Int,
        kind: Question.Kind,
        host: String?,
        group: JobGroup.ID?,
        session: TenantSession.ID? = nil,
        labels: [JobSpec.Label],
        content: RawJSON,
        limits: AnswerLimits,
        endpoint: WebhookEndpoint.ID?
    ) {
        self.id = id
        self.tenant = tenant
        self.job = job
        self.claim = claim
        self.sequence = sequence
        self.kind = kind
        self.host = host
        self.group = group
        self.session = session
        self.labels = labels
        self.content = content
        self.limits = limits
        self.endpoint = endpoint
    }

    /// The most bytes of ``content``.
    package static let maximumContentBytes = 65_536

    /// - Parameters:
    ///   - sequence: The number of its event among those of the attempt.
    ///   - urls: The shown parts of URLs.
    package init(
        _ question: Question, of job: ClaimedJob, sequence: Int, limits: AnswerLimits,
        endpoint: WebhookEndpoint.ID?, _ urls: URLForm = .whole
    ) {
        let text = JSONWriter.object { writer in
            writer.member("request", object: { question.request.writeHead(&$0, urls) })
            writer.member("facts", object: { question.writeFacts(&$0, urls) })
        }
        self.init(
            tenant: job.tenant, job: job.id, claim: job.claim, sequence: sequence, kind: question.kind,
            host: question.hostOfSubject, group: job.spec.group, session: job.spec.session, labels: job.spec.labels,
            content: QuestionContent.bounded(text), limits: limits, endpoint: endpoint)
    }

    /// Where it stands among the events of its job.
    package var position: JobEvent.Position { JobEvent.Position(attempt: Int(claim), number: sequence) }

    package func writeOrigin(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("job", job.description)
        writer.member("session", session?.description)
        writer.member("attempt", Int(claim))
        writer.member("sequence", position.description)
        writer.member("kind", kind.rawValue)
    }

    package func writeContent(_ writer: inout JSONWriter) {
        writer.member("answers", array: { writer in limits.words.forEach { writer.value($0.rawValue) } })
        writer.member("endpoint", endpoint?.description)
        writer.members(of: content)
    }
}

extension Question {
    /// Host and port of the server that the question is about: it asks for a credential, shows a chain, or responded.
    package var hostOfSubject: String? {
        switch subject {
        case .challenge(let challenge): "\(challenge.space.host):\(challenge.space.port)"
        case .serverTrust(let trust): "\(trust.host):\(trust.port)"
        default: request.url.hostAndPort
        }
    }
}
