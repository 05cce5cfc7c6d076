import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Registering protocols, and the protocols that tenants see.
@Suite struct ProtocolRoutesTests {
    private static let path = "/v1/admin/protocols"
    private static let archive = #"{"scheme": "archive", "url": "https://p.example/load"}"#

    /// Runs a test with an operator's key and that of a tenant `crawler`.
    private func test(
        _ body: @escaping @Sendable (_ call: TestCalls, _ crawler: TestCalls) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        // The keys' tenants are numbered as they come: the second is `crawler`, as it is among the tenants.
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        let (_, other) = try await server.keys.create(name: "crawler", tenant: "crawler")
        try await server.test { client in
            try await body(
                client.with("Bearer \(token.revealed)"),
                client.with("Bearer \(other.revealed)"))
        }
    }

    @Test func `a tenant's key registers nothing`() async throws {
        try await TestServer().test { call async throws in
            #expect(try await call(.get, Self.path).problem == .scopeRequired)
            #expect(try await call(.put, "\(Self.path)/archive", body: Self.archive).problem == .scopeRequired)
            #expect(try await call(.delete, "\(Self.path)/archive").problem == .scopeRequired)
            #expect(try await call(.post, "\(Self.path)/archive/rotate").problem == .scopeRequired)
            #expect(try await call(.get, "/v1/protocols", headers: [.authorization: ""]).problem == .unauthorized)
        }
    }

