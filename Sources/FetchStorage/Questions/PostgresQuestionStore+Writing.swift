import FetchJobs
import Postgres

extension PostgresQuestionStore {
    /// A question that is being asked.
    struct NewQuestion: Sendable {
        let asked: AskedQuestion
        /// Where its load stands, sealed; nil where another node cannot go on from there.
        let position: [UInt8]?
        let timeout: Duration
        let node: Node.ID
    }

    /// The end of a question that is about to be written.
    struct NewEnd: Sendable {
        enum Outcome: Sendable {
            case answered(Reply, sealed: [UInt8]?, by: Decision.Decider)
            case closed(StoredQuestion.Reason)
        }

        let tenant: Tenant.ID
        let id: Question.ID
        let outcome: Outcome
        /// Statements are run for several at once.
        var actor = AuditActor.current
    }

    /// A question whose load is to be parked.
    struct HeldQuestion: Sendable {
        let asked: AskedQuestion
        /// Whether its endpoint is to be asked again.
        let isBeingAsked: Bool
        let node: Node.ID
    }

    /// A question that has been answered or closed.
    struct Ended: Sendable {
        let question: StoredQuestion
        /// The version that the answers of its session have since; nil when nothing new is remembered.
        let answersVersion: Int64?
        /// Whether its job was parked, and waits for a node now.
        let wasParked: Bool
        /// The node that holds the load of its job; nil where none does.
        let holder: Node.ID?
    }

    /// Writes down the questions that their tenants have room for.
    static func ask(
        _ questions: [NewQuestion], client: Client, within quota: TenantQuota
    ) async throws -> [Asking] {
        var room = try await quota.take(Dictionary(questions.map { ($0.asked.tenant, 1) }, uniquingKeysWith: +))
        let placed = questions.filter { question in
            guard let left = room[question.asked.tenant], left > 0 else { return false }
            room[question.asked.tenant] = left - 1
            return true
        }
        guard !placed.isEmpty else { return questions.map { _ in .tooMany } }
        let asked = try await ask(placed, client: client)
        for question in placed where asked[question.asked.id] == nil { quota.giveBack(1, of: question.asked.tenant) }
        let isPlaced = Set(placed.map(\.asked.id))
        return questions.map { isPlaced.contains($0.asked.id) ? asked[$0.asked.id] ?? .jobIsOver : .tooMany }
    }

    /// Writes questions down whose jobs are held under their claims, and that these wait, all in one statement.
    ///
    /// - Returns: Those that are open now.
    private static func ask(_ questions: [NewQuestion], client: Client) async throws -> [Question.ID: Asking] {
        let rows = try await client.query(
            """
            -- questions.ask
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(questions.map(\.asked.tenant)),
                    \(questions.map(\.asked.id)),
                    \(questions.map(\.asked.job)),
                    \(questions.map(\.asked.claim)),
                    \(questions.map(\.node)),
                    \(questions.map { Int32(clamping: $0.asked.sequence) }),
                    \(questions.map(\.asked.kind.rawValue)),
                    \(questions.map(\.asked.host)),
                    \(questions.map(\.asked.group)),
                    \(questions.map { $0.asked.labels.isEmpty ? nil : $0.asked.labelsJSON }),
                    \(questions.map(\.asked.content)),
                    \(questions.map(\.asked.limits.json)),
                    \(questions.map(\.timeout)),
                    \(questions.map(\.asked.endpoint)),
                    \(questions.map(\.asked.session)),
                    \(questions.map(\.position))
                ) AS input (
                    tenant_id, id, job_id, claim, node_id, sequence, kind, host, group_id, labels, facts, limits, timeout,
                    endpoint_id, session_id, "position"
                )
            ), held AS MATERIALIZED (
                SELECT i.*
                FROM input i
                JOIN queue q ON q.tenant_id = i.tenant_id AND q.job_id = i.job_id AND q.claim = i.claim
                    AND q.node_id = i.node_id AND NOT q.cancelling
                -- In one order, so that no two statements wait for each other.
                ORDER BY q.tenant_id, q.job_id
                FOR UPDATE OF q
            ), asked AS (
                INSERT INTO questions (
                    tenant_id, id, job_id, claim, sequence, kind, host, group_id, labels, facts, limits, deadline,
                    endpoint_id, session_id, "position"
                )
                SELECT tenant_id, id, job_id, claim, sequence, kind, host, group_id,
                    (SELECT array_agg(label) FROM json_array_elements_text(labels) AS label), facts, limits,
                    now() + timeout, endpoint_id, session_id, "position"
                FROM held
                RETURNING tenant_id, id, job_id, asked_at, deadline, "position" IS NOT NULL AS has_position
            ), waiting AS (
                UPDATE queue q
                SET question_id = a.id,
                    -- What goes on from there has not been sent.
                    resumes_at = CASE WHEN a.has_position THEN a.id ELSE q.resumes_at END,
                    begun = q.begun AND NOT a.has_position
                FROM asked a
                WHERE q.tenant_id = a.tenant_id AND q.job_id = a.job_id
            )
            SELECT id, asked_at, deadline FROM asked
            """
        )
        var asked: [Question.ID: Asking] = [:]
        for row in rows {
            asked[try row.decode(at: 0)] = .open(askedAt: try row.decode(at: 1), deadline: try row.decode(at: 2))
        }
        return asked
    }

