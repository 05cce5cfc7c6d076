import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

@Suite struct JobSpecTests {
    private func spec(_ text: String) throws -> JobSpec { try JobSpec(json: try JSONParser.parse(text.utf8)) }

    private func violations(_ text: String) throws -> [Violation] {
        do {
            _ = try spec(text)
            return []
        } catch let error as InvalidInput {
            return error.violations
        }
    }

    @Test func `a URL alone is a job, with the defaults for the rest`() throws {
        let spec = try spec(#"{"request": {"url": "https://origin.example/a?b=c"}}"#)
        #expect(spec.request.url.description == "https://origin.example/a?b=c")
        #expect(spec.request.method == .get)
        #expect(spec.priority == 0.5)
        #expect(spec.configuration.isEmpty)
    }

    @Test func `a spec reads back from what it writes`() throws {
        let spec = try spec(
            #"""
            {
              "kind": "data", "session": "ses_01jd3v8m5qf0t8n4r6w2y9bcde",
              "request": {
                "url": "http://origin.example/", "method": "POST",
                "cachePolicy": "returnCacheDataElseLoad", "mainDocumentURL": "http://main.example/",
                "headers": [{"name": "X-A", "value": "1"}, {"name": "x-b", "value": ""}, {"name": "X-A", "value": "2"}],
                "body": {"json": {"z": 1, "a": [true, null]}}
              },
              "configuration": {
                "redirects": {"policy": "return", "maximum": 3, "allowedHosts": ["a.example"]},
                "timeouts": {"connect": 2.5}, "connections": {"maximumPerHost": 2, "httpVersion": "1.1"},
                "response": {"maximumBytes": 10}
              },
              "priority": 1, "labels": {"customer": "42"}, "webhook": {"endpoint": "whe_00000000000000000000000001"}
            }
            """#
        )
        #expect(try JobSpec(json: try JSONParser.parse(spec.json)) == spec)
        #expect(spec.request.headers.map(\.name.rawName) == ["X-A", "x-b", "X-A"])
        #expect(String(decoding: spec.json, as: UTF8.self).contains(#""body":{"json":{"z":1,"a":[true,null]}}"#))
    }

    @Test(arguments: [
        (#""HTTP://A.example/b/../c""#, "http://a.example/c", "HTTP://A.example/b/../c"),
        (#"{"url": "http://a.example"}"#, "http://a.example/", "http://a.example"),
        (#"{"url": "http://a.example/"}"#, "http://a.example/", nil),
        (#"{"url": "http://a.example?hush", "sensitive": ["query"]}"#, "http://a.example/?hush", nil),
        (#"{"url": "http://me:pw@a.example"}"#, "http://a.example/", nil),
        ("{\"url\": \"http://a.example/\u{202E}\"}", "http://a.example/%E2%80%AE", nil),
        (#"{"url": "http://a.example/", "writtenURL": "http://A.example"}"#, "http://a.example/", "http://A.example"),
        (#"{"url": "http://a.example/", "writtenURL": "http://b.example"}"#, "http://a.example/", nil),
        (#"{"url": "http://a.example/", "writtenURL": "http://me:pw@a.example"}"#, "http://a.example/", nil),
    ])
    func `a URL is kept in its standard form, and as it was written`(
        request: String, url: String, written: String?
    ) throws {
        let spec = try spec(#"{"request": \#(request)}"#)
        #expect(spec.request.url.description == url && spec.request.writtenURL == written)
        guard spec.secretBytes == nil else { return }
        #expect(try JobSpec(json: try JSONParser.parse(spec.json)) == spec)
    }

    // Proves: SEC-32.
    @Test func `user name and password of the URL become a credential that is not written`() throws {
        let spec = try spec(#"{"request": {"url": "http://us%C3%A9r:c%3Akanari@a.example/p?q"}}"#)
        #expect(spec.request.url.description == "http://a.example/p?q")
        #expect(
            spec.configuration.authentication.credential == .inline(Credential(user: "us\u{E9}r", password: "c:kanari"))
        )
        let text = String(decoding: spec.json, as: UTF8.self)
        #expect(!text.contains("kanari"))
        let secret = try #require(spec.secretBytes)
        var stored = try JobSpec(stored: try JSONParser.parse(spec.json))
        #expect(stored.configuration.authentication.credential == .sealed)
        try stored.restore(secretBytes: secret)
        #expect(stored == spec)
        #expect(!"\(spec)".contains("kanari"))
    }

    @Test(arguments: [
        ("[]", "", "must be an object, not an array"),
        ("{}", "/request", "is required"),
        (#"{"request": {}}"#, "/request/url", "is required"),
        (#"{"request": {"url": 1}}"#, "/request/url", "must be a string, not a number"),
        (#"{"request": {"url": "http://a.example"}, "prio": 1}"#, "/prio", "is not a member that is known here"),
        (#"{"request": {"url": "http://a.example"}, "kind": "ftp"}"#, "/kind", "must be one of \"data\""),
        (#"{"request": {"url": "http://a.example"}, "discretionary": 1}"#, "/discretionary", "a boolean"),
        (#"{"request": {"url": "http://a.example"}, "initiated": "later"}"#, "/initiated", "must be one of"),
        (#"{"request": {"url": "http://a.example", "properties": []}}"#, "/request/properties", "an object"),
        (#"{"request": {"url": "http://a.example", "properties": {"": 1}}}"#, "/request/properties/", "1 to 64 bytes"),
        (#"{"request": {"url": "http://a.example"}, "priority": 1.5}"#, "/priority", "must be from 0 to 1"),
        (#"{"request": {"url": "http://a.example", "method": "TRACE"}}"#, "/request/method", "methodInvalid"),
        (
            #"{"request": {"url": "http://a.example", "headers": [{"name": "Host", "value": "b"}]}}"#,
            "/request/headers/0/name", "headerForbidden"
        ),
        (
            #"{"request": {"url": "http://a.example", "headers": [{"name": "X", "value": "a\r\nb"}]}}"#,
            "/request/headers/0/value", "headerInvalid"
        ),
        (
            #"{"request": {"url": "http://a.example", "body": {"text": "", "json": 1}}}"#,
            "/request/body", "exactly one of"
        ),
        (
            #"{"request": {"url": "http://a.example"}, "configuration": {"timeouts": {"connect": 0}}}"#,
            "/configuration/timeouts/connect", "must be from"
        ),
        (
            #"{"request": {"url": "http://a.example", "mainDocumentURL": "http://user:pass@a.example"}}"#,
            "/request/mainDocumentURL", "user name or password"
        ),
        (
            #"""
            {"request": {"url": "http://user:pass@a.example"},
             "configuration": {"authentication": {"credential": {"bearerToken": "t"}}}}
            """#,
            "/request/url", "user name or password"
        ),
        (
            #"{"request": {"url": "http://a"}, "configuration": {"authentication": {"credential": "sealed"}}}"#,
            "/configuration/authentication/credential", "id of a credential"
        ),
        (#"{"request": {"url": "nonsense"}}"#, "/request/url", "urlInvalid"),
        (#"{"request": {"url": "http://127.1/"}}"#, "/request/url", "hostNonCanonicalIP"),
        (#"{"request": {"url": "http://a.example."}}"#, "/request/url", "hostTrailingDot"),
        (#"{"request": {"url": "http:a.example"}}"#, "/request/url", "urlInvalid"),
        (#"{"request": {"url": "http:\\\\a.example"}}"#, "/request/url", "urlInvalid"),
        (#"{"request": {"url": "http://a.example/b c"}}"#, "/request/url", "urlInvalid"),
        (#"{"request": {"url": "ftp://%61.example/"}}"#, "/request/url", "hostPercentEncoded"),
        (#"{"request": {"url": "http://a.example"}, "session": "job_x"}"#, "/session", "not the id of a session"),
        (#"{"request": {"url": "http://a.example", "cachePolicy": "x"}}"#, "/request/cachePolicy", "must be one of"),
        (#"{"request": {"url": "http://a.example"}, "a/b~c": 1}"#, "/a~1b~0c", "is not a member"),
    ])
    func `bad input is named by its pointer and the rule`(text: String, pointer: String, rule: String) throws {
        let violations = try violations(text)
        #expect(violations.contains { $0.pointer == pointer && $0.message.contains(rule) }, "\(violations)")
    }

    @Test func `all that is wrong is said at once`() throws {
        let text = #"{"request": {"url": "http://a.example", "method": 1}, "priority": "high", "kind": 3}"#
        #expect(try Set(violations(text).map(\.pointer)) == ["/request/method", "/priority", "/kind"])
    }

    @Test func `form fields are kept as they are written, and in order`() throws {
        let spec = try spec(
            #"{"request": {"url": "http://a.example", "body": {"form": {"a b": "1&2=3", "é": "*-._~"}}}}"#
        )
        guard case .form(let fields) = spec.request.body else { throw InvalidInput(pointer: "", message: "no form") }
        #expect(fields.map(\.name) == ["a b", "é"])
        #expect(fields.map(\.value) == ["1&2=3", "*-._~"])
    }

    @Test(arguments: [("GET", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false), ("X", false)])
    func `only methods known to be idempotent count as such`(method: String, isIdempotent: Bool) throws {
        let spec = try spec(#"{"request": {"url": "http://a.example", "method": "\#(method)"}}"#)
        #expect(spec.request.isIdempotent == isIdempotent)
    }
}
