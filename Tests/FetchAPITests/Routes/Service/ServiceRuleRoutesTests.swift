import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The rules of the service, as operators set them and tenants see them.
@Suite struct ServiceRuleRoutesTests {
    private static let path = "/v1/admin/rules"
    private static let rules =
        #"{"rules":[{"name":"stay","on":"willPerformHTTPRedirection","when":{"crossOrigin":true},"answer":"cancel"}]}"#

    /// Runs a test with an operator's key and that of a tenant.
    private func test(
        _ body: @escaping @Sendable (_ call: TestCalls, _ tenant: TestCalls) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { client in
            try await body(
                client.with("Bearer \(token.revealed)"),
                client)
        }
    }

    @Test func `a tenant's key neither sees nor sets the rules of the service`() async throws {
        try await test { _, tenant async throws in
            #expect(try await tenant(.get, Self.path).problem == .scopeRequired)
            #expect(try await tenant(.put, Self.path, body: Self.rules).problem == .scopeRequired)
        }
    }

    @Test func `the rules are replaced as a whole, and only those that the client has seen if it says so`() async throws
    {
        try await test { call, _ async throws in
            let first = try await call(.get, Self.path)
            let tag = try #require(first.headers[.eTag])
            #expect(first.text == #"{"rules":[]}"#)
            let stored = try await call(.put, Self.path, headers: [.ifMatch: tag], body: Self.rules)
            #expect(stored.status == .ok && stored.text == Self.rules)
            let read = try await call(.get, Self.path)
            #expect(read.text == Self.rules && read.headers[.eTag] == stored.headers[.eTag])
            let late = try await call(.put, Self.path, headers: [.ifMatch: tag], body: #"{"rules": []}"#)
            #expect(late.problem == .preconditionFailed)
            #expect(try await call(.get, Self.path).text == Self.rules)
            #expect(try await call(.put, Self.path, body: #"{"rules": []}"#).text == #"{"rules":[]}"#)
        }
    }

    @Test(arguments: [
        ("[]", ""), ("{}", "/rules"), (#"{"rules": {}}"#, "/rules"),
        (#"{"rules": [{"on": "didReceiveResponse", "answer": "follow"}]}"#, "/rules/0/answer"),
    ])
    func `a wrong rule is named, and changes nothing`(body: String, pointer: String) async throws {
        try await test { call, _ async throws in
            _ = try await call(.put, Self.path, body: Self.rules)
            let answer = try await call(.put, Self.path, body: body)
            #expect(answer.problem == .invalidInput && answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, Self.path).text == Self.rules)
        }
    }

    @Test func `more than 64 rules are refused`() async throws {
        try await test { call, _ async throws in
            let rule = #"{"on": "didReceiveResponse", "answer": "cancel"}"#
            let body = #"{"rules": [\#(Array(repeating: rule, count: 65).joined(separator: ","))]}"#
            #expect(try await call(.put, Self.path, body: body).json?["errors"]?[0]?["pointer"]?.string == "/rules")
        }
    }

    @Test func `a forecast and a session tell of the service's rules`() async throws {
        try await test { call, tenant async throws in
            _ = try await call(.put, Self.path, body: Self.rules)
            let forecast = try await tenant(
                .post, "/v1/explain",
                body: #"{"request": "https://a.example/", "whatIf": "#
                    + #"[{"on": "willPerformHTTPRedirection", "to": "https://b.example/"}]}"#)
            let event = forecast.json?["whatIf"]?[0]
            #expect(event?["by"]?["who"]?.string == "rule" && event?["by"]?["from"]?.string == "service")
            #expect(event?["by"]?["rule"]?.string == "stay" && event?["answer"]?.string == "cancel")
            let rule = forecast.json?["effectiveConfiguration"]?["rules"]?[0]
            #expect(rule?["from"]?.string == "service" && rule?["value"]?["name"]?.string == "stay")
        }
    }
}