    /// Takes jobs from their node whose questions are open and have positions, all in one statement.
    ///
    /// - Returns: Whether each is parked; it is not when its question is over or its job is not the node's any more.
    static func park(_ questions: [HeldQuestion], client: Client) async throws -> [Bool] {
        let rows = try await client.query(
            """
            -- questions.park
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(questions.map(\.asked.tenant)),
                    \(questions.map(\.asked.id)),
                    \(questions.map(\.asked.job)),
                    \(questions.map(\.asked.claim)),
                    \(questions.map(\.node)),
                    \(questions.map(\.isBeingAsked))
                ) AS input (tenant_id, id, job_id, claim, node_id, is_being_asked)
            ), held AS MATERIALIZED (
                SELECT i.*
                FROM input i
                JOIN questions a ON a.tenant_id = i.tenant_id AND a.id = i.id AND a.deadline > clock_timestamp()
                JOIN queue q ON q.tenant_id = i.tenant_id AND q.job_id = i.job_id AND q.claim = i.claim
                    AND q.node_id = i.node_id AND q.question_id = i.id AND q.resumes_at = i.id AND NOT q.cancelling
                -- In one order, so that no two statements wait for each other.
                ORDER BY q.tenant_id, q.job_id
                FOR UPDATE OF q
            ), parked AS (
                UPDATE queue q
                SET \(Query.leaving)
                FROM held h
                WHERE q.tenant_id = h.tenant_id AND q.job_id = h.job_id
            ), asking AS (
                UPDATE questions a
                SET ask_at = now()
                FROM held h
                WHERE a.tenant_id = h.tenant_id AND a.id = h.id AND h.is_being_asked
            )
            SELECT id FROM held
            """
        )
        let parked = Set(try rows.map { try $0.decode(Question.ID.self, at: 0) })
        return questions.map { parked.contains($0.asked.id) }
    }

