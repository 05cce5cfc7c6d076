import FetchEngine
import HTTPTypes
import Testing

@testable import FetchJobs

/// The secrets of a job, in the part that is stored in clear and in the sealed part.
@Suite struct JobSecretsTests {
    private static func job(_ request: String) -> String {
        #"{"request": {"url": "http://a.example/x?canary", "method": "POST"\#(request)}}"#
    }

    private static func spec(_ request: String) throws -> JobSpec {
        try JobSpec(json: JSONParser.parse(job(request).utf8))
    }

    @Test(arguments: [
        #", "headers": [{"name": "X-Api-Key", "value": "canary"}], "sensitive": ["query"]"#,
        #", "headers": [{"name": "x", "value": "canary", "sensitive": true}, {"name": "b", "value": ""}], "#
            + #""sensitive": ["query"], "body": {"text": "plain"}"#,
        #", "sensitive": ["query", "body"], "body": {"json": {"a": [1, "canary"]}}"#,
        #", "sensitive": ["body", "query"], "body": {"form": {"canary": "b"}}, "mainDocumentURL": "http://a.example/?canary""#,
        #", "sensitive": ["query", "body"], "body": {"multipart": [{"name": "n", "text": "canary"}]}"#,
        #", "sensitive": ["query", "body"], "redaction": "digest", "body": {"base64": "Y2FuYXJ5"}"#,
        #", "headers": {"Cookie": "canary=1"}, "sensitive": ["query"], "redaction": "digest""#,
    ])
    func `what is sealed comes back, and nothing of it is written`(request: String) throws {
        let spec = try Self.spec(request)
        let text = String(decoding: spec.json, as: UTF8.self)
        #expect(!text.contains("canary") && text.contains("<redacted>"))
        let secret = try #require(spec.secretBytes)
        var stored = try JobSpec(stored: JSONParser.parse(spec.json))
        #expect(stored.json == spec.json && stored.secretBytes == nil)
        #expect(throws: InvalidInput.self) { try stored.requireSecrets() }
        #expect(throws: InvalidInput.self) { try JobSpec(json: JSONParser.parse(spec.json)) }
        try stored.restore(secretBytes: secret)
        #expect(stored == spec && stored.request.headers.map(\.isSensitive) == spec.request.headers.map(\.isSensitive))
        try stored.requireSecrets()
    }

    @Test func `equal secrets have equal digests in their places where the job says so`() throws {
        let fields = #"[{"name": "X-A", "value": "canary", "sensitive": true}, {"name": "X-B", "value": "plain"}]"#
        let spec = try Self.spec(
            #", "headers": \#(fields), "sensitive": ["body"], "body": {"base64": "Y2FuYXJ5"}, "redaction": "digest""#)
        let request = try JSONParser.parse(spec.json).member("request")
        // printf canary | sha256sum
        let digest = "REDACTED:e100fbce008c04ec40637af0af91fb2f05aeedc23f856a2d3c0b1580625d755e"
        #expect(request?.member("headers")?.elements[0].member("value")?.text == digest)
        #expect(request?.member("headers")?.elements[1].member("value")?.text == "plain")
        #expect(request?.member("body")?.member("text")?.text == digest)
    }

    @Test func `jobs without secrets seal nothing`() throws {
        let spec = try Self.spec(#", "headers": [{"name": "Accept", "value": "*/*"}], "body": {"text": "a"}"#)
        #expect(spec.secretBytes == nil)
    }

    @Test func `a body that is no secret is not sealed`() throws {
        let spec = try Self.spec(#", "headers": [{"name": "Cookie", "value": "a=b"}], "body": {"text": "plain"}"#)
        let sealed = String(decoding: try #require(spec.secretBytes), as: UTF8.self)
        #expect(sealed.contains("a=b") && !sealed.contains("plain"))
    }

    @Test(arguments: [
        (
            #", "headers": [{"name": "authorization", "value": "x", "sensitive": false}]"#,
            "/request/headers/0/sensitive"
        ),
        (#", "sensitive": ["url"]"#, "/request/sensitive/0"),
        (#", "sensitive": ["body"], "body": {"stream": true}"#, "/request/sensitive"),
        (#", "redaction": "none""#, "/request/redaction"),
        (#", "sensitive": ["body"], "body": {"blob": "blb_01jd3v8m5qf0t8n4r6w2y9bcde"}"#, "/request/sensitive"),
    ])
    func `what cannot be kept secret is refused`(request: String, pointer: String) {
        let error = #expect(throws: InvalidInput.self) { try Self.spec(request) }
        #expect(error?.violations.first?.pointer == pointer)
    }

    // Characters that would end a line or a word of the request.
    @Test(arguments: [
        (#"{"bearerToken": "a\r\nX-Evil: 1"}"#, "bearerToken"), (#"{"user": "a\nb", "password": "p"}"#, "user"),
        (#"{"user": "a", "password": "p\r"}"#, "password"),
        (#"{"accessKeyID": "A\r\nB", "secretAccessKey": "s", "region": "r", "service": "s3"}"#, "accessKeyID"),
        (#"{"accessKeyID": "A", "secretAccessKey": "s", "region": "r\nx", "service": "s3"}"#, "region"),
        (#"{"accessKeyID": "A", "secretAccessKey": "s", "region": "r", "service": "s3/x, y"}"#, "service"),
        (
            #"{"accessKeyID": "A", "secretAccessKey": "s", "sessionToken": "t\n", "region": "r", "service": "s3"}"#,
            "sessionToken"
        ),
    ])
    func `line breaks are refused in credentials`(credential: String, member: String) {
        let text =
            #"{"request": "http://a.example/", "configuration": {"authentication": {"credential": \#(credential)}}}"#
        let error = #expect(throws: InvalidInput.self) { try JobSpec(json: JSONParser.parse(text.utf8)) }
        #expect(error?.violations.first?.pointer == "/configuration/authentication/credential/\(member)")
    }
}
