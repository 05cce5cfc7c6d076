import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Where loads may go, as operators set it.
@Suite struct EgressRoutesTests {
    private static let path = "/v1/admin/egress"
    private static let own = "/v1/admin/tenants/crawler/egress"
    private static let document =
        #"{"mode":"denyList","allow":[],"deny":[{"name":"no","hosts":["a.example","*.b.example"],"#
        + #""addresses":["192.0.2.0/24"],"ports":[80,8443],"schemes":["http"]}]}"#

    /// Runs a test with an operator's key and that of a tenant.
    private func test(
        _ body: @escaping @Sendable (_ call: TestCalls, _ tenant: TestCalls, _ known: KnownEgress) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { client in
            try await body(
                client.with("Bearer \(token.revealed)"),
                client, server.knownEgress)
        }
    }

    @Test func `a tenant's key neither sees nor sets where loads may go`() async throws {
        try await test { _, tenant, _ async throws in
            for path in [Self.path, Self.own] {
                #expect(try await tenant(.get, path).problem == .scopeRequired)
                #expect(try await tenant(.put, path, body: Self.document).problem == .scopeRequired)
            }
            #expect(try await tenant(.delete, Self.own).problem == .scopeRequired)
        }
    }

    @Test func `a document is replaced as a whole, and only the one that the client has seen if it says so`()
        async throws
    {
        try await test { call, _, known async throws in
            let first = try await call(.get, Self.path)
            let tag = try #require(first.headers[.eTag])
            #expect(first.text == #"{"mode":"denyList","allow":[],"deny":[]}"#)
            let stored = try await call(.put, Self.path, headers: [.ifMatch: tag], body: Self.document)
            #expect(stored.status == .ok && stored.text == Self.document, "\(stored.text)")
            let read = try await call(.get, Self.path)
            #expect(read.text == Self.document && read.headers[.eTag] == stored.headers[.eTag])
            let late = try await call(.put, Self.path, headers: [.ifMatch: tag], body: #"{"mode": "denyList"}"#)
            #expect(late.problem == .preconditionFailed)
            #expect(try await call(.get, Self.path).text == Self.document)
            #expect(known.current.service.rules.count == 1)
        }
    }

    @Test func `a tenant has a document of its own, until it is taken away`() async throws {
        try await test { call, _, known async throws in
            #expect(try await call(.get, Self.own).problem == .notFound)
            #expect(try await call(.delete, Self.own).problem == .notFound)
            let early = try await call(.put, Self.own, headers: [.ifMatch: "*"], body: Self.document)
            #expect(early.problem == .preconditionFailed)
            let stored = try await call(.put, Self.own, body: Self.document)
            #expect(stored.status == .ok && stored.text == Self.document)
            let tenant = Tenant.ID(rawValue: 2)
            #expect(known.policy(of: tenant).rules.count == 1 && known.current.service.rules.isEmpty)
            #expect(try await call(.delete, Self.own, headers: [.ifMatch: "\"77\""]).problem == .preconditionFailed)
            let tag = try #require(stored.headers[.eTag])
            #expect(try await call(.delete, Self.own, headers: [.ifMatch: tag]).status == .noContent)
            #expect(try await call(.get, Self.own).problem == .notFound)
            #expect(known.policy(of: tenant).rules.isEmpty)
            #expect(try await call(.put, "/v1/admin/tenants/nobody/egress", body: Self.document).problem == .notFound)
            #expect(try await call(.put, "/v1/admin/tenants/a%2Fb/egress", body: Self.document).status == .ok)
        }
    }

    @Test(arguments: [
        ("[]", ""), ("{}", "/mode"), (#"{"mode": "deny"}"#, "/mode"), (#"{"mode": "denyList", "more": 1}"#, "/more"),
        (#"{"mode": "denyList", "deny": {}}"#, "/deny"), (#"{"mode": "denyList", "deny": [{}]}"#, "/deny/0"),
        (#"{"mode": "denyList", "deny": [{"name": "all"}]}"#, "/deny/0"),
        (#"{"mode": "denyList", "deny": [{"hosts": []}]}"#, "/deny/0/hosts"),
        (#"{"mode": "denyList", "deny": [{"hosts": ["*"]}]}"#, "/deny/0/hosts/0"),
        (#"{"mode": "denyList", "deny": [{"hosts": ["a.example:80"]}]}"#, "/deny/0/hosts/0"),
        (#"{"mode": "denyList", "deny": [{"hosts": ["10.0.0.0/8"]}]}"#, "/deny/0/hosts/0"),
        (#"{"mode": "denyList", "deny": [{"addresses": ["10.0.0.1/8"]}]}"#, "/deny/0/addresses/0"),
        (#"{"mode": "denyList", "deny": [{"addresses": ["a.example"]}]}"#, "/deny/0/addresses/0"),
        (#"{"mode": "denyList", "deny": [{"ports": [0]}]}"#, "/deny/0/ports/0"),
        (#"{"mode": "denyList", "deny": [{"ports": [65536]}]}"#, "/deny/0/ports/0"),
        (#"{"mode": "denyList", "deny": [{"ports": ["80"]}]}"#, "/deny/0/ports/0"),
        (#"{"mode": "allowListOnly", "allow": [{"schemes": ["HTTP"]}]}"#, "/allow/0/schemes/0"),
        (#"{"mode": "denyList", "deny": [{"name": "", "ports": [80]}]}"#, "/deny/0/name"),
        (#"{"mode": "denyList", "deny": [{"name": "a\u0007", "ports": [80]}]}"#, "/deny/0/name"),
        (#"{"mode": "denyList", "deny": [{"name": "\u202ea", "ports": [80]}]}"#, "/deny/0/name"),
    ])
    func `a wrong member is named, and changes nothing`(body: String, pointer: String) async throws {
        try await test { call, _, _ async throws in
            _ = try await call(.put, Self.path, body: Self.document)
            let answer = try await call(.put, Self.path, body: body)
            #expect(answer.problem == .invalidInput && answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, Self.path).text == Self.document)
        }
    }

    @Test func `a document has at most a thousand rules and 64 KiB`() async throws {
        func rules(_ count: Int) -> String {
            (0..<count).map { #"{"hosts":["h\#($0).example"]}"# }.joined(separator: ",")
        }
        func body(_ allow: Int, _ deny: Int) -> String {
            #"{"mode":"denyList","allow":[\#(rules(allow))],"deny":[\#(rules(deny))]}"#
        }
        let (most, one) = (body(400, 600), body(400, 601))
        try await test { call, _, _ async throws in
            #expect(try await call(.put, Self.path, body: most).text == most)
            let more = try await call(.put, Self.path, body: one)
            #expect(more.problem == .invalidInput && more.json?["errors"]?[0]?["pointer"]?.string == "")
            let long = String(repeating: " ", count: EgressDocument.maximumBytes)
            #expect(try await call(.put, Self.path, body: Self.document + long).status == .contentTooLarge)
        }
    }

    @Test func `names of hosts are kept as URLs have them`() async throws {
        try await test { call, _, _ async throws in
            let body = #"{"mode": "denyList", "deny": [{"hosts": ["BÜCHER.example.", "*.A.Example"]}]}"#
            let stored = try await call(.put, Self.path, body: body)
            #expect(stored.json?["deny"]?[0]?["hosts"]?[0]?.string == "xn--bcher-kva.example", "\(stored.text)")
            #expect(stored.json?["deny"]?[0]?["hosts"]?[1]?.string == "*.a.example")
        }
    }
}
