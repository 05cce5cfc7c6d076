package import FetchJobs
import FetchRuntime
package import Postgres

/// The questions in PostgreSQL; the secrets of answers are sealed.
package struct PostgresQuestionStore: QuestionStore {
    private static let table = "questions"

    let client: Client
    let keys: TenantKeys
    private let asking: Batcher<NewQuestion, Asking>
    private let ending: Batcher<NewEnd, Ended?>
    private let parking: Batcher<HeldQuestion, Bool>
    /// Hears of tenants that have new questions, and of questions that ended here.
    private let onAsk: @Sendable (Tenant.ID) -> Void
    private let onEnd: @Sendable ([Question.ID: QuestionEnd]) -> Void
    /// Hears of sessions that remember an answer since, and the version of their answers, before its question ends.
    private let onRemember: @Sendable (SessionAddress, _ version: Int64) -> Void
    private let onDue: @Sendable () -> Void
    private let onEndOfHeld: @Sendable ([Question.ID: Node.ID]) -> Void

    /// - Parameters:
    ///   - client: The connections for the statements that run for every question.
    ///   - keys: The keys that seal answers.
    ///   - quota: How many open questions tenants may have; nil for what the settings have by default.
    ///   - onAsk: Hears whose questions are asked by this store.
    ///   - onEnd: Hears of questions that were answered or closed by this store.
    ///   - onRemember: Hears of sessions that remember an answer by this store, with the version of their answers,
    ///     before `onEnd` does.
    ///   - onDue: Is called when parked jobs wait for a node, because their questions are over.
    ///   - onEndOfHeld: Hears of questions that ended by this store, and which node holds the load of each.
    package init(
        client: Client, keys: TenantKeys, quota: TenantQuota? = nil,
        onAsk: @escaping @Sendable (Tenant.ID) -> Void = { _ in },
        onEnd: @escaping @Sendable ([Question.ID: QuestionEnd]) -> Void = { _ in },
        onRemember: @escaping @Sendable (SessionAddress, _ version: Int64) -> Void = { _, _ in },
        onDue: @escaping @Sendable () -> Void = {},
        onEndOfHeld: @escaping @Sendable ([Question.ID: Node.ID]) -> Void = { _ in }
    ) {
        self.client = client
        self.keys = keys
        self.onAsk = onAsk
        self.onEnd = onEnd
        self.onRemember = onRemember
        self.onDue = onDue
        self.onEndOfHeld = onEndOfHeld
        let quota =
            quota
            ?? .openQuestions(
                of: KnownTenantLimits(standard: [.maximumOpenQuestions: Int64(Asking.maximumOpen)]), client: client)
        // Each may bring a position of 128 KiB.
        asking = Batcher(maximumItems: 200) { try await Self.ask($0, client: client, within: quota) }
        ending = Batcher(maximumItems: 500) {
            let ended = try await Self.end($0, client: client)
            for case let end? in ended { quota.giveBack(1, of: end.question.asked.tenant) }
            if ended.contains(where: { $0?.wasParked == true }) { onDue() }
            let held = ended.compactMap(\.self).compactMap { ended in ended.holder.map { (ended.question.id, $0) } }
            if !held.isEmpty { onEndOfHeld(Dictionary(uniqueKeysWithValues: held)) }
            return ended
        }
        parking = Batcher(maximumItems: 500) { try await Self.park($0, client: client) }
    }

    package func ask(
        _ question: AskedQuestion, of load: ParkedLoad?, timeout: Duration, at node: Node.ID
    ) async throws(StoreError) -> Asking {
        try await StoreError.wrap {
            var position: [UInt8]?
            if let load {
                position = try await keys.vault(of: question.tenant)
                    .seal(load.bytes, table: Self.table, row: Self.positionRow(question.id))
            }
            let new = NewQuestion(asked: question, position: position, timeout: timeout, node: node)
            let asking = try await asking.submit([new]).first ?? .jobIsOver
            if case .open = asking { onAsk(question.tenant) }
            return asking
        }
    }

    package func answer(
        _ id: Question.ID, of tenant: Tenant.ID, _ reply: Reply, by decider: Decision.Decider
    ) async throws(StoreError) -> Answering {
        try await StoreError.wrap {
            let sealed = try await seal(reply, id, tenant)
            let end = NewEnd(
                tenant: tenant, id: id, outcome: .answered(reply, sealed: sealed, by: decider))
            if let ended = try await ending.submit([end]).first ?? nil {
                if let version = ended.answersVersion, let session = ended.question.asked.session {
                    onRemember(SessionAddress(tenant: tenant, session: session), version)
                }
                onEnd([id: .answered(reply.answer, by: decider)])
                return .accepted(ended.question)
            }
            guard let stored = try await find(id, of: tenant) else { return .notFound }
            guard stored.question.state == .answered else { return .closed(stored.question) }
            let isSame = try await answer(of: stored) == reply.answer
            return isSame ? .accepted(stored.question) : .alreadyAnswered(stored.question)
        }
    }

    package func close(
        _ id: Question.ID, of tenant: Tenant.ID, _ reason: StoredQuestion.Reason
    ) async throws(StoreError) -> QuestionEnd? {
        try await StoreError.wrap {
            let end = NewEnd(tenant: tenant, id: id, outcome: .closed(reason))
            if try await ending.submit([end]).first ?? nil != nil {
                onEnd([id: .closed(reason)])
                return .closed(reason)
            }
            guard let stored = try await find(id, of: tenant) else { return nil }
            return try await self.end(of: stored)
        }
    }

    package func park(
        _ question: AskedQuestion, isBeingAsked: Bool, at node: Node.ID
    ) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let held = HeldQuestion(asked: question, isBeingAsked: isBeingAsked, node: node)
            return try await parking.submit([held]).first ?? false
        }
    }

    package func questionsToAsk(limit: Int) async throws(StoreError) -> [StoredQuestion] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- questions.due
                WITH due AS MATERIALIZED (
                    SELECT tenant_id, id
                    FROM questions
                    WHERE state = 'open' AND ask_at <= now() AND deadline > now()
                    ORDER BY ask_at
                    LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                )
                UPDATE questions a
                SET ask_at = now() + interval '30 seconds'
                FROM due
                WHERE a.tenant_id = due.tenant_id AND a.id = due.id
                RETURNING \(StoredRow.columns)
                """
            )
            return try rows.map { try StoredRow($0).question }
        }
    }

    package func ask(_ question: QuestionKey, after wait: Duration?) async throws(StoreError) {
        try await StoreError.wrap {
            try await client.of(question.tenant).query(
                """
                -- questions.askAgain
                UPDATE questions
                SET ask_at = now() + \(wait)
                WHERE tenant_id = \(question.tenant) AND id = \(question.id) AND state = 'open'
                """
            )
        }
    }

    package func parked(
        _ id: Question.ID, of tenant: Tenant.ID
    ) async throws(StoreError) -> (StoredQuestion, QuestionEnd?, ParkedLoad)? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- questions.parked
                SELECT \(StoredRow.columns), a."position"
                FROM questions a
                WHERE a.tenant_id = \(tenant) AND a.id = \(id) AND a."position" IS NOT NULL
                """
            )
            guard let row = rows.first else { return nil }
            let stored = try StoredRow(row)
            let bytes = try await keys.vault(of: tenant)
                .open(try row.decode([UInt8].self, at: StoredRow.count), table: Self.table, row: Self.positionRow(id))
            return (stored.question, try await end(of: stored), try ParkedLoad(bytes: bytes))
        }
    }

    /// Apart from that of the answer, which is sealed for the same question.
    private static func positionRow(_ id: Question.ID) -> [UInt8] { Array("\(id) position".utf8) }

    package func ends(of questions: [QuestionKey]) async throws(StoreError) -> [Question.ID: QuestionEnd] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- questions.ends
                SELECT \(StoredRow.columns)
                FROM unnest(\(questions.map(\.tenant)), \(questions.map(\.id))) AS asked (tenant_id, id)
                JOIN questions a ON a.tenant_id = asked.tenant_id AND a.id = asked.id
                WHERE a.state <> 'open'
                """
            )
            var ends: [Question.ID: QuestionEnd] = [:]
            var failure: (any Error)?
            for row in rows {
                // One that cannot be read keeps no other from going on.
                do {
                    let stored = try StoredRow(row)
                    ends[stored.question.id] = try await end(of: stored)
                } catch { failure = error }
            }
            if let failure, ends.isEmpty { throw failure }
            return ends
        }
    }

    package func note(fault: String, of id: Question.ID, _ tenant: Tenant.ID) async throws(StoreError) {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- questions.note
                UPDATE questions SET fault = \(fault) WHERE tenant_id = \(tenant) AND id = \(id)
                """
            )
        }
    }

    package func question(
        _ id: Question.ID, of tenant: Tenant.ID
    ) async throws(StoreError) -> StoredQuestion? {
        try await StoreError.wrap { try await find(id, of: tenant)?.question }
    }

    package func questions(
        of tenant: Tenant.ID, matching filter: QuestionFilter, after: Question.ID?, limit: Int
    ) async throws(StoreError) -> [StoredQuestion] {
        let start = after ?? Question.ID(UUIDv7(high: 0, low: 0))
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- questions.list
                SELECT \(StoredRow.columns)
                FROM questions a
                WHERE a.tenant_id = \(tenant) AND a.id > \(start)\(Self.conditions(filter))
                ORDER BY a.id
                LIMIT \(limit)
                """
            )
            return try rows.map { try StoredRow($0).question }
        }
    }

    package func lastEnded(of tenant: Tenant.ID, limit: Int) async throws(StoreError) -> [StoredQuestion] {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- questions.lastEnded
                SELECT \(StoredRow.columns)
                FROM questions a
                WHERE a.tenant_id = \(tenant) AND a.state <> 'open'
                ORDER BY a.ended_at DESC
                LIMIT \(limit)
                """
            )
            return try rows.map { try StoredRow($0).question }
        }
    }

    /// One condition for each part of a filter that matters, so that each list has the index that is made for it.
    private static func conditions(_ filter: QuestionFilter) -> Query {
        var conditions: Query = ""
        switch filter.state {
        // By its state, because the index of open ones is found by that.
        case .open?: conditions = " AND a.state = 'open'"
        case let state?: conditions = " AND a.state = \(state)"
        case nil: break
        }
        if let kind = filter.kind { conditions = "\(conditions) AND a.kind = \(kind.rawValue)" }
        if let job = filter.job { conditions = "\(conditions) AND a.job_id = \(job)" }
        if let group = filter.group { conditions = "\(conditions) AND a.group_id = \(group)" }
        if let host = filter.host { conditions = "\(conditions) AND a.host = \(host)" }
        if let time = filter.askedBefore { conditions = "\(conditions) AND a.asked_at < \(time)" }
        if !filter.labels.isEmpty {
            conditions = "\(conditions) AND a.labels @> \(filter.labels.map { "\($0.name):\($0.value)" })"
        }
        return conditions
    }

    // MARK: Answers

    private func find(_ id: Question.ID, of tenant: Tenant.ID) async throws -> StoredRow? {
        let rows = try await client.of(tenant).query(
            """
            -- questions.find
            SELECT \(StoredRow.columns) FROM questions a WHERE a.tenant_id = \(tenant) AND a.id = \(id)
            """
        )
        return try rows.first.map { try StoredRow($0) }
    }

    private func seal(_ reply: Reply, _ id: Question.ID, _ tenant: Tenant.ID) async throws -> [UInt8]? {
        guard let secret = reply.secretBytes else { return nil }
        return try await keys.vault(of: tenant).seal(secret, table: Self.table, row: Array(id.description.utf8))
    }

    private func answer(of stored: StoredRow) async throws -> Answer? {
        let asked = stored.question.asked
        var json = stored.question.answer?.value.bytes ?? []
        if let sealed = stored.sealedAnswer {
            json = try await keys.vault(of: asked.tenant)
                .open(sealed, table: Self.table, row: Array(asked.id.description.utf8))
        }
        guard !json.isEmpty else { return nil }
        return try Reply(json: JSONParser.parse(json), to: asked.kind).answer
    }

    private func end(of stored: StoredRow) async throws -> QuestionEnd? {
        if let reason = stored.question.reason { return .closed(reason) }
        guard let decider = stored.question.answer?.by, let answer = try await answer(of: stored) else { return nil }
        return .answered(answer, by: decider)
    }
}

