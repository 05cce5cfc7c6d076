package import FetchJobs
package import FetchRuntime
import Synchronization

/// The questions of jobs in ephemeral sessions of this node: in memory, and nothing of them is written (SES-3).
package final class EphemeralQuestions: Sendable {
    private struct Entry {
        var question: StoredQuestion
        var answer: Answer?

        var end: QuestionEnd? {
            if let reason = question.reason { return .closed(reason) }
            guard let answer, let decider = question.answer?.by else { return nil }
            return .answered(answer, by: decider)
        }
    }

    private struct State {
        var entries: [Question.ID: Entry] = [:]
        /// The questions of each job that its session has, in their order.
        var jobs: [Job.ID: [Question.ID]] = [:]
        /// How many questions of each tenant are open.
        var open: [Tenant.ID: Int] = [:]
        /// Those that are over, in the order of their ends, and how many bytes they have.
        var ended: ArraySlice<Question.ID> = []
        var bytes = 0

        func entry(_ key: QuestionKey) -> Entry? {
            entries[key.id].flatMap { $0.question.asked.tenant == key.tenant ? $0 : nil }
        }

        mutating func forget(_ id: Question.ID) {
            guard let entry = entries.removeValue(forKey: id) else { return }
            if entry.question.state == .open {
                open[entry.question.asked.tenant, default: 1] -= 1
            } else {
                bytes -= entry.question.asked.content.bytes.count
            }
        }

        /// Keeps a question that is over; the oldest such make room.
        mutating func end(_ entry: Entry, limit: Int) {
            let asked = entry.question.asked
            entries[asked.id] = entry
            open[asked.tenant, default: 1] -= 1
            if open[asked.tenant] == 0 { open[asked.tenant] = nil }
            ended.append(asked.id)
            bytes += asked.content.bytes.count
            while bytes > limit, let oldest = ended.popFirst() {
                if let job = entries[oldest]?.question.asked.job { jobs[job]?.removeAll { $0 == oldest } }
                forget(oldest)
            }
        }
    }

    /// How many bytes the questions have that are over and still shown.
    static let maximumBytes = 64 << 20

    private let limits: KnownTenantLimits
    private let maximumBytes: Int
    private let onAsk: @Sendable (Tenant.ID) -> Void
    private let onEnd: @Sendable ([Question.ID: QuestionEnd]) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limits: How many open questions tenants may have, here and stored ones apart.
    ///   - maximumBytes: How many bytes those have that are over.
    ///   - onAsk: Hears whose questions are asked.
    ///   - onEnd: Hears of questions that were answered or closed.
    package init(
        limits: KnownTenantLimits = KnownTenantLimits(), maximumBytes: Int = EphemeralQuestions.maximumBytes,
        onAsk: @escaping @Sendable (Tenant.ID) -> Void = { _ in },
        onEnd: @escaping @Sendable ([Question.ID: QuestionEnd]) -> Void = { _ in }
    ) {
        self.limits = limits
        self.maximumBytes = maximumBytes
        self.onAsk = onAsk
        self.onEnd = onEnd
    }

    // MARK: Jobs

    /// A job has begun that may ask.
    package func begin(_ job: Job.ID) { state.withLock { $0.jobs[job] = [] } }

    /// Its session has forgotten a job.
    package func forget(_ job: Job.ID) {
        state.withLock { state in for id in state.jobs.removeValue(forKey: job) ?? [] { state.forget(id) } }
    }

    /// Whether the job is one of an ephemeral session of this node.
    func has(_ job: Job.ID) -> Bool { state.withLock { $0.jobs[job] != nil } }

    /// The question that a job waits for.
    func open(of job: Job.ID) -> Question.ID? {
        state.withLock { state in state.jobs[job]?.last { state.entries[$0]?.question.state == .open } }
    }

    // MARK: Questions

    func ask(_ asked: AskedQuestion, timeout: Duration) -> Asking {
        let asking = state.withLock { state -> Asking in
            guard state.jobs[asked.job] != nil else { return .jobIsOver }
            let maximum = limits[.maximumOpenQuestions, asked.tenant] ?? .max
            guard state.open[asked.tenant, default: 0] < maximum else { return .tooMany }
            let now = Timestamp.now
            let deadline = now.advanced(by: timeout)
            state.entries[asked.id] = Entry(question: StoredQuestion(asked, askedAt: now, deadline: deadline))
            state.jobs[asked.job]?.append(asked.id)
            state.open[asked.tenant, default: 0] += 1
            return .open(askedAt: now, deadline: deadline)
        }
        if case .open = asking { onAsk(asked.tenant) }
        return asking
    }

    /// - Returns: Nil when the question is not one of these.
    func answer(_ key: QuestionKey, _ reply: Reply, by decider: Decision.Decider) -> Answering? {
        let (answering, isNew) = state.withLock { state -> (Answering?, Bool) in
            guard var entry = state.entry(key) else { return (nil, false) }
            switch entry.question.state {
            case .answered:
                let isSame = entry.answer == reply.answer
                return (isSame ? .accepted(entry.question) : .alreadyAnswered(entry.question), false)
            case .closed: return (.closed(entry.question), false)
            case .open:
                guard entry.question.deadline > .now else { return (.closed(entry.question), false) }
                entry.question.state = .answered
                entry.question.endedAt = .now
                entry.question.answer = .init(reply.shown, by: decider, note: reply.note)
                entry.answer = reply.answer
                state.end(entry, limit: maximumBytes)
                return (.accepted(entry.question), true)
            }
        }
        if isNew { onEnd([key.id: .answered(reply.answer, by: decider)]) }
        return answering
    }

    /// - Returns: How the question ended, by this call or before; nil while it is open, and when it is not one of these.
    func close(_ key: QuestionKey, _ reason: StoredQuestion.Reason) -> QuestionEnd? {
        let (end, isNew) = state.withLock { state -> (QuestionEnd?, Bool) in
            guard var entry = state.entry(key) else { return (nil, false) }
            guard entry.question.state == .open else { return (entry.end, false) }
            if reason == .expired, entry.question.deadline > .now { return (nil, false) }
            entry.question.state = .closed
            entry.question.reason = reason
            entry.question.endedAt = .now
            state.end(entry, limit: maximumBytes)
            return (.closed(reason), true)
        }
        if isNew, let end { onEnd([key.id: end]) }
        return end
    }

    func ends(of keys: [QuestionKey]) -> [Question.ID: QuestionEnd] {
        state.withLock { state in
            var ends: [Question.ID: QuestionEnd] = [:]
            for key in keys { ends[key.id] = state.entry(key)?.end }
            return ends
        }
    }

    func note(fault: String, of key: QuestionKey) {
        state.withLock { state in
            if state.entry(key) != nil { state.entries[key.id]?.question.fault = fault }
        }
    }

    func question(_ key: QuestionKey) -> StoredQuestion? { state.withLock { $0.entry(key)?.question } }

    /// Those of a tenant that are meant, in any order.
    func questions(of tenant: Tenant.ID, matching filter: QuestionFilter) -> [StoredQuestion] {
        state.withLock { state in
            state.entries.values.map(\.question).filter { $0.asked.tenant == tenant && filter.matches($0) }
        }
    }

    /// Whether a question is one of these.
    func has(_ key: QuestionKey) -> Bool { state.withLock { $0.entry(key) != nil } }
}

