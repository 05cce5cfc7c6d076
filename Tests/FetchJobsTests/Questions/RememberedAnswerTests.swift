import FetchEngine
import HTTPTypes
import Synchronization
import Testing

@testable import FetchJobs

/// Which answers may be remembered, and for which questions.
@Suite struct RememberedAnswerTests {
    private func asked(
        _ question: Question, in session: TenantSession.ID? = TenantSession.ID()
    ) -> AskedQuestion {
        var limits = AnswerLimits(of: question, .init())
        limits.alike = question.alike
        return AskedQuestion(
            tenant: Tenant.ID(rawValue: 1), job: Job.ID(), claim: 1, sequence: 1, kind: question.kind, host: nil,
            group: nil, session: session, labels: [], content: RawJSON(Array("{}".utf8)), limits: limits, endpoint: nil)
    }

    /// The conditions under which an answer to a question is remembered.
    private func conditions(
        _ text: String, to question: Question, in session: TenantSession.ID? = TenantSession.ID()
    ) throws -> Question.Conditions {
        let reply = try Reply(json: JSONParser.parse(text.utf8), to: asked(question, in: session))
        return try #require(reply.remember).conditions
    }

    private static func trust(_ certificates: [[UInt8]], host: String = "a.example") throws -> Question {
        let trust = ServerTrust(
            host: host, port: 443, certificates: certificates,
            verdict: .rejected(.serverCertificateHasUnknownRoot, reason: "r"))
        return Question(.serverTrust(trust), about: Request(url: try URLRecord("https://\(host)/")))
    }

