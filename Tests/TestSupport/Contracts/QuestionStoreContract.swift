import FetchEngine
package import FetchJobs

/// The contract of every form of ``QuestionStore`` and its ``AnswerCatalog``, with the questions of claimed jobs.
package enum QuestionStoreContract {
    /// A fresh store, in which one tenant may have three open questions, and jobs that a node has claimed.
    package struct Subject: Sendable {
        package let store: any QuestionStore
        package let answers: any AnswerCatalog
        package let node: Node.ID
        package let jobs: [ClaimedJob]
        fileprivate let session = TenantSession.ID()

        package init(store: any QuestionStore, answers: any AnswerCatalog, node: Node.ID, jobs: [ClaimedJob]) {
            self.store = store
            self.answers = answers
            self.node = node
            self.jobs = jobs
        }

        fileprivate let tenant = Tenant.ID(rawValue: 1)

        fileprivate func question(
            of job: Int = 0, kind: Question.Kind = .willPerformHTTPRedirection, host: String? = "a.example",
            labels: [JobSpec.Label] = [], in session: TenantSession.ID? = nil
        ) -> AskedQuestion {
            AskedQuestion(
                tenant: tenant, job: jobs[job].id, claim: jobs[job].claim, sequence: 1, kind: kind, host: host,
                group: nil, session: session, labels: labels,
                content: RawJSON(Array(#"{"request":{},"facts":{"hop":1}}"#.utf8)),
                limits: AnswerLimits(words: kind.words), endpoint: nil)
        }

        fileprivate func load() throws -> ParkedLoad {
            let decisions = RawJSON(Array(#"[{"sequence":1}]"#.utf8))
            guard let load = ParkedLoad(LoadPosition(), decisions: decisions, decided: 1, asked: 1) else {
                throw StoreError(.failed, "The position cannot be written down.")
            }
            return load
        }

        fileprivate func ask(
            _ question: AskedQuestion, of load: ParkedLoad? = nil, timeout: Duration = .seconds(60)
        ) async throws -> Bool {
            if case .open = try await store.ask(question, of: load, timeout: timeout, at: node) { true } else { false }
        }

        fileprivate func answer(
            _ id: Question.ID, _ answer: Answer, by decider: Decision.Decider = .key("key_a")
        ) async throws -> String {
            try await store.answer(id, of: tenant, Reply(answer), by: decider).word
        }

        /// Asks in a session, and has it remember the answer.
        fileprivate func remember(
            of job: Int = 0, for time: Duration = .seconds(60), _ text: String = #"{"answer":"follow","#,
            in session: TenantSession.ID? = nil
        ) async throws -> Question.ID {
            let question = question(of: job, in: session ?? self.session)
            _ = try await ask(question)
            let json = try JSONParser.parse(
                "\(text)\"remember\":{\"seconds\":\(time.components.seconds),\"when\":{\"crossOrigin\":true}}}".utf8)
            let reply = try Reply(json: json, to: question)
            _ = try await store.answer(question.id, of: tenant, reply, by: .key("key_a"))
            return question.id
        }

        fileprivate func remembered(by session: TenantSession.ID? = nil) async throws -> [RememberedAnswer] {
            try await answers.rememberedAnswers(
                of: SessionAddress(tenant: tenant, session: session ?? self.session))
        }

        fileprivate func state(_ id: Question.ID) async throws -> StoredQuestion.State? {
            try await store.question(id, of: tenant)?.state
        }

        fileprivate func list(_ filter: QuestionFilter, after: Question.ID? = nil, limit: Int = 9) async throws
            -> [Question.ID]
        {
            try await store.questions(of: tenant, matching: filter, after: after, limit: limit).map(\.id)
        }
    }

    package static let clauses: [Clause<Subject>] = asking + answering + remembering + closing + parking + listing

    // MARK: Parking

    private static let parking: [Clause<Subject>] = [
        Clause("a question that was stored with a position is parked once") { subject in
            let (question, load) = (subject.question(), try subject.load())
            _ = try await subject.ask(question, of: load)
            let held = try await subject.store.parked(question.id, of: subject.tenant)
            let parked = try await subject.store.park(question, isBeingAsked: false, at: subject.node)
            let again = try await subject.store.park(question, isBeingAsked: false, at: subject.node)
            let stored = try await subject.store.parked(question.id, of: subject.tenant)
            _ = try await subject.store.answer(question.id, of: subject.tenant, Reply(.cancel), by: .operator)
            let answered = try await subject.store.parked(question.id, of: subject.tenant)
            let others = try await subject.store.parked(question.id, of: Tenant.ID(rawValue: 2))
            return compare("parked", [parked, again], [true, false])
                + compare("load", [held?.2.bytes, stored?.2.bytes], [load.bytes, load.bytes])
                + compare("open", stored?.1, nil)
                + compare("end", answered?.1, .answered(.cancel, by: .operator))
                + compare("somebody else's", others?.2.bytes, nil)
        },
        Clause("a question that is over, or has no position, is not parked") { subject in
            let questions = [subject.question(), subject.question(of: 1)]
            _ = try await subject.ask(questions[0], of: try subject.load())
            _ = try await subject.store.answer(questions[0].id, of: subject.tenant, Reply(.cancel), by: .operator)
            _ = try await subject.ask(questions[1])
            var parked: [Bool] = []
            for question in questions {
                parked.append(try await subject.store.park(question, isBeingAsked: false, at: subject.node))
            }
            let stored = try await subject.store.parked(questions[1].id, of: subject.tenant)
            return compare("parked", parked, [false, false]) + compare("load", stored?.2.bytes, nil)
        },
        Clause("the endpoint of a parked load is asked until somebody says otherwise") { subject in
            let (asked, silent) = (subject.question(), subject.question(of: 1))
            for question in [asked, silent] { _ = try await subject.ask(question, of: try subject.load()) }
            let before = try await subject.store.questionsToAsk(limit: 9).map(\.id)
            _ = try await subject.store.park(asked, isBeingAsked: true, at: subject.node)
            _ = try await subject.store.park(silent, isBeingAsked: false, at: subject.node)
            let key = QuestionKey(tenant: subject.tenant, id: asked.id)
            var found: [[Question.ID]] = []
            found.append(try await subject.store.questionsToAsk(limit: 9).map(\.id))
            // Somebody asks it.
            found.append(try await subject.store.questionsToAsk(limit: 9).map(\.id))
            try await subject.store.ask(key, after: .zero)
            found.append(try await subject.store.questionsToAsk(limit: 9).map(\.id))
            try await subject.store.ask(key, after: nil)
            found.append(try await subject.store.questionsToAsk(limit: 9).map(\.id))
            try await subject.store.ask(key, after: .zero)
            _ = try await subject.store.answer(asked.id, of: subject.tenant, Reply(.cancel), by: .operator)
            found.append(try await subject.store.questionsToAsk(limit: 9).map(\.id))
            return compare("held", before, []) + compare("parked", found, [[asked.id], [], [asked.id], [], []])
        },
    ]

    // MARK: Asking

    private static let asking: [Clause<Subject>] = [
        Clause("a question is open from when it is asked to its deadline, and kept as it was asked") { subject in
            let question = subject.question(labels: [.init(name: "team", value: "a:b")])
            guard
                case .open(let askedAt, let deadline) = try await subject.store.ask(
                    question, of: nil, timeout: .seconds(60), at: subject.node)
            else { return ["not asked"] }
            let stored = try await subject.store.question(question.id, of: subject.tenant)
            return compare("time", deadline.microseconds - askedAt.microseconds, 60_000_000)
                + compare("state", stored?.state, .open) + compare("deadline", stored?.deadline, deadline)
                + compare("labels", stored?.asked.labels, question.labels)
                + compare("limits", stored?.asked.limits, question.limits)
                + compare("content", stored?.asked.content.text, question.content.text)
        },
        Clause("a job that is not held under the claim asks nothing") { subject in
            let job = subject.jobs[0]
            let question = AskedQuestion(
                tenant: subject.tenant, job: job.id, claim: job.claim + 1, sequence: 1, kind: .didReceiveResponse,
                host: nil, group: nil, labels: [], content: RawJSON(Array("{}".utf8)),
                limits: AnswerLimits(words: [.allow]), endpoint: nil)
            let asking = try await subject.store.ask(question, of: nil, timeout: .seconds(60), at: subject.node)
            return compare("asking", asking, .jobIsOver)
                + compare("state", try await subject.state(question.id), nil)
        },
        Clause("a tenant has so many open questions and no more, until one is over") { subject in
            let questions = (0..<4).map { subject.question(of: $0) }
            var differences: [String] = []
            for question in questions.prefix(3) {
                differences += compare("asked", try await subject.ask(question), true)
            }
            let fourth = try await subject.store.ask(questions[3], of: nil, timeout: .seconds(60), at: subject.node)
            differences += compare("the fourth", fourth, .tooMany)
            _ = try await subject.answer(questions[0].id, .cancel)
            return differences + compare("later", try await subject.ask(questions[3]), true)
        },
    ]

    // MARK: Answering

    private static let answering: [Clause<Subject>] = [
        Clause("the first answer counts: the same one is accepted again, and another one is not") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            var differences = compare("first", try await subject.answer(question.id, .follow(nil)), "accepted")
            differences += compare("again", try await subject.answer(question.id, .follow(nil)), "accepted")
            differences += compare("other", try await subject.answer(question.id, .cancel, by: .operator), "other")
            let stored = try await subject.store.question(question.id, of: subject.tenant)
            return differences + compare("answer", stored?.answer?.value.text, #""follow""#)
                + compare("who", stored?.answer?.by, .key("key_a"))
        },
        Clause("of many answers at once one counts") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            let answers: [Answer] = [.follow(nil), .cancel, .returnResponse]
            let words = try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<12 { group.addTask { try await subject.answer(question.id, answers[index % 3]) } }
                return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
            }
            return compare("answers", words, ["accepted": 4, "other": 8])
        },
        Clause("an answer after the deadline is too late, whoever has looked since") { subject in
            let question = subject.question()
            _ = try await subject.ask(question, timeout: .milliseconds(1))
            try await Task.sleep(for: .milliseconds(20))
            return compare("late", try await subject.answer(question.id, .cancel), "closed")
        },
        Clause("what is secret of an answer is given to who waits and shown to nobody") { subject in
            let question = subject.question(kind: .didReceiveChallenge)
            _ = try await subject.ask(question)
            let text = #"{"answer":"useCredential","credential":{"user":"u","password":"hush"},"note":"mine"}"#
            let reply = try Reply(json: JSONParser.parse(text.utf8), to: .didReceiveChallenge)
            _ = try await subject.store.answer(question.id, of: subject.tenant, reply, by: .operator)
            let stored = try await subject.store.question(question.id, of: subject.tenant)
            let shown = stored.map { question in JSONWriter.object { question.write(&$0) } } ?? []
            let key = QuestionKey(tenant: subject.tenant, id: question.id)
            let end = try await subject.store.ends(of: [key])[question.id]
            return compare("shown", String(decoding: shown, as: UTF8.self).contains("hush"), false)
                + compare("note", stored?.answer?.note, "mine")
                + compare("end", end, .answered(reply.answer, by: .operator))
        },
        Clause("a question of somebody else is answered as one that is not there") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            let answering = try await subject.store.answer(
                question.id, of: Tenant.ID(rawValue: 2), Reply(.cancel), by: .operator)
            return compare("answering", answering.word, "notFound")
                + compare("state", try await subject.state(question.id), .open)
        },
    ]

    // MARK: Remembering

    private static let remembering: [Clause<Subject>] = [
        Clause("an answer is remembered by the session of its job, and told with the question") { subject in
            let id = try await subject.remember()
            let answers = try await subject.remembered()
            let stored = try await subject.store.question(id, of: subject.tenant)
            let expected = Rule(on: .willPerformHTTPRedirection, when: [.crossOrigin(true)], .follow(nil))
            let seconds = answers.first.map { $0.expiresAt.microseconds - $0.rememberedAt.microseconds }
            return compare("questions", answers.map(\.question), [id])
                + compare("rule", answers.first?.rule, expected) + compare("by", answers.first?.by, .key("key_a"))
                + compare("time", seconds.map { $0 / 1_000_000 }, 60)
                + compare(
                    "told", stored?.answer?.remember?.text, #"{"seconds":60,"when":{"crossOrigin":true}}"#)
                + compare("others", try await subject.remembered(by: TenantSession.ID()).count, 0)
        },
        Clause("an answer that came second is not remembered") { subject in
            let question = subject.question(in: subject.session)
            _ = try await subject.ask(question)
            _ = try await subject.answer(question.id, .follow(nil))
            let json = try JSONParser.parse(
                #"{"answer":"follow","remember":{"seconds":60,"when":{"crossOrigin":true}}}"#.utf8)
            let again = try await subject.store.answer(
                question.id, of: subject.tenant, Reply(json: json, to: question), by: .operator)
            return compare("again", again.word, "accepted")
                + compare("remembered", try await subject.remembered().count, 0)
        },
        Clause("the newest answer comes first") { subject in
            let first = try await subject.remember()
            let second = try await subject.remember(of: 1, #"{"answer":"cancel","#)
            return compare("order", try await subject.remembered().map(\.question), [second, first])
        },
        Clause("a session remembers the newest of so many answers") { subject in
            var ids: [Question.ID] = []
            for _ in 0...RememberedAnswer.maximumOfSession + 1 { ids.append(try await subject.remember()) }
            let kept = try await subject.remembered().map(\.question)
            return compare("kept", kept, ids.suffix(RememberedAnswer.maximumOfSession).reversed())
        },
        Clause("an answer is forgotten by its question, or all of a session are") { subject in
            let first = try await subject.remember()
            let other = TenantSession.ID()
            let elsewhere = try await subject.remember(of: 2, in: other)
            let second = try await subject.remember(of: 1)
            let address = SessionAddress(tenant: subject.tenant, session: subject.session)
            return compare("one", try await subject.answers.forget(first, of: address), 1)
                + compare("again", try await subject.answers.forget(first, of: address), 0)
                + compare("of another session", try await subject.answers.forget(elsewhere, of: address), 0)
                + compare("left", try await subject.remembered().map(\.question), [second])
                + compare("all", try await subject.answers.forget(nil, of: address), 1)
                + compare("others", try await subject.remembered(by: other).map(\.question), [elsewhere])
        },
    ]

    // MARK: Closing

    private static let closing: [Clause<Subject>] = [
        Clause("a question that is closed takes no answer, and says why") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            let end = try await subject.store.close(question.id, of: subject.tenant, .withdrawn)
            let stored = try await subject.store.question(question.id, of: subject.tenant)
            return compare("end", end, .closed(.withdrawn))
                + compare("answer", try await subject.answer(question.id, .cancel), "closed")
                + compare("reason", stored?.reason, .withdrawn)
        },
        Clause("a question expires at its deadline and not before") { subject in
            let (early, late) = (subject.question(), subject.question(of: 1))
            _ = try await subject.ask(early)
            _ = try await subject.ask(late, timeout: .milliseconds(1))
            try await Task.sleep(for: .milliseconds(20))
            return compare("early", try await subject.store.close(early.id, of: subject.tenant, .expired), nil)
                + compare(
                    "late", try await subject.store.close(late.id, of: subject.tenant, .expired), .closed(.expired))
                + compare("state", try await subject.state(early.id), .open)
        },
        Clause("who closes a question that was answered learns of the answer") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            _ = try await subject.answer(question.id, .returnResponse)
            let end = try await subject.store.close(question.id, of: subject.tenant, .withdrawn)
            return compare("end", end, .answered(.returnResponse, by: .key("key_a")))
        },
    ]

    // MARK: Listing

    private static let listing: [Clause<Subject>] = [
        Clause("questions are listed the oldest first, page by page, by all that a filter says") { subject in
            let first = subject.question(labels: [.init(name: "team", value: "a")])
            let second = subject.question(of: 1, host: "b.example")
            let third = subject.question(of: 2, kind: .didReceiveResponse)
            for question in [first, second, third] { _ = try await subject.ask(question) }
            _ = try await subject.answer(second.id, .cancel)
            var (labelled, ofJob) = (QuestionFilter(), QuestionFilter())
            labelled.labels = [.init(name: "team", value: "a")]
            ofJob.job = subject.jobs[2].id
            var (ofHost, ofKind) = (QuestionFilter(state: .answered), QuestionFilter(state: .open))
            ofHost.host = "b.example"
            ofKind.kind = .didReceiveResponse
            return compare("all", try await subject.list(.init()), [first.id, second.id, third.id])
                + compare("page", try await subject.list(.init(), after: first.id, limit: 1), [second.id])
                + compare("open", try await subject.list(.init(state: .open)), [first.id, third.id])
                + compare("label", try await subject.list(labelled), [first.id])
                + compare("job", try await subject.list(ofJob), [third.id])
                + compare("host", try await subject.list(ofHost), [second.id])
                + compare("kind", try await subject.list(ofKind), [third.id])
                + compare(
                    "last", try await subject.store.lastEnded(of: subject.tenant, limit: 5).map(\.id), [second.id])
        },
        Clause("what was wrong with a reply is told with the question") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            try await subject.store.note(fault: "The reply is not JSON.", of: question.id, subject.tenant)
            let stored = try await subject.store.question(question.id, of: subject.tenant)
            return compare("fault", stored?.fault, "The reply is not JSON.")
        },
        Clause("what somebody else notes of a question is not told") { subject in
            let question = subject.question()
            _ = try await subject.ask(question)
            try await subject.store.note(fault: "mine", of: question.id, Tenant.ID(rawValue: 2))
            let stored = try await subject.store.question(question.id, of: subject.tenant)
            return compare("fault", stored?.fault, nil)
        },
    ]
}

extension Answering {
    fileprivate var word: String {
        switch self {
        case .accepted: "accepted"
        case .alreadyAnswered: "other"
        case .closed: "closed"
        case .notFound: "notFound"
        }
    }
}
