import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Jobs that start some seconds after their submission.
@Suite struct DelayTests {
    private static func body(_ more: String) -> String { #"{"request": {"url": "https://a.example/"}\#(more)}"# }

    @Test func `a delay counts from the submission, and is shown as the time to run at`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let before = Timestamp.now
            let made = try await call(.post, "/v1/jobs", body: Self.body(#", "delay": 90.5"#))
            #expect(made.status == .accepted && made.json?["state"]?.string == "scheduled")
            let job = try await call(.get, try #require(made.headers[.location]))
            let time = try #require(job.json?["runAt"]?.string.flatMap { Timestamp(rfc3339: $0) })
            #expect(time >= before.advanced(by: .seconds(90)) && time <= Timestamp.now.advanced(by: .seconds(91)))
            #expect(job.json?["delay"] == nil)
            let now = try await call(.post, "/v1/jobs", body: Self.body(#", "delay": 0"#))
            #expect(now.json?["state"]?.string == "queued")
        }
    }

    @Test(arguments: [
        (#", "delay": 5, "runAt": "2099-01-01T00:00:00Z""#, "/delay", "cannot be beside runAt"),
        (#", "delay": -1"#, "/delay", "must be from 0 to 31536000"),
        (#", "delay": 31536001"#, "/delay", "must be from 0 to 31536000"),
        (#", "delay": "5m""#, "/delay", "must be a number"),
        (#", "delay": 60, "expiresAt": "2020-01-01T00:00:00Z""#, "/expiresAt", "must be after runAt"),
    ])
    func `a delay that cannot be is refused with its rule`(more: String, pointer: String, rule: String) async throws {
        let server = try await TestServer()
        try await server.test { call in
            let answer = try await call(.post, "/v1/jobs", body: Self.body(more))
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(answer.json?["errors"]?[0]?["message"]?.string?.hasPrefix(rule) == true, "\(answer.text)")
        }
    }

    @Test func `a schedule's job has none`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let answer = try await call(
                .post, "/v1/schedules", body: #"{"interval": 60, "job": \#(Self.body(#", "delay": 5"#))}"#)
            #expect(answer.problem == .invalidInput)
            #expect(
                answer.json?["errors"]?[0]?["pointer"]?.string == "/job/delay" && answer.json?["errors"]?.count == 1)
        }
    }

    @Test func `a repeat is the same with the same delay, and another job with another`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let key: HTTPFields = [try #require(.init("Idempotency-Key")): "k"]
            let first = try await call(.post, "/v1/jobs", headers: key, body: Self.body(#", "delay": 60"#))
            let again = try await call(.post, "/v1/jobs", headers: key, body: Self.body(#", "delay": 60"#))
            #expect(again.status == .accepted && again.json?["id"] == first.json?["id"])
            let other = try await call(.post, "/v1/jobs", headers: key, body: Self.body(#", "delay": 61"#))
            #expect(other.problem == .idempotencyKeyReused)
            let none = try await call(.post, "/v1/jobs", headers: key, body: Self.body(""))
            #expect(none.problem == .idempotencyKeyReused)
        }
    }

    @Test func `the lines of a batch have theirs`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let lines = [#", "delay": 60"#, "", #", "delay": 60, "runAt": "2099-01-01T00:00:00Z""#].map(Self.body)
            let answer = try await call(
                .post, "/v1/jobs/batch", headers: [.contentType: "application/x-ndjson"],
                body: lines.joined(separator: "\n"))
            let results = answer.text.split(separator: "\n").map { try? JSONParser.parse($0.utf8) }
            #expect(results.map { $0?["state"]?.string } == ["scheduled", "queued", nil])
            #expect(answer.text.contains("cannot be beside runAt"))
        }
    }
}