    @Test func `a redirect is remembered from URL to URL, whatever their queries are`() throws {
        let question = try Questions.redirection(from: "https://a.example/x?1", to: "https://b.example/?2")
        let met = try conditions(#"{"answer": "follow", "remember": {"seconds": 60}}"#, to: question)
        #expect(met.areMet(by: try Questions.redirection(from: "https://a.example/x", to: "https://b.example/?3")))
        for (from, to) in [
            ("https://a.example/xy", "https://b.example/"), ("https://a.example/x", "https://b.example/other"),
            ("http://a.example/x", "https://b.example/"), ("https://a.example/x", "https://b.example:8443/"),
            ("https://a.example/x", "https://www.b.example/"),
        ] {
            #expect(!met.areMet(by: try Questions.redirection(from: from, to: to)), "\(from) \(to)")
        }
    }

    // Proves: SEC-6.
    @Test func `an accepted chain is remembered for itself and its server alone`() throws {
        let question = try Self.trust([[1], [2]])
        let met = try conditions(#"{"answer": "accept", "remember": {"seconds": 60}}"#, to: question)
        #expect(met.areMet(by: question))
        for other in [
            try Self.trust([[1]]), try Self.trust([[1], [2], [3]]), try Self.trust([[2], [1]]),
            try Self.trust([[1, 2]]), try Self.trust([[1], [2]], host: "b.example"),
        ] {
            #expect(!met.areMet(by: other))
        }
        // A proxy may show a chain for any URL that is loaded through it.
        let facts = ServerTrust(
            host: "proxy.example", port: 443, certificates: [[1], [2]],
            verdict: .rejected(.serverCertificateHasUnknownRoot, reason: "r"))
        let byProxy = Question(.serverTrust(facts), about: question.request)
        #expect(!met.areMet(by: byProxy))
    }

    @Test func `an answer to a challenge is remembered for its protection space, until it is refused there`() throws {
        let text =
            #"{"answer": "useCredential", "credential": "\#(StoredCredential.ID())", "remember": {"seconds": 9}}"#
        let met = try conditions(text, to: try Questions.challenge())
        #expect(met.areMet(by: try Questions.challenge()))
        for other in [
            try Questions.challenge(.httpDigest), try Questions.challenge(realm: "others"),
            try Questions.challenge(isProxy: true), try Questions.challenge(failures: 1),
        ] {
            #expect(!met.areMet(by: other))
        }
        let later = try conditions(text, to: try Questions.challenge(failures: 2))
        #expect(later.areMet(by: try Questions.challenge(failures: 1)))
        #expect(!later.areMet(by: try Questions.challenge()))
    }

    @Test func `conditions take the place of the facts`() throws {
        let question = try Questions.redirection()
        let met = try conditions(
            #"{"answer": "follow", "remember": {"seconds": 60, "when": {"to": {"host": ".example"}}}}"#, to: question)
        #expect(met.areMet(by: try Questions.redirection(from: "https://c.example/", to: "https://d.example/")))
        #expect(!met.areMet(by: try Questions.redirection(to: "https://d.test/")))
    }

    @Test(arguments: [
        (#""seconds": 0"#, "/remember/seconds"), (#""seconds": 2592001"#, "/remember/seconds"),
        ("", "/remember/seconds"),
        (#""seconds": 1, "when": {"realm": "x"}"#, "/remember/when/realm"), (#""seconds": 1, "x": 1"#, "/remember/x"),
    ])
    func `what cannot be remembered is refused by its place`(_ members: String, _ pointer: String) throws {
        let text = #"{"answer": "follow", "remember": {\#(members)}}"#
        #expect(try pointers(text, to: Questions.redirection()) == [pointer])
    }

    private func pointers(_ text: String, to question: Question, in session: TenantSession.ID? = .init()) -> [String] {
        do {
            _ = try Reply(json: JSONParser.parse(text.utf8), to: asked(question, in: session))
            return []
        } catch let error as InvalidInput {
            return error.violations.map(\.pointer)
        } catch {
            return ["\(error)"]
        }
    }

    @Test(arguments: [
        #""follow", "request": {"method": "GET"}"#, #""useCredential", "credential": {"user": "u", "password": "p"}"#,
        #""useBody", "body": {"text": "x"}"#, #""use", "filename": "x""#, #""store", "userInfo": {"a": "b"}"#,
    ])
    func `words and ids are remembered, and nothing that an answer brings`(_ answer: String) throws {
        let url = try URLRecord("https://a.example/")
        let request = Request(url: url)
        let caching = Question.CachingFacts(
            response: Response(url: url, status: .ok), bodyBytes: 1, storagePolicy: .allowed)
        let questions = [
            try Questions.redirection(), try Questions.challenge(), Question(.body(.first, offset: 0), about: request),
            Question(.destination(suggestedFilename: "x", expectedContentLength: nil), about: request),
            Question(.caching(caching), about: request),
        ]
        let refused = questions.compactMap { question -> [String]? in
            let found = pointers(#"{"answer": \#(answer), "remember": {"seconds": 1}}"#, to: question)
            return found.first?.hasPrefix("/remember") == true ? found : nil
        }
        #expect(refused == [["/remember"]])
    }

    @Test func `a job without a session remembers nothing, and an accepted chain knows its conditions`() throws {
        let remember = #""remember": {"seconds": 1}"#
        #expect(
            pointers(#"{"answer": "follow", \#(remember)}"#, to: try Questions.redirection(), in: nil)
                == ["/remember"])
        let wide = #"{"answer": "accept", "remember": {"seconds": 1, "when": {}}}"#
        #expect(pointers(wide, to: try Self.trust([[1]])) == ["/remember/when"])
        let many = try JSONParser.parse(#"{"answer": "follow", \#(remember)}"#.utf8)
        #expect(throws: InvalidInput.self) { try Reply(json: many, to: .willPerformHTTPRedirection) }
    }

    @Test func `facts that are too long to be conditions need conditions of the answer's own`() throws {
        let long = String(repeating: "x", count: 3000)
        let question = try Questions.redirection(from: "https://a.example/\(long)")
        #expect(question.alike == nil)
        #expect(pointers(#"{"answer": "follow", "remember": {"seconds": 1}}"#, to: question) == ["/remember"])
        let text = #"{"answer": "follow", "remember": {"seconds": 1, "when": {"hop": {"max": 1}}}}"#
        #expect(pointers(text, to: question) == [])
    }

    @Test func `every kind of question has conditions that it meets itself`() throws {
        let url = try URLRecord("https://a.example./x%20y?q#f")
        let request = Request(url: url)
        let response = Response(url: url, status: .ok, headerFields: [.contentType: "text/html; charset=utf-8"])
        let subjects: [Question.Subject] = [
            .canonicalization(.init(original: url, proposed: request, reason: .canonical)),
            .response(response, part: nil), .decoding(mimeType: "application/macbinary"),
            .destination(suggestedFilename: "a*", expectedContentLength: 1), .body(.retry, offset: 0),
            .caching(.init(response: response, bodyBytes: 1, storagePolicy: .allowed)), .delayedRequest,
        ]
        let questions = subjects.map { Question($0, about: request) }
        for question in questions + [try Questions.challenge(.negotiate, realm: nil)] {
            #expect(question.alike?.areMet(by: question) == true, "\(question.kind)")
        }
    }

    // MARK: On a node

    private func remembered(_ word: Answer, until end: Timestamp) -> RememberedAnswer {
        RememberedAnswer(
            to: Question.ID(), Rule(on: .willPerformHTTPRedirection, word), by: .operator, rememberedAt: .now,
            expiresAt: end)
    }

    @Test func `a session gives the newest answer that is not over`() async throws {
        let answers = [
            remembered(.cancel, until: .now.advanced(by: .seconds(-1))),
            remembered(.follow(nil), until: .now.advanced(by: .seconds(60))),
            remembered(.returnResponse, until: .now.advanced(by: .seconds(60))),
        ]
        let memory = AnswerMemory { (3, answers) }
        memory.require(3)
        let question = try Questions.redirection()
        #expect(memory.answer(to: question) == nil && !memory.isCurrent)
        try await memory.catchUp()
        #expect(memory.answer(to: question) == answers[1] && memory.isCurrent)
        #expect(memory.answer(to: try Questions.response()) == nil)
        #expect(memory.answer(to: question, at: .now.advanced(by: .seconds(61))) == nil)
        #expect(memory.rules.kinds == [.willPerformHTTPRedirection])
    }

    @Test func `while it cannot be learned what is new, nothing is remembered`() async throws {
        let answers = [remembered(.cancel, until: .now.advanced(by: .seconds(60)))]
        let isAway = Mutex(false)
        let memory = AnswerMemory {
            if isAway.withLock(\.self) { throw StoreError(.unavailable, "away") }
            return (1, answers)
        }
        memory.require(1)
        try await memory.catchUp()
        let question = try Questions.redirection()
        #expect(memory.answer(to: question) != nil)
        isAway.withLock { $0 = true }
        memory.require(2)
        await #expect(throws: StoreError.self) { try await memory.catchUp() }
        #expect(memory.answer(to: question) == nil)
    }
}