    @Test func `a protocol is registered, shown without its secret, changed and removed`() async throws {
        try await test { call, _ async throws in
            let item = "\(Self.path)/archive"
            #expect(try await call(.get, item).problem == .notFound)
            let made = try await call(.put, item, body: Self.archive)
            let secret = try #require(made.json?["secret"]?.string)
            #expect(made.status == .created && secret.hasPrefix("whsec_") && made.json?["order"]?.integer == 0)
            let again = try await call(
                .put, item,
                body: #"{"scheme": "archive", "url": "https://q.example/", "order": 5, "tenants": ["crawler"]}"#)
            #expect(again.status == .ok && again.json?["secret"] == nil && again.json?["order"]?.integer == 5)
            let read = try await call(.get, item)
            #expect(read.bytes == again.bytes && read.json?["tenants"]?[0]?.string == "crawler")
            #expect(try await call(.get, Self.path).json?["data"]?[0]?["url"]?.string == "https://q.example/")
            let rotated = try await call(.post, "\(item)/rotate", body: #"{"overlap": 60}"#)
            #expect(rotated.json?["secret"]?.string != secret && rotated.json?["previousSecretUntil"] != nil)
            #expect(try await call(.delete, item).status == .noContent)
            #expect(try await call(.delete, item).problem == .notFound)
            #expect(try await call(.post, "\(item)/rotate").problem == .notFound)
        }
    }

    @Test(arguments: [
        ("archive", #"{"scheme": "archive", "url": "https://127.0.0.1/"}"#, "/url"),
        (
            "archive", #"{"scheme": "archive", "url": "https://p.example/", "tenants": ["crawler", "nobody"]}"#,
            "/tenants/1"
        ),
        ("archive", #"{"scheme": "http", "url": "https://p.example/"}"#, "/host"),
    ])
    func `what breaks a rule registers nothing`(_ name: String, _ body: String, _ pointer: String) async throws {
        try await test { call, _ async throws in
            let answer = try await call(.put, "\(Self.path)/\(name)", body: body)
            #expect(answer.problem == .invalidInput && answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, Self.path).json?["data"]?.count == 0)
        }
    }

    @Test(arguments: ["Archive", "a%2Fb", "a_b", String(repeating: "a", count: 65)])
    func `what is no name names nothing`(_ name: String) async throws {
        try await test { call, _ async throws in
            let answer = try await call(.put, "\(Self.path)/\(name)", body: Self.archive)
            #expect(answer.problem == .invalidParameter && answer.json?["errors"]?[0]?["parameter"]?.string == "name")
            #expect(try await call(.get, "\(Self.path)/\(name)").problem == .notFound)
        }
    }

    @Test func `there are a hundred protocols at most`() async throws {
        try await test { call, _ async throws in
            for number in 0..<RegisteredProtocol.maximumCount {
                #expect(try await call(.put, "\(Self.path)/p\(number)", body: Self.archive).status == .created)
            }
            #expect(try await call(.put, "\(Self.path)/one-more", body: Self.archive).problem == .invalidInput)
            #expect(try await call(.put, "\(Self.path)/p0", body: Self.archive).status == .ok)
        }
    }

    // The built-in ones come last; those of another tenant are not there.
    @Test func `a tenant sees the protocols that it has in the order of asking`() async throws {
        try await test { call, crawler async throws in
            for (name, more) in [("old", ""), ("new", ""), ("first", #", "order": -1"#)] {
                let body = #"{"scheme": "archive", "url": "https://p.example/"\#(more)}"#
                #expect(try await call(.put, "\(Self.path)/\(name)", body: body).status == .created)
            }
            let web = #"{"scheme": "https", "host": "a.example", "url": "https://p.example/", "tenants": ["crawler"]}"#
            #expect(try await call(.put, "\(Self.path)/web", body: web).status == .created)
            func names(_ call: TestCalls) async throws -> [String] {
                let answer = try await call(.get, "/v1/protocols")
                #expect(!answer.text.contains("p.example") && !answer.text.contains("whsec_"))
                guard case .array(let all) = answer.json?["data"] else { return [] }
                return all.map { $0["name"]?.string ?? $0["scheme"]?.string ?? "" }
            }
            #expect(try await names(call) == ["first", "new", "old", "http", "https", "data"])
            #expect(try await names(crawler) == ["first", "web", "new", "old", "http", "https", "data"])
        }
    }

    @Test func `a URL of a registered scheme is taken of its tenants alone`() async throws {
        try await test { call, crawler async throws in
            let job = #"{"request": {"url": "archive://shelf/7", "properties": {"shelf": 7}}}"#
            func refusal(_ call: TestCalls) async throws -> String? {
                let answer = try await call(.post, "/v1/jobs", body: job)
                guard answer.status != .accepted else { return nil }
                #expect(answer.problem == .invalidInput && answer.text.contains("schemeForbidden"))
                return answer.json?["errors"]?[0]?["pointer"]?.string
            }
            #expect(try await refusal(crawler) == "/request/url")
            let body = #"{"scheme": "archive", "url": "https://p.example/", "tenants": ["crawler"]}"#
            #expect(try await call(.put, "\(Self.path)/archive", body: body).status == .created)
            #expect(try await refusal(crawler) == nil)
            #expect(try await refusal(call) == "/request/url")
            let explained = try await crawler(.post, "/v1/explain", body: job)
            #expect(explained.json?["target"]?["allowed"]?.bool == true, "\(explained.text)")
            let schedule = try await crawler(.post, "/v1/schedules", body: #"{"interval": 60, "job": \#(job)}"#)
            #expect(schedule.status == .created)
            #expect(try await call(.delete, "\(Self.path)/archive").status == .noContent)
            #expect(try await refusal(crawler) == "/request/url")
        }
    }

    // Proves: PRT-3.
    @Test func `a session names the protocols that it has`() async throws {
        try await test { call, _ async throws in
            for name in ["one", "two"] {
                let body = #"{"scheme": "\#(name)", "url": "https://p.example/"}"#
                #expect(try await call(.put, "\(Self.path)/\(name)", body: body).status == .created)
            }
            let made = try await call(.post, "/v1/sessions", body: #"{"protocols": ["two"]}"#)
            let session = try #require(made.json?["id"]?.string)
            #expect(made.json?["protocols"]?[0]?.string == "two")
            for (scheme, status) in [("two", HTTPResponse.Status.accepted), ("one", .unprocessableContent)] {
                let answer = try await call(
                    .post, "/v1/jobs", body: #"{"request": "\#(scheme):a", "session": "\#(session)"}"#)
                #expect(answer.status == status, "\(answer.text)")
            }
            let unknown = try await call(.post, "/v1/sessions", body: #"{"protocols": ["one", "three"]}"#)
            #expect(unknown.json?["errors"]?[0]?["pointer"]?.string == "/protocols/1")
        }
    }

    @Test func `a background session refuses other protocols than http`() async throws {
        try await test { call, _ async throws in
            #expect(try await call(.put, "\(Self.path)/archive", body: Self.archive).status == .created)
            let made = try await call(
                .post, "/v1/sessions",
                body: #"{"kind": "background", "identifier": "b", "webhook": {"url": "https://hook.example/"}}"#)
            let session = try #require(made.json?["id"]?.string)
            let job = #"{"kind": "download", "request": "archive:a", "session": "\#(session)"}"#
            let refused = try await call(.post, "/v1/jobs", body: job)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == "/request/url")
            let named = try await call(
                .post, "/v1/sessions",
                body: #"""
                    {"kind": "background", "identifier": "c", "protocols": ["archive"],
                     "webhook": {"url": "https://hook.example/"}}
                    """#)
            #expect(named.json?["errors"]?[0]?["pointer"]?.string == "/protocols")
        }
    }
}