    /// Answers and closes questions that are open, and has their jobs wait no more, all in one statement.
    ///
    /// - Returns: For each end that closed its question, the question as it is now.
    static func end(_ ends: [NewEnd], client: Client) async throws -> [Ended?] {
        let rows = try await client.query(
            """
            -- questions.end
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(ends.map(\.tenant)),
                    \(ends.map(\.id)),
                    \(ends.map(\.reason)),
                    \(ends.map(\.reply?.shown)),
                    \(ends.map(\.sealed)),
                    \(ends.map(\.decider?.json)),
                    \(ends.map(\.reply?.note)),
                    \(ends.map(\.reply?.remember?.json)),
                    \(ends.map(\.reply?.remember?.conditions.json)),
                    \(ends.map(\.reply?.remember?.duration)),
                    \(ends.map(\.actor.kind)),
                    \(ends.map(\.actor.key)),
                    \(ends.map(\.actor.signIn)),
                    \(ends.map(\.actor.client)),
                    \(ends.map(\.actor.request)),
                    \(ends.map { _ in AuditEntry.ID() })
                ) WITH ORDINALITY AS input (
                    tenant_id, id, reason, answer, sealed_answer, answered_by, note, remember, conditions, duration, actor,
                    key, sign_in, client, request, entry_id, number
                )
            ), waiting AS MATERIALIZED (
                SELECT q.job_id
                FROM questions a
                JOIN queue q ON q.tenant_id = a.tenant_id AND q.job_id = a.job_id AND q.question_id = a.id
                WHERE (a.tenant_id, a.id) IN (SELECT tenant_id, id FROM input) AND a.state = 'open'
                -- In one order, so that no two statements wait for each other; a job before its question everywhere.
                ORDER BY q.tenant_id, q.job_id
                FOR UPDATE OF q
            ), open AS MATERIALIZED (
                SELECT a.tenant_id, a.id, a.job_id, a.session_id, a.kind, a.deadline
                FROM (SELECT count(*) FROM waiting) AS locked
                CROSS JOIN questions a
                WHERE (a.tenant_id, a.id) IN (SELECT tenant_id, id FROM input) AND a.state = 'open'
                ORDER BY a.tenant_id, a.id
                FOR UPDATE OF a
            ), first AS MATERIALIZED (
                SELECT DISTINCT ON (i.tenant_id, i.id) i.*, o.job_id, o.session_id, o.kind
                FROM input i
                JOIN open o ON o.tenant_id = i.tenant_id AND o.id = i.id
                WHERE CASE
                    -- What was locked before is decided by the time at which it was.
                    WHEN i.reason IS NULL THEN o.deadline > clock_timestamp()
                    WHEN i.reason = 'expired' THEN o.deadline <= clock_timestamp()
                    ELSE true
                END
                ORDER BY i.tenant_id, i.id, i.number
            ), ended AS (
                UPDATE questions a
                SET state = CASE WHEN f.reason IS NULL THEN 'answered' ELSE 'closed' END, ended_at = clock_timestamp(),
                    reason = f.reason, answer = f.answer, sealed_answer = f.sealed_answer,
                    answered_by = f.answered_by, note = f.note, remember = f.remember
                FROM first f
                WHERE a.tenant_id = f.tenant_id AND a.id = f.id
                RETURNING f.number, \(StoredRow.columns)
            ), going AS (
                UPDATE queue q
                SET \(Query.going)
                FROM first f
                WHERE q.tenant_id = f.tenant_id AND q.job_id = f.job_id AND q.question_id = f.id
                RETURNING f.number, q.node_id
            ), holders AS (
                -- Not joined: the planner takes both for one row, and would compare each with each.
                SELECT array_agg(number) AS numbers, array_agg(node_id) AS nodes FROM going
            ), audited AS (
                INSERT INTO audit_entries (
                    tenant_id, id, actor, key, sign_in, client, request, action, object, details
                )
                SELECT tenant_id, entry_id, actor, key, sign_in, client, request, \(AuditAction.answerQuestion),
                    fetchd.text_of_id(\(QuestionIDKind.prefix), id), answered_by
                FROM first
                WHERE reason IS NULL
            ), \(remembering)
            SELECT \(StoredRow.columns), a.number, s.answers_version, g.place IS NOT NULL AND h.nodes[g.place] IS NULL,
                h.nodes[g.place]
            FROM ended a
            CROSS JOIN holders h
            CROSS JOIN LATERAL (SELECT array_position(h.numbers, a.number) AS place) AS g
            LEFT JOIN stores s ON s.tenant_id = a.tenant_id AND s.session_id = a.session_id
            """
        )
        var ended: [Ended?] = ends.map { _ in nil }
        for row in rows {
            let index = Int(try row.decode(Int64.self, at: StoredRow.count)) - 1
            guard ended.indices.contains(index) else { continue }
            ended[index] = Ended(
                question: try StoredRow(row).question, answersVersion: try row.decode(at: StoredRow.count + 1),
                wasParked: try row.decode(at: StoredRow.count + 2), holder: try row.decode(at: StoredRow.count + 3))
        }
        return ended
    }
}

