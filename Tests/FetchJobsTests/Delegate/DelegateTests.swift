import FetchEngine
import FetchJobs
import Testing

@Suite struct DelegateTests {
    private static let endpoint = WebhookEndpoint.ID()

    @Test func `every member reads back from what is written`() throws {
        let text =
            #"{"delegate":{"via":"webhook","endpoint":"\#(Self.endpoint)","questions":["willPerformHTTPRedirection","#
            + #"{"on":"didReceiveChallenge","when":{"previousFailureCount":{"min":1}}}],"timeout":30.0,"#
            + #""otherwise":{"willPerformHTTPRedirection":"cancel"},"whenUnreachable":"otherwise","#
            + #""maximumQuestions":5}}"#
        let configuration = try Configuration.read(text)
        #expect(configuration.text == text)
        #expect(configuration.delegate.kinds == [.willPerformHTTPRedirection, .didReceiveChallenge])
        #expect(configuration.delegate.timeout == .seconds(30))
    }

    @Test func `what it is asked depends on kind and conditions`() throws {
        let delegate = try Configuration.read(
            #"{"delegate": {"via": "api", "questions": [{"on": "willPerformHTTPRedirection", "#
                + #""when": {"hop": {"min": 2}}}]}}"#
        ).delegate
        #expect(delegate.isAsked(try Questions.redirection(hop: 2)))
        #expect(!delegate.isAsked(try Questions.redirection(hop: 1)))
        #expect(!delegate.isAsked(try Questions.response()))
    }

    @Test func `a job's delegate takes the place of its session's as a whole`() throws {
        var merged = try Configuration.read(
            #"{"delegate": {"via": "api", "questions": ["didReceiveResponse"], "timeout": 5}}"#)
        merged.override(by: try Configuration.read(#"{"delegate": {"via": "api", "questions": []}}"#))
        #expect(merged.delegate.questions == [])
        #expect(merged.delegate.timeout == nil)
    }

    @Test(arguments: [
        (#"{"delegate": {"questions": []}}"#, "/delegate", "\"via\""),
        (#"{"delegate": {"via": "webhook", "questions": []}}"#, "/delegate", "the endpoint"),
        (#"{"delegate": {"via": "api"}}"#, "/delegate", "which questions"),
        (#"{"delegate": {"via": "carrier pigeon", "questions": []}}"#, "/delegate/via", "must be one of"),
        (
            #"{"delegate": {"via": "api", "endpoint": "whe_01jd3v8m5qf0t8n4r6w2y9bcde", "questions": []}}"#,
            "/delegate", "no endpoint"
        ),
        (
            #"{"delegate": {"via": "webhook", "url": "https://a.example/", "questions": []}}"#, "/delegate/url",
            "register an endpoint"
        ),
        (#"{"delegate": {"via": "api", "questions": ["redirect"]}}"#, "/delegate/questions/0", "must be one of"),
        (
            #"{"delegate": {"via": "api", "questions": [{"on": "didCanonicalize", "when": {"status": 200}}]}}"#,
            "/delegate/questions/0/when/status", "cannot apply"
        ),
        (#"{"delegate": {"via": "api", "questions": [], "timeout": 0.5}}"#, "/delegate/timeout", "from 1"),
        (#"{"delegate": {"via": "api", "questions": [], "timeout": 604801}}"#, "/delegate/timeout", "to 604800"),
        (
            #"{"delegate": {"via": "api", "questions": [], "otherwise": {"didCanonicalize": "follow"}}}"#,
            "/delegate", "not among its questions"
        ),
        (
            #"{"delegate": {"via": "api", "questions": ["didCanonicalize"], "otherwise": {"didCanonicalize": "yes"}}}"#,
            "/delegate/otherwise/didCanonicalize", "must be one of"
        ),
        (
            #"{"delegate": {"via": "api", "questions": [], "whenUnreachable": "wait"}}"#, "/delegate",
            "no whenUnreachable"
        ),
        (
            #"{"delegate": {"via": "api", "questions": [], "maximumQuestions": 101}}"#, "/delegate/maximumQuestions",
            "100"
        ),
        (#"{"redirects": {"policy": "delegate"}}"#, "/redirects/policy", "must be one of"),
        (#"{"serverTrust": {"policy": "delegate"}}"#, "/serverTrust/policy", "must be one of"),
        (#"{"authentication": {"onFailure": "delegate"}}"#, "/authentication/onFailure", "must be one of"),
        (#"{"cache": {"delegate": true}}"#, "/cache/delegate", "delegate.questions"),
    ])
    func `a delegate that cannot be meant is named by its pointer`(
        input: String, pointer: String, rule: String
    ) throws {
        let failure = #expect(throws: InvalidInput.self) { try Configuration.read(input) }
        let violations = failure?.violations ?? []
        #expect(violations.contains { $0.pointer == pointer && $0.message.contains(rule) }, "\(violations)")
    }
}

@Suite struct ImpossibleQuestionTests {
    private func violations(_ members: String) throws -> [Violation] {
        let json = try JSONParser.parse(#"{"request": {"url": "https://a.example/"}, \#(members)}"#.utf8)
        do {
            _ = try JobSpec(json: json)
            return []
        } catch { return error.violations }
    }

    @Test(arguments: [
        (
            #""kind": "download", "configuration": {"rules": [{"on": "willCacheResponse", "answer": "doNotStore"}]}"#,
            "/configuration/rules/0/on"
        ),
        (
            #""configuration": {"rules": [{"on": "needNewBodyStream", "answer": "cancel"}]}"#,
            "/configuration/rules/0/on"
        ),
        (
            #""kind": "download", "configuration": {"delegate": {"via": "api", "questions": ["willCacheResponse"]}}"#,
            "/configuration/delegate/questions/0"
        ),
        (
            #""kind": "download", "configuration": {"rules": [{"on": "didReceiveResponse", "answer": "becomeDownload"}]}"#,
            "/configuration/rules/0/answer"
        ),
    ])
    func `a job is refused for questions that cannot come up in it`(members: String, pointer: String) throws {
        #expect(try violations(members).map(\.pointer) == [pointer])
    }

    // A background session asks nobody.
    @Test func `a background session is refused for questions about redirects`() throws {
        let text =
            #"{"kind": "background", "identifier": "i", "webhook": {"url": "https://a.example/"}, "#
            + #""configuration": {"rules": [{"on": "willPerformHTTPRedirection", "answer": "follow"}]}}"#
        let failure = #expect(throws: InvalidInput.self) { try SessionSpec(json: JSONParser.parse(text.utf8)) }
        #expect(failure?.violations.map(\.pointer) == ["/configuration/rules/0/on"])
    }

    @Test func `an ephemeral session is refused for an answer that makes a file`() throws {
        let text =
            #"{"kind": "ephemeral", "configuration": {"rules": [{"on": "didReceiveResponse", "answer": "becomeDownload"}]}}"#
        let failure = #expect(throws: InvalidInput.self) { try SessionSpec(json: JSONParser.parse(text.utf8)) }
        #expect(failure?.violations.map(\.pointer) == ["/configuration/rules/0/answer"])
    }

    @Test func `what a rule names is among the credentials of its configuration`() throws {
        let id = StoredCredential.ID()
        let configuration = try Configuration.read(
            #"{"rules": [{"on": "didReceiveChallenge", "answer": {"answer": "useCredential", "credential": "\#(id)"}}]}"#
        )
        #expect(configuration.credentials.map(\.pointer) == ["/configuration/rules/0/answer/credential"])
        #expect(NamedCredential.all(in: configuration).map(\.id) == [id])
    }
}
