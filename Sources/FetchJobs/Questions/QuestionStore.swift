/// The questions of loads to their delegates.
///
/// A question ends by one conditional change, by the clock of the store; the first change wins.
package protocol QuestionStore: Sendable {
    /// Stores a question with the position of its load, and marks its job as waiting for it.
    ///
    /// A job with a position counts as not begun: when its node is lost, any node continues there, and the answer is
    /// used then. A node that goes on with the answer to a job that must not be repeated begins it anew.
    ///
    /// - Parameters:
    ///   - load: Where the load stands; nil where another node cannot go on from there.
    ///   - timeout: How long there is to answer it.
    ///   - node: That has the job.
    func ask(
        _ question: AskedQuestion, of load: ParkedLoad?, timeout: Duration, at node: Node.ID
    ) async throws(StoreError) -> Asking

    /// Answers a question, unless it is over.
    func answer(
        _ id: Question.ID, of tenant: Tenant.ID, _ reply: Reply, by decider: Decision.Decider
    ) async throws(StoreError) -> Answering

    /// Closes a question that is open; one is expired by its deadline only.
    ///
    /// - Returns: How the question ended, by this call or before; nil while it is open.
    func close(
        _ id: Question.ID, of tenant: Tenant.ID, _ reason: StoredQuestion.Reason
    ) async throws(StoreError) -> QuestionEnd?

    /// Parks the load of a question that was stored with a position: takes its job from the node.
    ///
    /// The job waits for the end of the question or for its deadline, and is then any node's.
    ///
    /// - Parameter isBeingAsked: Whether its endpoint is to be asked again, by any node.
    /// - Returns: false when the question is over, has no position, or the job is not the node's under its claim.
    func park(_ question: AskedQuestion, isBeingAsked: Bool, at node: Node.ID) async throws(StoreError) -> Bool

    /// Takes questions of parked loads whose endpoints are to be asked now.
    ///
    /// Each is found again after half a minute, unless ``ask(_:after:)`` says otherwise.
    func questionsToAsk(limit: Int) async throws(StoreError) -> [StoredQuestion]

    /// Says when the endpoint of a parked load is asked again; nil for never.
    func ask(_ question: QuestionKey, after wait: Duration?) async throws(StoreError)

    /// The position that was stored with a question, and how that has ended; nil inside while it is open.
    func parked(
        _ id: Question.ID, of tenant: Tenant.ID
    ) async throws(StoreError) -> (StoredQuestion, QuestionEnd?, ParkedLoad)?

    /// How the questions ended that are over.
    func ends(of questions: [QuestionKey]) async throws(StoreError) -> [Question.ID: QuestionEnd]

    /// Stores the fault of a reply to a question.
    func note(fault: String, of id: Question.ID, _ tenant: Tenant.ID) async throws(StoreError)

    func question(_ id: Question.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredQuestion?

    /// A page of the tenant's questions that match, the oldest first.
    func questions(
        of tenant: Tenant.ID, matching filter: QuestionFilter, after: Question.ID?, limit: Int
    ) async throws(StoreError) -> [StoredQuestion]

    /// The tenant's questions that ended last, the last one first.
    func lastEnded(of tenant: Tenant.ID, limit: Int) async throws(StoreError) -> [StoredQuestion]
}

/// A question of a tenant.
package struct QuestionKey: Sendable, Hashable {
    package let tenant: Tenant.ID
    package let id: Question.ID

    package init(tenant: Tenant.ID, id: Question.ID) {
        self.tenant = tenant
        self.id = id
    }
}

/// The result of asking.
package enum Asking: Sendable, Equatable {
    /// It is open, and since when and until when.
    case open(askedAt: Timestamp, deadline: Timestamp)
    /// The tenant has as many open questions as it may.
    case tooMany
    /// The job is not, or not any more, this node's under this claim, or it is being cancelled.
    case jobIsOver

    /// How many open questions one tenant may have, unless the operator sets another number.
    package static let maximumOpen = 10_000
}

/// The result of an answer.
package enum Answering: Sendable {
    /// It is the question's; or it was already, and this says the same.
    case accepted(StoredQuestion)
    /// Another one was given before.
    case alreadyAnswered(StoredQuestion)
    /// The question is closed, or its deadline has passed.
    case closed(StoredQuestion)
    case notFound
}

/// How a question ended.
package enum QuestionEnd: Sendable, Equatable {
    case answered(Answer, by: Decision.Decider)
    case closed(StoredQuestion.Reason)
}

/// A set of questions: those that match every member that is set.
package struct QuestionFilter: Sendable, Equatable {
    package var state: StoredQuestion.State?
    package var kind: Question.Kind?
    package var job: Job.ID?
    package var group: JobGroup.ID?
    /// Host and port of the server that the question is about.
    package var host: String?
    /// The longest name of a host, with brackets or a dot, a colon and a port.
    package static let maximumHostLength = 260
    /// All of them, with these values.
    package var labels: [JobSpec.Label] = []
    /// Asked before that time.
    package var askedBefore: Timestamp?

    package init(state: StoredQuestion.State? = nil) { self.state = state }

    package func matches(_ question: StoredQuestion) -> Bool {
        (state == nil || question.state == state) && (kind == nil || question.asked.kind == kind)
            && (job == nil || question.asked.job == job) && (group == nil || question.asked.group == group)
            && (host == nil || question.asked.host == host)
            && labels.allSatisfy { question.asked.labels.contains($0) }
            && (askedBefore.map { question.askedAt < $0 } ?? true)
    }
}

extension QuestionFilter {
    /// Reads the filter of the open questions that get one answer; the kind is required.
    package init?(reader: JSONReader) {
        guard let object = reader.object(of: ["kind", "job", "group", "host", "label", "labels"]) else { return nil }
        self.init()
        kind = object.required("kind")?.oneOf(Question.Kind.self)
        job = object["job"]?.identifier("a job (job_…)")
        group = object["group"]?.identifier("a group (grp_…)")
        host = object["host"]?.string(maximumLength: Self.maximumHostLength)
        labels = JobSpec.Label.ofFilter(object)
    }
}
