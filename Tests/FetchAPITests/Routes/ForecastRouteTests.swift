import FetchJobs
import HTTPTypes
import Testing

@testable import FetchAPI

@Suite struct ForecastRouteTests {
    private static let endpoints = "/v1/webhooks/endpoints"

    private func body(_ address: String) -> String {
        #"{"request": {"url": "https://a.example/"}, "webhook": {"url": "\#(address)"}}"#
    }

    // Proves: SEC-35.
    @Test func `the address of a webhook is checked, and no endpoint is made for it`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            #expect(try await call(.post, "/v1/explain", body: body("https://hooks.example/")).status == .ok)
            let forbidden = try await call(.post, "/v1/explain", body: body("https://127.0.0.1/"))
            #expect(forbidden.problem == .invalidInput)
            #expect(forbidden.json?["errors"]?[0]?["pointer"]?.string == "/webhook/url")
            #expect(try await call(.get, Self.endpoints).json?["data"]?.count == 0)
            // A submission does make it, and is explained by it from then on.
            #expect(try await call(.post, "/v1/jobs", body: body("https://hooks.example/")).status == .accepted)
            #expect(try await call(.post, "/v1/explain", body: body("https://hooks.example/")).status == .ok)
            #expect(try await call(.get, Self.endpoints).json?["data"]?.count == 1)
        }
    }

    // Proves: SEC-60.
    @Test func `the query of a URL is not shown where it is sensitive`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let event = #"{"on": "willPerformHTTPRedirection", "to": "https://a.example/y"}"#
            for (sensitive, query) in [("", "pin=canary"), (#", "sensitive": ["query"]"#, "<redacted>")] {
                let request = #"{"url": "https://a.example/x?pin=canary"\#(sensitive)}"#
                let body = #"{"request": \#(request), "whatIf": [\#(event)]}"#
                let answer = try await call(.post, "/v1/explain", body: body)
                #expect(answer.json?["url"]?.string == "https://a.example/x?\(query)")
                #expect(answer.text.contains("canary") == sensitive.isEmpty, "\(answer.text)")
            }
        }
    }

    @Test func `a dry run has the name looked up, and nothing else does`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            func target(_ more: String, _ host: String = "a.example") async throws -> JSONValue? {
                let answer = try await call(
                    .post, "/v1/explain", body: #"{"request": {"url": "https://\#(host)/"}\#(more)}"#)
                return answer.json?["target"]
            }
            #expect(try await target("")?["resolves"] == nil)
            #expect(try await target(#", "dryRun": false"#)?["resolves"] == nil)
            #expect(try await target(#", "dryRun": true"#)?["resolves"]?.bool == false)
            #expect(try await target("", "127.0.0.1")?["code"]?.string == "addressForbidden")
            let wrong = try await call(
                .post, "/v1/explain", body: #"{"request": {"url": "https://a.example/"}, "dryRun": "yes"}"#)
            #expect(wrong.problem == .invalidInput && wrong.json?["errors"]?[0]?["pointer"]?.string == "/dryRun")
        }
    }
}
