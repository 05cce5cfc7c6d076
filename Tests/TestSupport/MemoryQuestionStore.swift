package import FetchJobs
import Synchronization

/// The questions of a test, in memory: the second form of ``QuestionStore``.
package final class MemoryQuestionStore: QuestionStore {
    private struct Stored {
        var question: StoredQuestion
        var answer: Answer?
        var load: ParkedLoad?
        var askAt: Timestamp?

        var end: QuestionEnd? {
            if let reason = question.reason { return .closed(reason) }
            guard let answer, let decider = question.answer?.by else { return nil }
            return .answered(answer, by: decider)
        }
    }

    private struct State {
        var stored: [Question.ID: Stored] = [:]
        /// In the order in which they were remembered.
        var remembered: [SessionAddress: [RememberedAnswer]] = [:]
        /// Jobs that are held, and under which claim.
        var held: [Job.ID: Int32]?

        mutating func remember(
            _ reply: Reply, to asked: AskedQuestion, by decider: Decision.Decider, at now: Timestamp
        ) {
            guard let remember = reply.remember, let session = asked.session else { return }
            let answer = RememberedAnswer(
                to: asked.id, Rule(on: asked.kind, when: remember.conditions.all, reply.answer), by: decider,
                rememberedAt: now, expiresAt: now.advanced(by: remember.duration))
            remembered[SessionAddress(tenant: asked.tenant, session: session), default: []].append(answer)
        }
    }

    private let maximumOpen: Int
    private let now: @Sendable () -> Timestamp
    private let onEnd: @Sendable ([Question.ID: QuestionEnd]) -> Void
    private let state = Mutex(State())

    /// - Parameter now: The time that deadlines are compared with.
    package init(
        maximumOpen: Int = Asking.maximumOpen,
        now: @escaping @Sendable () -> Timestamp = { .now },
        onEnd: @escaping @Sendable ([Question.ID: QuestionEnd]) -> Void = { _ in }
    ) {
        self.maximumOpen = maximumOpen
        self.now = now
        self.onEnd = onEnd
    }

    /// Says which jobs are held, and under which claim; all are before that is said.
    package func hold(_ jobs: [Job.ID: Int32]) { state.withLock { $0.held = jobs } }

    package func ask(
        _ question: AskedQuestion, of load: ParkedLoad?, timeout: Duration, at node: Node.ID
    ) async throws(StoreError) -> Asking {
        state.withLock { state in
            if let held = state.held, held[question.job] != question.claim { return .jobIsOver }
            let open = state.stored.values.count {
                $0.question.asked.tenant == question.tenant && $0.question.state == .open
            }
            guard open < maximumOpen else { return .tooMany }
            let now = now()
            let deadline = now.advanced(by: timeout)
            state.stored[question.id] = Stored(
                question: StoredQuestion(question, askedAt: now, deadline: deadline), load: load)
            return .open(askedAt: now, deadline: deadline)
        }
    }

    package func answer(
        _ id: Question.ID, of tenant: Tenant.ID, _ reply: Reply, by decider: Decision.Decider
    ) async throws(StoreError) -> Answering {
        let (answering, isNew) = state.withLock { state -> (Answering, Bool) in
            guard var stored = state.stored[id], stored.question.asked.tenant == tenant else {
                return (.notFound, false)
            }
            switch stored.question.state {
            case .answered:
                let isSame = stored.answer == reply.answer
                return (isSame ? .accepted(stored.question) : .alreadyAnswered(stored.question), false)
            case .closed: return (.closed(stored.question), false)
            case .open:
                guard stored.question.deadline > now() else { return (.closed(stored.question), false) }
                stored.question.state = .answered
                stored.question.endedAt = now()
                stored.question.answer = .init(
                    reply.shown, by: decider, note: reply.note, remember: reply.remember?.json)
                stored.answer = reply.answer
                state.stored[id] = stored
                state.remember(reply, to: stored.question.asked, by: decider, at: now())
                return (.accepted(stored.question), true)
            }
        }
        if isNew { onEnd([id: .answered(reply.answer, by: decider)]) }
        return answering
    }

    package func close(
        _ id: Question.ID, of tenant: Tenant.ID, _ reason: StoredQuestion.Reason
    ) async throws(StoreError) -> QuestionEnd? {
        let (end, isNew) = state.withLock { state -> (QuestionEnd?, Bool) in
            guard var stored = state.stored[id], stored.question.asked.tenant == tenant else { return (nil, false) }
            guard stored.question.state == .open else { return (stored.end, false) }
            if reason == .expired, stored.question.deadline > now() { return (nil, false) }
            stored.question.state = .closed
            stored.question.reason = reason
            stored.question.endedAt = now()
            state.stored[id] = stored
            return (.closed(reason), true)
        }
        if isNew, let end { onEnd([id: end]) }
        return end
    }

    package func questionsToAsk(limit: Int) async throws(StoreError) -> [StoredQuestion] {
        let now = now()
        return state.withLock { state in
            let open = state.stored.values.filter { $0.question.state == .open && $0.question.deadline > now }
            let due = open.compactMap { stored in stored.askAt.map { (at: $0, question: stored.question) } }
                .filter { $0.at <= now }.sorted { $0.at < $1.at }.prefix(limit).map(\.question)
            for question in due { state.stored[question.id]?.askAt = now.advanced(by: .seconds(30)) }
            return due
        }
    }

    package func ask(_ question: QuestionKey, after wait: Duration?) async throws(StoreError) {
        let now = now()
        state.withLock { $0.stored[question.id]?.askAt = wait.map { now.advanced(by: $0) } }
    }

    package func park(
        _ question: AskedQuestion, isBeingAsked: Bool, at node: Node.ID
    ) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard let stored = state.stored[question.id], stored.question.state == .open, stored.load != nil,
                stored.question.deadline > now(), state.held.map({ $0[question.job] == question.claim }) ?? true
            else { return false }
            state.held?[question.job] = nil
            if isBeingAsked { state.stored[question.id]?.askAt = now() }
            return true
        }
    }

    package func parked(
        _ id: Question.ID, of tenant: Tenant.ID
    ) async throws(StoreError) -> (StoredQuestion, QuestionEnd?, ParkedLoad)? {
        state.withLock { state in
            guard let stored = state.stored[id], stored.question.asked.tenant == tenant, let load = stored.load
            else { return nil }
            return (stored.question, stored.end, load)
        }
    }

    package func ends(of questions: [QuestionKey]) async throws(StoreError) -> [Question.ID: QuestionEnd] {
        state.withLock { state in
            var ends: [Question.ID: QuestionEnd] = [:]
            for key in questions {
                guard let stored = state.stored[key.id], stored.question.asked.tenant == key.tenant else { continue }
                ends[key.id] = stored.end
            }
            return ends
        }
    }

    package func note(fault: String, of id: Question.ID, _ tenant: Tenant.ID) async throws(StoreError) {
        state.withLock { state in
            guard state.stored[id]?.question.asked.tenant == tenant else { return }
            state.stored[id]?.question.fault = fault
        }
    }

    package func question(_ id: Question.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredQuestion? {
        state.withLock { state in
            state.stored[id].map(\.question).flatMap { $0.asked.tenant == tenant ? $0 : nil }
        }
    }

    package func questions(
        of tenant: Tenant.ID, matching filter: QuestionFilter, after: Question.ID?, limit: Int
    ) async throws(StoreError) -> [StoredQuestion] {
        state.withLock { state in
            state.stored.values.map(\.question)
                .filter { question in
                    question.asked.tenant == tenant && filter.matches(question)
                        && (after.map { question.id > $0 } ?? true)
                }
                .sorted { $0.id < $1.id }
                .prefix(limit).map(\.self)
        }
    }

    package func lastEnded(of tenant: Tenant.ID, limit: Int) async throws(StoreError) -> [StoredQuestion] {
        state.withLock { state in
            state.stored.values.map(\.question)
                .filter { $0.asked.tenant == tenant && $0.state != .open }
                .sorted { ($0.endedAt ?? .now) > ($1.endedAt ?? .now) }
                .prefix(limit).map(\.self)
        }
    }
}

extension MemoryQuestionStore: AnswerCatalog {
    package func rememberedAnswers(of session: SessionAddress) async throws(StoreError) -> [RememberedAnswer] {
        state.withLock { state in
            let all = (state.remembered[session] ?? []).filter { $0.expiresAt > now() }
            return all.suffix(RememberedAnswer.maximumOfSession).reversed()
        }
    }

    package func forget(_ question: Question.ID?, of session: SessionAddress) async throws(StoreError) -> Int {
        state.withLock { state in
            let all = state.remembered[session] ?? []
            let kept = all.filter { answer in question.map { answer.question != $0 } ?? false }
            state.remembered[session] = kept
            return all.count - kept.count
        }
    }
}
