import FetchJobs
import Postgres

/// Reads and removes remembered answers of sessions; ``PostgresQuestionStore`` writes them with their answers.
struct RememberedAnswerTable: Sendable {
    let client: Client

    /// The answers of a session that are not over, the newest first, and their version.
    func read(_ session: SessionAddress) async throws -> (version: Int64, answers: [RememberedAnswer]) {
        let rows = try await client.of(session.tenant).query(
            """
            -- rememberedAnswers.read
            SELECT s.answers_version, a.question_id, a.kind, a.conditions, a.answer, a.answered_by, a.remembered_at,
                a.expires_at
            FROM session_stores s
            LEFT JOIN LATERAL (
                SELECT *
                FROM remembered_answers a
                WHERE a.tenant_id = s.tenant_id AND a.session_id = s.session_id AND a.expires_at > now()
                ORDER BY a.remembered_at DESC, a.question_id DESC
                LIMIT \(RememberedAnswer.maximumOfSession)
            ) AS a ON true
            WHERE s.tenant_id = \(session.tenant) AND s.session_id = \(session.session)
            ORDER BY a.remembered_at DESC, a.question_id DESC
            """
        )
        let version = try rows.first?.decode(Int64.self, at: 0) ?? 0
        return (version, try rows.compactMap { try RememberedAnswer($0) })
    }

    /// Forgets one, or all where none is named.
    ///
    /// - Returns: How many were forgotten, and the version that the answers have since; nil when none was.
    func remove(_ question: Question.ID?, of session: SessionAddress) async throws -> (count: Int, version: Int64)? {
        let rows = try await client.of(session.tenant).query(
            """
            -- rememberedAnswers.remove
            WITH removed AS (
                DELETE FROM remembered_answers
                WHERE tenant_id = \(session.tenant) AND session_id = \(session.session)
                    AND (\(question)::uuid IS NULL OR question_id = \(question))
                RETURNING expires_at > now() AS counts
            ), version AS (
                UPDATE session_stores
                SET answers_version = answers_version + 1
                WHERE tenant_id = \(session.tenant) AND session_id = \(session.session)
                    AND EXISTS (SELECT FROM removed)
                RETURNING answers_version
            ), \(Query.audited(
                .forgetAnswers, (question?.description ?? session.session.description), of: session.tenant,
                when: "removed"))
            SELECT (SELECT count(*) FROM removed WHERE counts), answers_version FROM version
            """
        )
        return try rows.first.map { (Int(try $0.decode(Int64.self, at: 0)), try $0.decode(at: 1)) }
    }
}

extension RememberedAnswer {
    /// Nil for a row that stands for a session which remembers nothing.
    fileprivate init?(_ row: Row) throws {
        guard let question = try row.decode(Question.ID?.self, at: 1) else { return nil }
        guard let kind = Question.Kind(rawValue: try row.decode(String.self, at: 2)) else {
            throw StoreError(.failed, "An answer is remembered for questions of a kind that is not known here.")
        }
        let conditions = try JSONParser.parse(try row.decode(RawJSON.self, at: 3).bytes)
        let answer = try JSONParser.parse(try row.decode(RawJSON.self, at: 4).bytes)
        let rule = Rule(
            on: kind, when: try Question.Conditions(stored: conditions, for: kind).all,
            try Reply(json: answer, to: kind).answer)
        self.init(
            to: question, rule, by: try Decision.Decider(stored: try row.decode(at: 5)),
            rememberedAt: try row.decode(at: 6), expiresAt: try row.decode(at: 7))
    }
}
