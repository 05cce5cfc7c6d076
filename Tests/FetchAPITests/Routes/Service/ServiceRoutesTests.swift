import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct ServiceRoutesTests {
    @Test func `health needs no key, readiness tells what is missing`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            #expect(try await call(.get, "/healthz", headers: [.authorization: ""]).status == .ok)
            #expect(try await call(.get, "/readyz", headers: [.authorization: ""]).json?["status"]?.string == "ready")
            server.readiness.set(["No worker lives."])
            let answer = try await call(.get, "/readyz")
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.problem == .notReady)
            #expect(answer.json?["detail"]?.string == "No worker lives.")
            #expect(answer.headers[.retryAfter] == "1")
        }
    }

    @Test func `the version is told to everyone, and nothing else is`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let answer = try await call(.get, "/version", headers: [.authorization: ""])
            #expect(answer.status == .ok && answer.text == #"{"version":"1.2.3","schemaVersion":7}"#)
            #expect(try await call(.get, "/version?x=1").problem == .invalidParameter)
        }
    }

    // Proves: REL-12.
    @Test(arguments: [
        (Overload.storageFull, 507, ProblemCode.storageFull), (.memoryLow, 429, .overloaded),
        (.memoryExhausted, 503, .notReady), (.queueOld, 429, .overloaded),
    ])
    func `a node that can take no more refuses new work alone`(
        overload: Overload, status: Int, code: ProblemCode
    ) async throws {
        let server = try await TestServer()
        let job = #"{"request": "https://origin.example/"}"#
        try await server.test { call async throws in
            server.readiness.set(overload)
            for (path, type) in [("/v1/jobs", "application/json"), ("/v1/jobs/batch", "application/x-ndjson")] {
                let refused = try await call(.post, path, headers: [.contentType: type], body: job)
                #expect(refused.status.code == status && refused.problem == code)
                #expect(refused.headers[.retryAfter] != nil)
            }
            #expect(try await call(.post, "/v1/blobs", body: "x").status.code == status)
            #expect(try await call(.get, "/healthz").status == .ok)
            #expect(try await call(.get, "/v1/jobs").status == .ok)
            server.readiness.set(nil)
            #expect(try await call(.post, "/v1/jobs", body: job).status == .accepted)
        }
    }

    @Test func `requests are counted by route, not by path`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            _ = try await call(.get, "/v1/jobs/\(Job.ID())")
            let text = try await call(.get, "/metrics").text
            let line = #"fetchd_http_requests_total{method="GET",route="/v1/jobs/{id}",status="404"} 1"#
            #expect(text.contains(line + "\n"))
            #expect(text.contains(#"fetchd_http_request_duration_seconds_count{route="/v1/jobs/{id}"} 1"#))
        }
    }

    @Test func `a request id is kept when it is well formed and made when not`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let kept = try await call(.get, "/healthz", headers: [.requestID: "abc-1.2_3"])
            #expect(kept.headers[.requestID] == "abc-1.2_3")
            for bad in ["a b", "", String(repeating: "a", count: 65), "a\"b"] {
                let made = try await call(.get, "/nowhere", headers: [.requestID: bad])
                let id = try #require(made.headers[.requestID])
                #expect(id != bad)
                #expect(made.json?["instance"]?.string == "urn:request:\(id)")
            }
        }
    }

    @Test func `paths that are not there, HEAD and OPTIONS are answered`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            for path in ["/v2", "/v1", "/v1/jobs/", "/v1//jobs", "/v1/jobs/a/b", "/v1/jobs/{id}/body/x"] {
                #expect(try await call(.get, path).problem == .notFound, "\(path)")
            }
            let head = try await call(.head, "/healthz")
            #expect(head.status == .ok)
            #expect(head.bytes.isEmpty)
            let options = try await call(.options, "/v1/webhooks/endpoints/x", headers: [.authorization: ""])
            #expect(options.status == .noContent)
            #expect(options.headers[.allow] == "DELETE, GET, HEAD, OPTIONS, PATCH")
            #expect(try await call(.get, "/\(String(repeating: "a", count: 9000))").problem == .uriTooLong)
        }
    }

    // Proves: SEC-35.
    @Test func `an endpoint shows its secret once, and must be one that may be reached (R29)`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = "/v1/webhooks/endpoints"
            let refused = try await call(.post, path, body: #"{"url":"http://127.0.0.1/"}"#)
            #expect(refused.problem == .invalidInput)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == "/url")
            let made = try await call(.post, path, body: #"{"url":"https://hooks.example/x"}"#)
            #expect(made.status == .created)
            #expect(made.json?["secret"]?.string?.hasPrefix("whsec_") == true)
            let place = try #require(made.headers[.location])
            let got = try await call(.get, place)
            #expect(got.json?["url"]?.string == "https://hooks.example/x")
            #expect(!got.text.contains("whsec_"))
            #expect(try await !call(.get, path).text.contains("whsec_"))
            #expect(try await call(.delete, place).status == .noContent)
            #expect(try await call(.delete, place).problem == .notFound)
        }
    }

    @Test func `a key makes repeats one endpoint, with its secret, and refuses another body`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = "/v1/webhooks/endpoints"
            let key: HTTPFields = [.idempotencyKey: "e"]
            let first = try await call(.post, path, headers: key, body: #"{"url":"https://hooks.example/x"}"#)
            let again = try await call(.post, path, headers: key, body: #"{"url":"https://hooks.example/x"}"#)
            #expect(again.headers[.idempotencyReplayed] == "true")
            #expect(again.bytes == first.bytes)
            let other = try await call(.post, path, headers: key, body: #"{"url":"https://hooks.example/y"}"#)
            #expect(other.problem == .idempotencyKeyReused)
            #expect(try await call(.get, path).json?["data"]?.count == 1)
        }
    }

    @Test func `endpoints are listed in pages, the oldest first`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            for number in 0..<3 {
                _ = try await call(
                    .post,
                    "/v1/webhooks/endpoints",
                    body: #"{"url":"https://hooks.example/\#(number)"}"#
                )
            }
            var seen = 0
            var uri: String? = "/v1/webhooks/endpoints?limit=2"
            while let next = uri {
                let page = try await call(.get, next)
                seen += page.json?["data"]?.count ?? 0
                uri = page.headers[.link].map { String($0.dropFirst().prefix { $0 != ">" }) }
            }
            #expect(seen == 3)
            #expect(try await call(.get, "/v1/webhooks/endpoints?cursor=x").problem == .invalidParameter)
        }
    }
}
