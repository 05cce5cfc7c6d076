import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

@Suite struct ConditionTests {
    /// Reads conditions as a rule has them.
    private func conditions(_ text: String, on kind: Question.Kind) throws -> Question.Conditions {
        let answer = kind == .didReceiveServerTrust ? "reject" : "performDefaultHandling"
        let configuration = try Configuration.read(
            #"{"rules": [{"on": "\#(kind.rawValue)", "when": \#(text), "answer": "\#(answer)"}]}"#)
        return try #require(configuration.rules.first).conditions
    }

    @Test(arguments: [
        (#"{}"#, true),
        (#"{"to": {"host": "b.example"}}"#, true), (#"{"to": {"host": "B.Example"}}"#, true),
        (#"{"to": {"host": ".example"}}"#, true), (#"{"to": {"host": ".b.example"}}"#, true),
        (#"{"to": {"host": ".c.example"}}"#, false), (#"{"to": {"host": "example"}}"#, false),
        (#"{"from": {"host": "a.example", "scheme": "https", "port": 443, "path": "/x"}}"#, true),
        (#"{"from": {"path": "/xy"}}"#, false), (#"{"from": {"port": 80}}"#, false),
        (#"{"url": {"scheme": "http"}}"#, false),
        (#"{"crossOrigin": true}"#, true), (#"{"crossOrigin": false}"#, false), (#"{"downgrade": true}"#, false),
        (#"{"method": "GET"}"#, true), (#"{"method": ["POST", "PUT"]}"#, false),
        (#"{"status": 302}"#, true), (#"{"status": ["3xx"]}"#, true), (#"{"status": ["5xx", 301]}"#, false),
        (#"{"hop": {"max": 1}}"#, true), (#"{"hop": {"min": 2}}"#, false),
        (#"{"header": {"x-cache": "MISS*"}}"#, true), (#"{"header": {"X-Cache": "MISS*", "Server": "*"}}"#, false),
        (#"{"labels": {"customer": "42"}}"#, true), (#"{"labels": {"customer": "43"}}"#, false),
        (#"{"attempt": {"min": 2, "max": 3}}"#, true), (#"{"attempt": {"min": 3}}"#, false),
        (#"{"crossOrigin": true, "hop": {"min": 2}}"#, false),
    ])
    func `a redirect meets what holds of it`(conditions text: String, isMet: Bool) throws {
        let cache = try #require(HTTPField.Name("X-Cache"))
        let question = try Questions.redirection(
            headers: [cache: "MISS from p"],
            of: .init(labels: [.init(name: "customer", value: "42"), .init(name: "a", value: "b")], attempt: 2))
        #expect(try conditions(text, on: .willPerformHTTPRedirection).areMet(by: question) == isMet)
    }

    @Test func `leaving TLS is a downgrade`() throws {
        let question = try Questions.redirection(from: "https://a.example/", to: "http://a.example/")
        #expect(try conditions(#"{"downgrade": true}"#, on: .willPerformHTTPRedirection).areMet(by: question))
    }

    @Test(arguments: [
        (#"{"authenticationMethod": "httpBasic"}"#, true), (#"{"authenticationMethod": ["ntlm"]}"#, false),
        (#"{"realm": "staff"}"#, true), (#"{"realm": ["a", "b"]}"#, false), (#"{"isProxy": false}"#, true),
        (#"{"previousFailureCount": {"min": 1}}"#, true), (#"{"previousFailureCount": {"max": 0}}"#, false),
        (#"{"hasProposedCredential": true}"#, true), (#"{"status": "4xx"}"#, true),
    ])
    func `a challenge meets what holds of it`(conditions text: String, isMet: Bool) throws {
        let question = try Questions.challenge(failures: 1, proposing: Credential(user: "u", password: "p"))
        #expect(try conditions(text, on: .didReceiveChallenge).areMet(by: question) == isMet)
    }

    @Test(arguments: [
        (#"{"contentType": "text/html"}"#, true), (#"{"contentType": ["image/*", "text/*"]}"#, true),
        (#"{"contentType": "*/*"}"#, true), (#"{"contentType": "image/*"}"#, false),
        (#"{"contentLength": {"min": 5, "max": 5}}"#, true), (#"{"contentLength": {"min": 6}}"#, false),
        (#"{"suggestedFilename": "*.pdf"}"#, true), (#"{"suggestedFilename": "*.txt"}"#, false),
    ])
    func `a response meets what holds of it`(conditions text: String, isMet: Bool) throws {
        let question = try Questions.response(length: 5, filename: "a.pdf")
        #expect(try conditions(text, on: .didReceiveResponse).areMet(by: question) == isMet)
    }

    @Test(arguments: [
        (#"{"server": {"host": "a.example", "port": 443, "scheme": "https"}}"#, true),
        (#"{"server": {"host": ".example"}}"#, true), (#"{"server": {"host": "b.example"}}"#, false),
        (#"{"server": {"port": 80}}"#, false), (#"{"server": {"scheme": "http"}}"#, false),
    ])
    func `who asks meets what holds of the server, whatever is loaded`(conditions text: String, isMet: Bool) throws {
        let challenge = try Questions.challenge(isProxy: true)
        let elsewhere = Question(challenge.subject, about: Request(url: try URLRecord("http://c.test/")))
        #expect(try conditions(text, on: .didReceiveChallenge).areMet(by: elsewhere) == isMet)
        let trust = try Questions.serverTrust(.trusted)
        #expect(try conditions(text, on: .didReceiveServerTrust).areMet(by: trust) == isMet)
    }

    @Test func `a whole path is met by no longer one`() throws {
        let question = try Questions.redirection(to: "https://b.example/y/z?q")
        func isMet(_ path: String) throws -> Bool {
            try conditions(#"{"to": {"exactPath": "\#(path)"}}"#, on: .willPerformHTTPRedirection).areMet(by: question)
        }
        #expect(try isMet("/y/z"))
        for path in ["/y", "/y/", "/", "/y/z/"] { #expect(try !isMet(path)) }
        #expect(throws: InvalidInput.self) {
            try conditions(#"{"to": {"path": "/", "exactPath": "/"}}"#, on: .willPerformHTTPRedirection)
        }
    }

    @Test func `a length that is not known meets no bounds`() throws {
        let question = try Questions.response(length: nil)
        #expect(try !conditions(#"{"contentLength": {"min": 0}}"#, on: .didReceiveResponse).areMet(by: question))
    }

    @Test func `a chain meets the name of its error, and a good one only the word none`() throws {
        let bad = try Questions.serverTrust(.rejected(.serverCertificateHasBadDate, reason: "expired"))
        let good = try Questions.serverTrust(.trusted)
        let expired = try conditions(#"{"trustError": "serverCertificateHasBadDate"}"#, on: .didReceiveServerTrust)
        let none = try conditions(#"{"trustError": ["none"]}"#, on: .didReceiveServerTrust)
        #expect(expired.areMet(by: bad) && !expired.areMet(by: good))
        #expect(none.areMet(by: good) && !none.areMet(by: bad))
        #expect(none.askAboutTrustedServers && !expired.askAboutTrustedServers)
    }

    // Every condition, on every kind that it can apply to, is written back as it was read.
    @Test(arguments: Question.Kind.allCases)
    func `conditions read back from what is written`(kind: Question.Kind) throws {
        let values: [Question.Condition.Name: String] = [
            .url: #"{"scheme":"https","host":".a.example","port":8443,"path":"/a"}"#,
            .from: #"{"host":"a.example"}"#, .to: #"{"exactPath":"/"}"#, .crossOrigin: "true", .downgrade: "false",
            .method: #"["GET"]"#, .status: #"[200,"5xx"]"#, .hop: #"{"min":1,"max":2}"#,
            .header: #"{"Server":"nginx*"}"#, .contentType: #"["text/*"]"#, .contentLength: #"{"max":5}"#,
            .authenticationMethod: #"["httpDigest"]"#, .realm: #"["r"]"#, .isProxy: "true",
            .previousFailureCount: #"{"min":1}"#, .hasProposedCredential: "false",
            .trustError: #"["none","serverCertificateUntrusted"]"#,
            .spki: #"["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]"#,
            .server: #"{"scheme":"https","host":"a.example","port":443}"#,
            .chainSHA256: #"["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]"#,
            .suggestedFilename: #""*.pdf""#, .labels: #"{"a":"b"}"#, .attempt: #"{"min":2}"#,
        ]
        #expect(Set(values.keys) == Set(Question.Condition.Name.allCases))
        for name in Question.Condition.Name.allCases {
            let value = try #require(values[name])
            let when = #"{"\#(name.rawValue)":\#(value)}"#
            let text = #"{"rules":[{"on":"\#(kind.rawValue)","when":\#(when),"answer":"performDefaultHandling"}]}"#
            if kind.conditions.contains(name) {
                #expect(try Configuration.read(text).text == text)
            } else {
                let failure = #expect(throws: InvalidInput.self) { try Configuration.read(text) }
                let message = "cannot apply to \(kind.rawValue)"
                #expect(failure?.violations == [.init(pointer: "/rules/0/when/\(name.rawValue)", message: message)])
            }
        }
    }
}

extension Configuration {
    /// Reads a configuration as a client writes it.
    static func read(_ text: String) throws -> Configuration {
        let check = InputCheck()
        let configuration = Configuration(reader: JSONReader(try JSONParser.parse(text.utf8), check: check))
        try check.finish()
        return configuration
    }

    var text: String { String(decoding: JSONWriter.object(write), as: UTF8.self) }
}
