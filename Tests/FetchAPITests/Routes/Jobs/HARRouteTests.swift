import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// `GET /v1/jobs/{id}/har`.
@Suite struct HARRouteTests {
    private static let spec = #"""
        {"request": {"url": "https://u:p%61ss@origin.example/a?q=1", "method": "POST", "headers": [
            {"name": "Authorization", "value": "Bearer hidden"}, {"name": "Accept", "value": "text/html"}]}}
        """#

    private static func transfer(_ url: String, _ status: Int, _ more: String = "") -> String {
        #"""
        {\#(more)"url": "\#(url)", "status": \#(status), "networkProtocolName": "h2", "remoteAddress": "192.0.2.1",
         "fetchStart": "2026-11-21T10:52:00.130Z", "domainLookup": [0, 0.004], "connect": [0.004, 0.03],
         "secureConnection": [0.012, 0.03], "request": [0.03, 0.031], "response": [0.045, 0.049], "duration": 0.05,
         "countOfRequestHeaderBytesSent": 120, "countOfRequestBodyBytesSent": 0,
         "countOfResponseHeaderBytesReceived": 210, "countOfResponseBodyBytesReceived": 5}
        """#
    }

    /// What is on record of the redirect.
    private static let recorded = #"""
        "requestHeaders": [{"name": "Host", "value": "origin.example"}, {"name": "Cookie", "value": "hidden"}],
        "responseHeaders": [{"name": "Location", "value": "/b"}, {"name": "Content-Type", "value": "text/plain"}],
        """#

    private static func attempt(_ number: Int, _ transfers: String...) -> Job.Attempt {
        let metrics = RawJSON(Array("[\(transfers.joined(separator: ","))]".utf8))
        return Job.Attempt(
            number: number, startedAt: .now, finishedAt: .now, state: .succeeded, errorName: nil, metrics: metrics)
    }

    /// A job whose second attempt was redirected once.
    private func archive(_ body: @escaping @Sendable (JSONValue, String) -> Void) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let id = try #require(try await call(.post, "/v1/jobs", body: Self.spec).json?["id"]?.string)
            server.jobs.change(try #require(Job.ID(id))) { job in
                job.state = .succeeded
                job.attempts = [
                    Self.attempt(1, Self.transfer("https://origin.example/a", 503)),
                    Self.attempt(
                        2, Self.transfer("https://origin.example/a", 303, Self.recorded),
                        Self.transfer("https://other.example/b", 200)),
                ]
                job.redirects = RawJSON(
                    Array(#"[{"status": 303, "location": "https://other.example/b?z=2", "method": "GET"}]"#.utf8))
                job.response = RawJSON(
                    Array(
                        #"""
                        {"status": 200, "mimeType": "text/html", "headers": [
                            {"name": "Set-Cookie", "value": "sid=hidden"}, {"name": "Server", "value": "x"}]}
                        """#.utf8))
            }
            let answer = try await call(.get, "/v1/jobs/\(id)/har")
            #expect(answer.status == .ok)
            #expect(answer.headers[.contentDisposition] == "attachment; filename=\"\(id).har\"")
            body(try #require(answer.json), answer.text)
        }
    }

    @Test func `every transfer of every attempt is an entry`() async throws {
        try await archive { har, _ in
            let entries = har["log"]?["entries"]
            #expect(har["log"]?["version"]?.string == "1.2" && entries?.count == 3)
            let requests = (0..<3).map { entries?[$0]?["request"] }
            #expect(
                requests.map { $0?["url"]?.string } == [
                    "https://origin.example/a?q=1", "https://origin.example/a?q=1", "https://other.example/b?z=2",
                ])
            #expect(requests.map { $0?["method"]?.string } == ["POST", "POST", "GET"])
            #expect((0..<3).map { entries?[$0]?["response"]?["status"]?.integer } == [503, 303, 200])
            #expect(entries?[1]?["response"]?["redirectURL"]?.string == "https://other.example/b?z=2")
            #expect(entries?[2]?["response"]?["content"]?["mimeType"]?.string == "text/html")
            #expect(requests[2]?["queryString"]?[0]?["value"]?.string == "2")
        }
    }

    @Test func `phases are in milliseconds and add up to the whole`() async throws {
        try await archive { har, _ in
            let entry = har["log"]?["entries"]?[0]
            let names = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"]
            #expect(names.map { entry?["timings"]?[$0]?.double } == [1, 4, 26, 18, 1, 14, 4])
            #expect(entry?["time"]?.double == 50)
        }
    }

    @Test func `each transfer has the fields that are on record of it, or else those of the job`() async throws {
        try await archive { har, _ in
            let entries = (0..<3).map { har["log"]?["entries"]?[$0] }
            let sent = entries.map { $0?["request"]?["headers"] }
            #expect(sent.map { $0?[0]?["name"]?.string } == ["Authorization", "Host", "Authorization"])
            #expect(sent[1]?.count == 2 && sent[1]?[1]?["value"]?.string == "<redacted>")
            let received = entries.map { $0?["response"]?["headers"] }
            #expect(received.map { $0?.count } == [0, 2, 2])
            #expect(received[1]?[0]?["value"]?.string == "/b")
            #expect(entries[1]?["response"]?["content"]?["mimeType"]?.string == "text/plain")
        }
    }

    // R53
    // Proves: SEC-46.
    @Test func `nothing secret is in it`() async throws {
        try await archive { _, text in
            #expect(!text.contains("hidden") && !text.contains("pass") && !text.contains("p%61ss"))
            #expect(text.contains(#"{"name":"Authorization","value":"<redacted>"}"#))
            #expect(text.contains(#"{"name":"Accept","value":"text/html"}"#))
        }
    }
}
