import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs that tell of the attempts of others.
@Suite struct JobCallbackTests {
    private func spec(_ callbacks: String, request: String = #""https://a.example/""#) throws -> JobSpec {
        try JobSpec(json: JSONParser.parse(#"{"request": \#(request), "callbacks": \#(callbacks)}"#.utf8))
    }

    private func told(_ spec: JobSpec, _ outcome: JobOutcome, body: [UInt8]?) throws -> [(NewJob, JSONValue)] {
        let job = ClaimedJob(id: Job.ID(), tenant: .first, spec: spec, claim: 3, tries: 2)
        return try AttemptReport(of: job, outcome, body: body).callbacks([.attempt, .failure], isEnd: true).map {
            callback in
            guard case .json(let content) = callback.spec.request.body else { throw InvalidInput([]) }
            #expect(content.member("sourceMessageId")?.text == job.id.description)
            #expect(callback.spec.labels.contains(.init(name: "callbackOf", value: job.id.description)))
            #expect(callback.tenant == job.tenant && callback.id != job.id && callback.spec.callbacks.isEmpty)
            return (callback, content)
        }
    }

    @Test func `a job keeps them as it was submitted, and their secrets apart`() throws {
        let secret = #"[{"name": "Authorization", "value": "Basic eDp5"}]"#
        let first = try spec(
            #"{"attempt": {"url": "https://b.example/", "headers": \#(secret), "content": {"own": 1}, "labels": {"a": "b"},"#
                + #" "retry": {"maximumAttempts": 7}, "timeoutIntervalForRequest": 1.5},"#
                + #" "failure": {"url": "https://c.example/", "method": "PUT"}}"#)
        let stored = String(decoding: first.json, as: UTF8.self)
        #expect(!stored.contains("eDp5"))
        var again = try JobSpec(stored: JSONParser.parse(stored.utf8))
        #expect(again != first)
        try again.restore(secretBytes: try #require(first.secretBytes))
        #expect(again == first && again.callbacks.map(\.job.request.method) == [.post, .put])
        #expect(again.callbacks.first?.job.configuration.retry.maximumAttempts == 7)
    }

    @Test(arguments: [
        (#"{"end": {"url": "https://b.example/"}}"#, "/callbacks/end"),
        (#"{"attempt": {}}"#, "/callbacks/attempt/url"),
        (#"{"attempt": {"url": "ftp://b.example/"}}"#, "/callbacks/attempt/url"),
        (#"{"attempt": {"url": "https://u:p@b.example/"}}"#, "/callbacks/attempt/url"),
        (#"{"attempt": {"url": "https://b.example/", "session": "default"}}"#, "/callbacks/attempt/session"),
        (#"{"attempt": {"url": "https://b.example/", "callbacks": {}}}"#, "/callbacks/attempt/callbacks"),
        (#"{"failure": {"url": "https://b.example/", "content": "x"}}"#, "/callbacks/failure/content"),
        (#"{"failure": {"url": "https://b.example/", "method": "TRACE"}}"#, "/callbacks/failure/method"),
        (
            #"{"failure": {"url": "https://b.example/", "retry": {"maximumAttempts": 0}}}"#,
            "/callbacks/failure/retry/maximumAttempts"
        ),
        (
            #"{"failure": {"url": "https://b.example/", "timeoutIntervalForRequest": 0}}"#,
            "/callbacks/failure/timeoutIntervalForRequest"
        ),
        (#"{"failure": {"url": "https://b.example/", "headers": {"Host": "x"}}}"#, "/callbacks/failure/headers/Host"),
        (#"{"failure": {"url": "https://b.example/", "labels": {"callbackOf": "x"}}}"#, "/callbacks/failure/labels"),
        (#"{"failure": {"url": "https://b.example/", "inFlow": true}}"#, "/callbacks/failure/inFlow"),
    ])
    func `what is none is refused by its member`(_ callbacks: String, _ pointer: String) throws {
        let error = #expect(throws: InvalidInput.self) { try spec(callbacks) }
        #expect(error?.violations.map(\.pointer) == [pointer])
    }

    @Test func `one that is in the flow of its job is so at the end of the job alone`() throws {
        let spec = try JobSpec(
            json: JSONParser.parse(
                (#"{"request": "https://a.example/", "flow": {"key": "k"}, "callbacks": "#
                    + #"{"attempt": {"url": "https://b.example/", "inFlow": true}, "failure": {"url": "https://c.example/"}}}"#)
                    .utf8))
        #expect(try JobSpec(stored: JSONParser.parse(spec.json)).callbacks.map(\.isInFlow) == [true, false])
        let report = AttemptReport(of: Job.ID(), .first, spec, lostBy: "timedOut")
        let flows = [true, false].map { report.callbacks([.attempt, .failure], isEnd: $0).map(\.spec.flow?.key) }
        #expect(flows == [["k", nil], [nil, nil]])
    }

    @Test func `they tell the answer and the request, without what is secret`() throws {
        let request =
            #"{"url": "https://a.example/?q=1", "method": "PUT", "body": {"text": "asked"}, "sensitive": ["query"],"#
            + #" "headers": {"x-own": ["1", "2"], "Authorization": "Basic eDp5"}}"#
        let spec = try spec(
            #"{"attempt": {"url": "https://b.example/", "content": {"own": 1, "status": 7}},"#
                + #" "failure": {"url": "https://c.example/"}}"#, request: request)
        var outcome = JobOutcome.make(.failed)
        outcome.status = 503
        outcome.response = StoredResponse(
            json: RawJSON(Array(#"{"headers": [{"name": "x-a", "value": "1"}, {"name": "X-A", "value": "2"}]}"#.utf8)))
        let all = try told(spec, outcome, body: Array("gone".utf8))
        let content = try #require(all.first).1
        #expect(content.member("status")?.integer == 503 && content.member("own")?.integer == 1)
        #expect(content.member("retried")?.integer == 2 && content.member("error")?.text == "timedOut")
        #expect(content.member("header")?.json == #"{"X-A":["1","2"]}"#)
        #expect(content.member("sourceHeader")?.json == #"{"X-Own":["1","2"]}"#)
        #expect(content.member("body")?.text == "Z29uZQ==" && content.member("sourceBody")?.text == "YXNrZWQ=")
        #expect(content.member("method")?.text == "PUT" && content.member("dlqId") == nil)
        #expect(!content.json.contains("eDp5") && !content.json.contains("q=1"))
        #expect(all.last?.1.member("dlqId")?.text == content.member("sourceMessageId")?.text)
    }

    @Test(arguments: [(300_000, 300_000, true, true), (600_000, 600_000, true, false), (1_000_000, 5, false, true)])
    func `a body for which there is no room is left out`(
        _ count: Int, _ sourceCount: Int, _ hasBody: Bool, _ hasSource: Bool
    ) throws {
        let source = String(repeating: "x", count: sourceCount)
        let spec = try spec(
            #"{"attempt": {"url": "https://b.example/"}}"#,
            request: #"{"url": "https://a.example/", "method": "POST", "body": {"text": "\#(source)"}}"#)
        let content = try #require(try told(spec, .make(), body: Array(repeating: 0, count: count)).first).1
        #expect((content.member("body") != nil) == hasBody && (content.member("sourceBody") != nil) == hasSource)
        #expect(content.json.utf8.count <= JobCallback.maximumBytes)
    }

    @Test func `a key that is bound to hosts has callbacks to these alone`() throws {
        var spec = try spec(#"{"failure": {"url": "https://b.example/"}}"#)
        let json = try JSONParser.parse(#"{"name": "k", "scopes": ["jobs:write"], "hosts": ["a.example"]}"#.utf8)
        let key = try APIKeySpec(json: json)
        #expect(key.bind(&spec).map(\.pointer) == ["/callbacks/failure/url"])
    }
}