/// A question as its row has it.
struct StoredRow {
    let question: StoredQuestion
    let sealedAnswer: [UInt8]?

    static let columns: Query = """
        a.tenant_id, a.id, a.job_id, a.claim, a.sequence, a.kind, a.host, a.group_id, a.labels, a.facts, a.limits,
        a.asked_at, a.deadline, a.endpoint_id, a.state, a.ended_at, a.reason, a.answer, a.sealed_answer, a.answered_by,
        a.note, a.fault, a.session_id, a.remember
        """
    /// How many columns that are.
    static let count = 24

    init(_ row: Row) throws {
        guard let kind = Question.Kind(rawValue: try row.decode(String.self, at: 5)) else {
            throw StoreError(.failed, "A question is of a kind that is not known here.")
        }
        let labels = try row.decode([String]?.self, at: 8) ?? []
        let asked = AskedQuestion(
            id: try row.decode(at: 1), tenant: try row.decode(at: 0), job: try row.decode(at: 2),
            claim: try row.decode(at: 3), sequence: Int(try row.decode(Int32.self, at: 4)), kind: kind,
            host: try row.decode(at: 6), group: try row.decode(at: 7), session: try row.decode(at: 22),
            labels: labels.compactMap { JobSpec.Label(stored: $0) }, content: try row.decode(at: 9),
            limits: try AnswerLimits(stored: try row.decode(at: 10), of: kind), endpoint: try row.decode(at: 13))
        var question = StoredQuestion(asked, askedAt: try row.decode(at: 11), deadline: try row.decode(at: 12))
        question.state = try row.decode(at: 14)
        question.endedAt = try row.decode(at: 15)
        question.reason = try row.decode(at: 16)
        if let answer = try row.decode(RawJSON?.self, at: 17), let by = try row.decode(RawJSON?.self, at: 19) {
            question.answer = .init(
                answer, by: try Decision.Decider(stored: by), note: try row.decode(at: 20),
                remember: try row.decode(at: 23))
        }
        question.fault = try row.decode(at: 21)
        self.question = question
        sealedAnswer = try row.decode(at: 18)
    }
}

extension JobSpec.Label {
    /// Reads `name:value`; no name has a colon.
    fileprivate init?(stored text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(name: String(parts[0]), value: String(parts[1]))
    }
}

extension StoredQuestion.State: PostgresValue, PostgresArrayElement {}

extension StoredQuestion.Reason: PostgresValue, PostgresArrayElement {}
