import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

@Suite struct RuleTests {
    private static let credential = StoredCredential.ID()

    /// An answer with all that may go with it, of every word of every kind.
    private static let answers: [(Question.Kind, String)] = [
        (.willPerformHTTPRedirection, #""follow""#),
        (
            .willPerformHTTPRedirection,
            #"{"answer":"follow","request":{"url":"https://c.example/","method":"PUT","#
                + #""headers":[{"name":"Accept","value":"*/*"}],"body":{"text":"x"},"#
                + #""cachePolicy":"reloadIgnoringLocalCacheData"}}"#
        ),
        (.willPerformHTTPRedirection, #"{"answer":"follow","request":{"body":null}}"#),
        (.willPerformHTTPRedirection, #""returnResponse""#), (.willPerformHTTPRedirection, #""cancel""#),
        (.didCanonicalize, #""follow""#), (.didCanonicalize, #""cancel""#),
        (.didReceiveChallenge, #"{"answer":"useCredential","credential":"\#(credential)"}"#),
        (.didReceiveChallenge, #""continueWithoutCredential""#), (.didReceiveChallenge, #""rejectProtectionSpace""#),
        (.didReceiveChallenge, #""cancel""#),
        (.didReceiveServerTrust, #""accept""#), (.didReceiveServerTrust, #""reject""#),
        (.didReceiveResponse, #""allow""#), (.didReceiveResponse, #""becomeDownload""#),
        (.didReceiveResponse, #""cancel""#),
        (.shouldDecodeSourceData, #""yes""#), (.shouldDecodeSourceData, #""no""#),
        (.decideDestination, #"{"answer":"use","filename":"a.txt","overwrite":true}"#), (.decideDestination, #""use""#),
        (.decideDestination, #""cancel""#),
        (.needNewBodyStream, #"{"answer":"useBody","body":{"base64":"aGFsbG8="}}"#), (.needNewBodyStream, #""cancel""#),
        (
            .willCacheResponse,
            #"{"answer":"store","userInfo":{"a":"b"},"storagePolicy":"allowedInMemoryOnly","body":{"text":"x"}}"#
        ),
        (.willCacheResponse, #""store""#), (.willCacheResponse, #""doNotStore""#),
        (.willBeginDelayedRequest, #""continueLoading""#), (.willBeginDelayedRequest, #""cancel""#),
        (.willBeginDelayedRequest, #"{"answer":"useRequest","request":{"url":"https://c.example/"}}"#),
    ]

    @Test func `every word of every kind reads back from what is written`() throws {
        var words: [Question.Kind: Set<Answer.Word>] = [:]
        let plain = Question.Kind.allCases.map { ($0, #""performDefaultHandling""#) }
        for (kind, answer) in Self.answers + plain {
            let text = #"{"rules":[{"name":"r","on":"\#(kind.rawValue)","answer":\#(answer)}]}"#
            let configuration = try Configuration.read(text)
            #expect(configuration.text == text)
            words[kind, default: []].insert(try #require(configuration.rules.first).answer.word)
        }
        for kind in Question.Kind.allCases { #expect(words[kind] == Set(kind.words)) }
    }

    @Test func `a word may stand in an object alone`() throws {
        let text = #"{"rules": [{"on": "didReceiveResponse", "answer": {"answer": "allow"}}]}"#
        #expect(try Configuration.read(text).rules.first?.answer == .allow)
    }

    private static func rule(_ kind: String, _ answer: String, when: String = "{}") -> String {
        #"{"rules": [{"on": "\#(kind)", "when": \#(when), "answer": \#(answer)}]}"#
    }

    @Test(arguments: [
        (#"{"rules": [{"answer": "follow"}]}"#, "/rules/0/on", "is required"),
        (#"{"rules": [{"on": "redirect", "answer": "follow"}]}"#, "/rules/0/on", "must be one of"),
        (#"{"rules": [{"on": "didCanonicalize"}]}"#, "/rules/0/answer", "is required"),
        (#"{"rules": {"on": "didCanonicalize"}}"#, "/rules", "must be an array"),
        (#"{"rules": [{"on": "didCanonicalize", "answer": "follow", "if": 1}]}"#, "/rules/0/if", "not a member"),
        (#"{"rules": [{"name": "", "on": "didCanonicalize", "answer": "follow"}]}"#, "/rules/0/name", "one character"),
        (
            #"{"rules": [{"name": "a\u202eb", "on": "didCanonicalize", "answer": "follow"}]}"#, "/rules/0/name",
            "no control characters"
        ),
        (rule("didCanonicalize", #""returnResponse""#), "/rules/0/answer", "for didCanonicalize"),
        (rule("didReceiveServerTrust", #""cancel""#), "/rules/0/answer", "must be one of \"accept\""),
        (rule("didReceiveResponse", "1"), "/rules/0/answer", "must be a word"),
        (rule("didReceiveResponse", #"{"answer": "allow", "body": {}}"#), "/rules/0/answer/body", "not a member"),
        (rule("didReceiveChallenge", #""useCredential""#), "/rules/0/answer", "the member \"credential\""),
        (rule("didReceiveChallenge", #"{"answer": "useCredential"}"#), "/rules/0/answer/credential", "is required"),
        (
            rule(
                "didReceiveChallenge",
                #"{"answer": "useCredential", "credential": {"user": "u", "password": "secret"}}"#),
            "/rules/0/answer/credential", "must be the id of a credential"
        ),
        (
            rule("didReceiveChallenge", #"{"answer": "useCredential", "credential": "sealed"}"#),
            "/rules/0/answer/credential", "must be the id of a credential"
        ),
        (
            rule(
                "willPerformHTTPRedirection",
                #"{"answer": "follow", "request": {"headers": [{"name": "Authorization", "value": "secret"}]}}"#),
            "/rules/0/answer/request/headers", "headerForbidden"
        ),
        (
            rule("willPerformHTTPRedirection", #"{"answer": "follow", "request": {"url": "file:///etc/passwd"}}"#),
            "/rules/0/answer/request/url", "schemeForbidden"
        ),
        (
            rule(
                "willPerformHTTPRedirection", #"{"answer": "follow", "request": {"url": "http://u:secret@a.example/"}}"#
            ),
            "/rules/0/answer/request/url", "user name or password"
        ),
        (
            rule("willPerformHTTPRedirection", #"{"answer": "follow", "request": {}}"#), "/rules/0/answer/request",
            "must change something"
        ),
        (
            rule("needNewBodyStream", #"{"answer": "useBody", "body": {"stream": true}}"#), "/rules/0/answer/body",
            "in the answer itself"
        ),
        (
            rule("decideDestination", #"{"answer": "use", "filename": "../a"}"#), "/rules/0/answer/filename",
            "filenameInvalid"
        ),
        (
            rule("willCacheResponse", #"{"answer": "store", "storagePolicy": "forever"}"#),
            "/rules/0/answer/storagePolicy", "must be one of"
        ),
        (rule("didCanonicalize", #""follow""#, when: #"{"hop": {"min": 1}}"#), "/rules/0/when/hop", "cannot apply"),
        (rule("didCanonicalize", #""follow""#, when: #"{"host": "a"}"#), "/rules/0/when/host", "not a member"),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"status": [600]}"#), "/rules/0/when/status/0",
            "from 100 to 599"
        ),
        (rule("didReceiveResponse", #""allow""#, when: #"{"status": "9xx"}"#), "/rules/0/when/status", "\"5xx\""),
        (rule("didReceiveResponse", #""allow""#, when: #"{"status": []}"#), "/rules/0/when/status", "at least one"),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"contentLength": {"min": 2, "max": 1}}"#),
            "/rules/0/when/contentLength", "below its min"
        ),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"contentLength": {}}"#), "/rules/0/when/contentLength",
            "\"min\", \"max\" or both"
        ),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"header": {"Set-Cookie": "*"}}"#),
            "/rules/0/when/header/Set-Cookie", "secret"
        ),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"header": {"a b": "*"}}"#), "/rules/0/when/header/a b",
            "no token"
        ),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"contentType": "text"}"#), "/rules/0/when/contentType",
            "MIME type"
        ),
        (
            rule("didReceiveServerTrust", #""accept""#, when: #"{"spki": "x"}"#), "/rules/0/when/spki", "SHA-256"
        ),
        (
            rule("didReceiveChallenge", #""cancel""#, when: #"{"authenticationMethod": "serverTrust"}"#),
            "/rules/0/when/authenticationMethod", "must be one of"
        ),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"url": {"host": "a/b"}}"#), "/rules/0/when/url/host",
            "hostInvalid"
        ),
        (rule("didReceiveResponse", #""allow""#, when: #"{"url": {}}"#), "/rules/0/when/url", "at least one"),
        (
            rule("didReceiveResponse", #""allow""#, when: #"{"url": {"path": "a"}}"#), "/rules/0/when/url/path",
            "a slash first"
        ),
    ])
    func `a rule that cannot be meant is named by its pointer`(input: String, pointer: String, rule: String) throws {
        let failure = #expect(throws: InvalidInput.self) { try Configuration.read(input) }
        let violations = failure?.violations ?? []
        #expect(violations.contains { $0.pointer == pointer && $0.message.contains(rule) }, "\(violations)")
        #expect(!"\(violations)".contains("secret@") && !"\(violations)".contains("\"secret\""))
    }

    @Test func `a configuration has at most 64 rules`() throws {
        let rule = #"{"on": "didCanonicalize", "answer": "follow"}"#
        let texts = [64, 65].map { #"{"rules": [\#(Array(repeating: rule, count: $0).joined(separator: ","))]}"# }
        #expect(try Configuration.read(texts[0]).rules.count == 64)
        let failure = #expect(throws: InvalidInput.self) { try Configuration.read(texts[1]) }
        #expect(failure?.violations.first?.pointer == "/rules")
    }

    @Test func `a body in a rule has at most 65536 bytes`() throws {
        let text = Self.rule(
            "needNewBodyStream",
            #"{"answer": "useBody", "body": {"text": "\#(String(repeating: "x", count: 65_536))"}}"#)
        let failure = #expect(throws: InvalidInput.self) { try Configuration.read(text) }
        #expect(failure?.violations.first?.pointer == "/rules/0/answer/body")
    }
}

@Suite struct RuleBookTests {
    private func named(_ name: String, on kind: Question.Kind = .willPerformHTTPRedirection, hop: Int64? = nil) -> Rule
    {
        let conditions = hop.map { [Question.Condition.hop(.init(minimum: $0, maximum: $0))] } ?? []
        return Rule(name: name, on: kind, when: conditions, .performDefaultHandling)
    }

    private func decider(_ book: RuleBook, _ question: Question) -> String? {
        book.match(question).map { "\($0.level.rawValue) \($0.index) \($0.rule.name ?? "")" }
    }

    @Test func `the first rule that fits decides, those of the job before those of the session`() throws {
        let book = RuleBook(
            job: [named("a", hop: 2), named("b", hop: 3)], session: [named("c", hop: 2), named("d", hop: 1)])
        #expect(decider(book, try Questions.redirection(hop: 2)) == "job 0 a")
        #expect(decider(book, try Questions.redirection(hop: 3)) == "job 1 b")
        #expect(decider(book, try Questions.redirection(hop: 1)) == "session 1 d")
        #expect(decider(book, try Questions.redirection(hop: 9)) == nil)
        #expect(decider(book, try Questions.response()) == nil)
        #expect(book.kinds == [.willPerformHTTPRedirection])
    }

    @Test func `the rules of the service come last, at either level`() throws {
        let own = [named("a", hop: 2)]
        let service = ServiceRules([named("b", hop: 2), named("c"), Rule(on: .didReceiveServerTrust, .reject)])
        let book = RuleBook(job: [], session: own, service: service.matches(in: .default))
        #expect(decider(book, try Questions.redirection(hop: 2)) == "session 0 a")
        #expect(decider(book, try Questions.redirection(hop: 3)) == "service 1 c")
        let trust = try Questions.serverTrust(.rejected(.serverCertificateUntrusted, reason: ""))
        #expect(decider(book, trust) == "service 2 ")
        let rules = [Rule(on: .didReceiveServerTrust, .accept)]
        let first = RuleBook(job: rules, session: [], service: service.matches(in: .default))
        #expect(first.match(trust)?.level == .job)
    }

    @Test func `a background session has no rules of the service about redirects`() throws {
        let service = ServiceRules([named("a"), Rule(name: "b", on: .didReceiveResponse, .cancel)])
        let book = RuleBook(job: [], session: [], service: service.matches(in: .background))
        #expect(book.kinds == [.didReceiveResponse])
        #expect(decider(book, try Questions.response()) == "service 1 b")
    }

    @Test(arguments: [
        (#"[]"#, ""), (#"{}"#, "/rules"), (#"{"rules": 1}"#, "/rules"), (#"{"rules": [], "a": 1}"#, "/a"),
        (#"{"rules": [{"on": "x", "answer": "cancel"}]}"#, "/rules/0/on"),
        (#"{"rules": [{"on": "didCanonicalize", "when": {"status": 1}, "answer": "cancel"}]}"#, "/rules/0/when/status"),
        (
            #"{"rules": [{"on": "didReceiveChallenge", "answer": {"answer": "useCredential", "#
                + #""credential": "crd_01jd3v8m5qf0t8n4r6w2y9bcde"}}]}"#, "/rules/0/answer/credential"
        ),
        (
            #"{"rules": [{"on": "needNewBodyStream", "answer": {"answer": "useBody", "#
                + #""body": {"blob": "blb_01jd3v8m5qf0t8n4r6w2y9bcde"}}}]}"#, "/rules/0/answer/body"
        ),
    ])
    func `what is wrong with a rule of the service is named`(json: String, pointer: String) throws {
        let error = #expect(throws: InvalidInput.self) {
            try ServiceRules.rules(json: try JSONParser.parse(Array(json.utf8)))
        }
        #expect(error?.violations.map(\.pointer) == [pointer])
    }

    @Test(arguments: [
        (ProtectionSpace.Method.httpBasic, "job"), (.httpDigest, "job"), (.httpBearer, "job"), (.default, "job"),
        (.ntlm, "session"), (.negotiate, "session"), (.clientCertificate, "session"),
    ])
    func `challenges of session level are decided there first, others in the job`(
        method: ProtectionSpace.Method, level: String
    ) throws {
        let rules = [Rule(on: .didReceiveChallenge, .cancel)]
        let match = RuleBook(job: rules, session: rules).match(try Questions.challenge(method))
        #expect(match?.level.rawValue == level)
        let fallback = RuleBook(job: rules, session: []).match(try Questions.challenge(method))
        #expect(fallback?.level == .job)
    }

    @Test func `of server trust the session's rules decide first`() throws {
        let rules = [Rule(on: .didReceiveServerTrust, .reject)]
        let question = try Questions.serverTrust(.rejected(.serverCertificateUntrusted, reason: ""))
        #expect(RuleBook(job: rules, session: rules).match(question)?.level == .session)
    }

    @Test func `a job's rules come before its session's, and both are shown with their origin`() throws {
        let job = try Configuration.read(#"{"rules": [{"name": "a", "on": "didCanonicalize", "answer": "follow"}]}"#)
        let session = try Configuration.read(
            #"{"rules": [{"name": "b", "on": "didCanonicalize", "answer": "cancel"}]}"#)
        var merged = session
        merged.override(by: job)
        #expect(merged.rules.map(\.name) == ["a", "b"])
        let effective = EffectiveConfiguration(job: job, session: session, standard: Configuration())
        let text = String(decoding: JSONWriter.object(effective.write), as: UTF8.self)
        #expect(
            text.contains(
                #""rules":[{"value":{"name":"a","on":"didCanonicalize","answer":"follow"},"from":"job"},"#
                    + #"{"value":{"name":"b","on":"didCanonicalize","answer":"cancel"},"from":"session"}]"#))
    }
}