extension PostgresQuestionStore {
    /// Remembers those of the answers `first` that have to be, in the sessions of their jobs.
    fileprivate static var remembering: Query {
        """
        remembered AS MATERIALIZED (
            SELECT * FROM first WHERE duration IS NOT NULL AND session_id IS NOT NULL
        ), stores AS (
            INSERT INTO session_stores (tenant_id, session_id, layer_ids, answers_version)
            SELECT DISTINCT tenant_id, session_id, ARRAY[session_id], 1
            FROM remembered
            -- In one order, so that two nodes that write to the same sessions cannot wait for each other.
            ORDER BY tenant_id, session_id
            ON CONFLICT (tenant_id, session_id) DO UPDATE
            SET answers_version = session_stores.answers_version + 1
            RETURNING tenant_id, session_id, answers_version
        ), kept AS (
            INSERT INTO remembered_answers (
                tenant_id, session_id, question_id, kind, conditions, answer, answered_by, remembered_at, expires_at
            )
            SELECT r.tenant_id, r.session_id, r.id, r.kind, r.conditions, r.answer, r.answered_by, clock_timestamp(),
                clock_timestamp() + r.duration
            FROM stores s
            JOIN remembered r ON r.tenant_id = s.tenant_id AND r.session_id = s.session_id
        ), surplus AS (
            -- The new ones are not seen here, nor what another node has written meanwhile: the next write removes what
            -- is left, and nobody reads more than the newest.
            DELETE FROM remembered_answers a
            USING stores s
            CROSS JOIN LATERAL (
                SELECT o.question_id
                FROM remembered_answers o
                WHERE o.tenant_id = s.tenant_id AND o.session_id = s.session_id
                ORDER BY o.remembered_at DESC, o.question_id DESC
                OFFSET \(Int64(RememberedAnswer.maximumOfSession - 1))
            ) AS old
            WHERE a.tenant_id = s.tenant_id AND a.session_id = s.session_id AND a.question_id = old.question_id
        )
        """
    }
}

extension Query {
    /// Whether the job of a row `q` of the queue waits at a stored position: that needs no node.
    static let waitsAtPosition: Query = "coalesce(q.question_id = q.resumes_at, false)"

    /// What changes of a row `q` of the queue that its node leaves, or is taken from: a job that waits at a stored
    /// position is parked there, and its question stays open.
    static let leaving: Query = """
        node_id = NULL, claimed_at = NULL, begun = false,
            question_id = CASE WHEN \(waitsAtPosition) THEN q.question_id END,
            scheduled = \(waitsAtPosition),
            run_at = CASE
                WHEN \(waitsAtPosition) THEN coalesce(
                    (SELECT a.deadline FROM questions a WHERE a.tenant_id = q.tenant_id AND a.id = q.question_id), q.run_at
                )
                ELSE q.run_at
            END,
            discretionary = q.discretionary AND NOT \(waitsAtPosition),
            in_host = q.in_host AND NOT \(waitsAtPosition),
            -- In a flow with an order, those behind it wait until it is final.
            in_flow = q.in_flow AND (NOT \(waitsAtPosition) OR \(isInOrderedFlow))
        """

    /// What changes of a row `q` of the queue whose question is over: a parked job is due.
    static let going: Query = """
        question_id = NULL, scheduled = q.scheduled AND q.node_id IS NOT NULL,
            run_at = CASE WHEN q.node_id IS NULL THEN now() ELSE q.run_at END
        """
}

extension PostgresQuestionStore.NewEnd {
    fileprivate var reply: Reply? { if case .answered(let reply, _, _) = outcome { reply } else { nil } }
    fileprivate var sealed: [UInt8]? { if case .answered(_, let sealed, _) = outcome { sealed } else { nil } }
    fileprivate var decider: Decision.Decider? { if case .answered(_, _, let by) = outcome { by } else { nil } }
    fileprivate var reason: StoredQuestion.Reason? { if case .closed(let reason) = outcome { reason } else { nil } }
}

extension AskedQuestion {
    /// Arrays of arrays cannot be parameters.
    fileprivate var labelsJSON: RawJSON {
        .array { writer in for label in labels { writer.value("\(label.name):\(label.value)") } }
    }
}