/// Adds the questions of ephemeral sessions to the stored ones.
package struct EphemeralQuestionStore: QuestionStore {
    private let stored: any QuestionStore
    private let ephemeral: EphemeralQuestions

    package init(stored: any QuestionStore, ephemeral: EphemeralQuestions) {
        self.stored = stored
        self.ephemeral = ephemeral
    }

    package func ask(
        _ question: AskedQuestion, of load: ParkedLoad?, timeout: Duration, at node: Node.ID
    ) async throws(StoreError) -> Asking {
        if ephemeral.has(question.job) { return ephemeral.ask(question, timeout: timeout) }
        return try await stored.ask(question, of: load, timeout: timeout, at: node)
    }

    package func answer(
        _ id: Question.ID, of tenant: Tenant.ID, _ reply: Reply, by decider: Decision.Decider
    ) async throws(StoreError) -> Answering {
        if let answering = ephemeral.answer(QuestionKey(tenant: tenant, id: id), reply, by: decider) {
            return answering
        }
        return try await stored.answer(id, of: tenant, reply, by: decider)
    }

    package func close(
        _ id: Question.ID, of tenant: Tenant.ID, _ reason: StoredQuestion.Reason
    ) async throws(StoreError) -> QuestionEnd? {
        let key = QuestionKey(tenant: tenant, id: id)
        if ephemeral.has(key) { return ephemeral.close(key, reason) }
        return try await stored.close(id, of: tenant, reason)
    }

    package func park(_ question: AskedQuestion, isBeingAsked: Bool, at node: Node.ID) async throws(StoreError) -> Bool
    {
        if ephemeral.has(question.job) { return false }
        return try await stored.park(question, isBeingAsked: isBeingAsked, at: node)
    }

    // Loads of ephemeral sessions are never parked.
    package func questionsToAsk(limit: Int) async throws(StoreError) -> [StoredQuestion] {
        try await stored.questionsToAsk(limit: limit)
    }

    package func ask(_ question: QuestionKey, after wait: Duration?) async throws(StoreError) {
        try await stored.ask(question, after: wait)
    }

    package func parked(
        _ id: Question.ID, of tenant: Tenant.ID
    ) async throws(StoreError) -> (StoredQuestion, QuestionEnd?, ParkedLoad)? {
        try await stored.parked(id, of: tenant)
    }

    package func ends(of questions: [QuestionKey]) async throws(StoreError) -> [Question.ID: QuestionEnd] {
        let mine = ephemeral.ends(of: questions)
        let others = questions.filter { !ephemeral.has($0) }
        return others.isEmpty ? mine : try await stored.ends(of: others).merging(mine) { $1 }
    }

    package func note(fault: String, of id: Question.ID, _ tenant: Tenant.ID) async throws(StoreError) {
        let key = QuestionKey(tenant: tenant, id: id)
        if ephemeral.has(key) { return ephemeral.note(fault: fault, of: key) }
        try await stored.note(fault: fault, of: id, tenant)
    }

    package func question(_ id: Question.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredQuestion? {
        if let question = ephemeral.question(QuestionKey(tenant: tenant, id: id)) { return question }
        return try await stored.question(id, of: tenant)
    }

    package func questions(
        of tenant: Tenant.ID, matching filter: QuestionFilter, after: Question.ID?, limit: Int
    ) async throws(StoreError) -> [StoredQuestion] {
        let others = try await stored.questions(of: tenant, matching: filter, after: after, limit: limit)
        let mine = ephemeral.questions(of: tenant, matching: filter).filter { question in
            after.map { question.id > $0 } ?? true
        }
        return mine.isEmpty ? others : Array((others + mine).sorted { $0.id < $1.id }.prefix(limit))
    }

    package func lastEnded(of tenant: Tenant.ID, limit: Int) async throws(StoreError) -> [StoredQuestion] {
        let others = try await stored.lastEnded(of: tenant, limit: limit)
        let mine = ephemeral.questions(of: tenant, matching: QuestionFilter()).filter { $0.endedAt != nil }
        guard !mine.isEmpty else { return others }
        return Array((others + mine).sorted { ($0.endedAt ?? .now) > ($1.endedAt ?? .now) }.prefix(limit))
    }
}
