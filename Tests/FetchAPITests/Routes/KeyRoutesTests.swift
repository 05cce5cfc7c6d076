import FetchEngine
import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// API keys by the API: for tenants, and for operators.
@Suite struct KeyRoutesTests {
    private static func calls(
        _ server: TestServer, _ token: APIKeyToken,
        _ body: @escaping @Sendable (_ call: TestCalls, _ with: @Sendable (String) -> TestCalls) async throws -> Void
    ) async throws {
        try await server.test { client in
            try await body(client.with("Bearer \(token.revealed)")) { token in
                client.with("Bearer \(token)")
            }
        }
    }

    @Test func `a key is made, shown once, used, listed and revoked`() async throws {
        let server = try await TestServer()
        try await Self.calls(server, server.token) { call, with async throws in
            let body = """
                {"name": "reader", "scopes": ["jobs:read"], "hosts": ["a.example"], "maximumJobs": 9,
                 "session": "default", "expiresAt": "2099-01-01T00:00:00Z"}
                """
            let made = try await call(.post, "/v1/keys", body: body)
            #expect(made.status == .created, "\(made.text)")
            let id = try #require(made.json?["id"]?.string)
            let token = try #require(made.json?["token"]?.string)
            #expect(made.headers[.location] == "/v1/keys/\(id)")
            #expect(made.json?["createdBy"]?.string == server.key.id.description)
            #expect(APIKeyToken(token) != nil)
            let found = try await call(.get, "/v1/keys/\(id)")
            #expect(found.json?["session"]?.string == "default" && found.json?["maximumJobs"]?.integer == 9)
            #expect(found.json?["hosts"]?[0]?.string == "a.example" && found.json?["submittedJobs"]?.integer == 0)
            let list = try await call(.get, "/v1/keys")
            #expect(list.json?["data"]?.count == 2)
            let secret = token.dropFirst(29)
            #expect(!found.text.contains(secret) && !list.text.contains(secret))
            #expect(try await with(token)(.get, "/v1/jobs/x").problem == .notFound)
            #expect(try await call(.delete, "/v1/keys/\(id)").status == .noContent)
            #expect(try await call(.delete, "/v1/keys/\(id)").problem == .notFound)
            #expect(try await call(.get, "/v1/keys/\(id)").json?["revokedAt"]?.string != nil)
        }
    }

    @Test(arguments: [
        ("{}", "/name"), (#"{"name": "a"}"#, "/scopes"), (#"{"name": "", "scopes": ["keys"]}"#, "/name"),
        (#"{"name": "a", "scopes": []}"#, "/scopes"),
        (#"{"name": "a", "scopes": ["jobs"]}"#, "/scopes/0"),
        (#"{"name": "a", "scopes": ["keys"], "hosts": []}"#, "/hosts"),
        (#"{"name": "a", "scopes": ["keys"], "hosts": ["a b"]}"#, "/hosts/0"),
        (#"{"name": "a", "scopes": ["keys"], "maximumJobs": 0}"#, "/maximumJobs"),
        (#"{"name": "a", "scopes": ["keys"], "expiresAt": "2020-01-01T00:00:00Z"}"#, "/expiresAt"),
        (#"{"name": "a", "scopes": ["keys"], "session": "ses_01jd3v8m5qf0t8n4r6w2y9bcde"}"#, "/session"),
        (#"{"name": "a", "scopes": ["keys"], "tenant": "other"}"#, "/tenant"),
        (#"{"name": "a", "scopes": ["keys"], "isAdmin": true}"#, "/isAdmin"),
    ])
    func `a key that breaks a rule is not made`(_ body: String, _ pointer: String) async throws {
        let server = try await TestServer()
        try await Self.calls(server, server.token) { call, _ async throws in
            let answer = try await call(.post, "/v1/keys", body: body)
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer, "\(answer.text)")
            #expect(try await call(.get, "/v1/keys").json?["data"]?.count == 1)
        }
    }

    @Test(arguments: [
        (#"{"name": "a", "scopes": ["keys", "admin"], B}"#, "/scopes"),
        (#"{"name": "a", "scopes": ["keys", "jobs:write"], B}"#, "/scopes"),
        (#"{"name": "a", "scopes": ["keys"], "maximumJobs": 5, "expiresAt": "2098-01-01T00:00:00Z"}"#, "/session"),
        (#"{"name": "a", "scopes": ["keys"], B, "hosts": ["c.example"]}"#, "/hosts"),
        (#"{"name": "a", "scopes": ["keys"], B, "hosts": ["*"]}"#, "/hosts"),
        (
            #"{"name": "a", "scopes": ["keys"], "session": "default", "hosts": ["a.example"], "maximumJobs": 11, "expiresAt": "2098-01-01T00:00:00Z"}"#,
            "/maximumJobs"
        ),
        (
            #"{"name": "a", "scopes": ["keys"], "session": "default", "hosts": ["a.example"], "maximumJobs": 5, "expiresAt": "2099-01-02T00:00:00Z"}"#,
            "/expiresAt"
        ),
        (
            #"{"name": "a", "scopes": ["keys"], "session": "default", "hosts": ["a.example"], "maximumJobs": 5}"#,
            "/expiresAt"
        ),
    ])
    func `nobody makes a key with more rights than those of the own key`(_ body: String, _ pointer: String) async throws
    {
        let server = try await TestServer()
        let end = try #require(Timestamp(rfc3339: "2099-01-01T00:00:00Z"))
        let hosts = ["a.example", "b.example"].compactMap { HostPattern($0) }
        let spec = APIKeySpec(
            name: "bound", scopes: [.keys, .readJobs], session: .default, hosts: hosts, maximumJobs: 10, expiresAt: end)
        let (_, token) = try await server.keys.create(spec, for: .tenantOf(server.key))
        try await Self.calls(server, token) { call, _ async throws in
            let rest = #""session": "default", "maximumJobs": 10, "expiresAt": "2099-01-01T00:00:00Z""#
            let body = body.replacing("B", with: body.contains("hosts") ? rest : rest + #", "hosts": ["a.example"]"#)
            let answer = try await call(.post, "/v1/keys", body: body)
            #expect(answer.status == .forbidden && answer.problem == .keyBound, "\(answer.text)")
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer, "\(answer.text)")
            let within = #"{"name": "a", "scopes": ["keys"], "hosts": ["b.example"], \#(rest)}"#
            #expect(try await call(.post, "/v1/keys", body: within).status == .created)
        }
    }

    @Test func `a weak key neither revokes nor rotates a strong one, which would give it the rights of that`()
        async throws
    {
        let server = try await TestServer()
        let weak = try await server.keys.create(name: "weak", tenant: "test", scopes: [.keys])
        let (_, token) = weak
        try await Self.calls(server, token) { call, _ async throws in
            let strong = "/v1/keys/\(server.key.id)"
            #expect(try await call(.post, "\(strong)/rotate").problem == .keyBound)
            #expect(try await call(.delete, strong).problem == .keyBound)
            #expect(try await server.keys.keys(of: nil, after: nil, limit: 9).count == 2)
            #expect(try await call(.post, "/v1/keys/\(weak.0.id)/rotate").status == .created, "its own it rotates")
        }
    }

    // Proves: SEC-40.
    @Test func `a rotated key is valid for the overlap, and no longer`() async throws {
        let server = try await TestServer()
        let (old, token) = try await server.keys.create(name: "ci", tenant: "test")
        try await Self.calls(server, server.token) { call, with async throws in
            let path = "/v1/keys/\(old.id)/rotate"
            #expect(try await call(.post, path, body: #"{"overlap": -1}"#).problem == .invalidInput)
            let rotated = try await call(.post, path, body: #"{"overlap": 60}"#)
            #expect(rotated.status == .created, "\(rotated.text)")
            let new = try #require(rotated.json?["token"]?.string)
            let id = try #require(rotated.json?["id"]?.string)
            #expect(try await with(token.revealed)(.get, "/v1/jobs").status == .ok)
            #expect(try await with(new)(.get, "/v1/jobs").status == .ok)
            #expect(try await call(.post, path).problem == .keyNotRotatable)
            #expect(try await call(.get, "/v1/keys/\(old.id)").json?["replacedBy"]?.string == id)
            #expect(try await call(.post, "/v1/keys/\(id)/rotate").problem == .keyNotRotatable, "two are valid")
            #expect(try await call(.delete, "/v1/keys/\(old.id)").status == .noContent)
            let next = try await call(.post, "/v1/keys/\(id)/rotate", body: #"{"overlap": 0}"#)
            #expect(next.status == .created)
            #expect(try await server.keys.authenticate(try #require(APIKeyToken(new))) == nil)
        }
    }

    @Test func `the key of another tenant is not there`() async throws {
        let server = try await TestServer()
        let (other, token) = try await server.keys.create(name: "other", tenant: "other")
        try await Self.calls(server, server.token) { call, with async throws in
            for (method, path) in [
                (HTTPRequest.Method.get, ""), (.delete, ""), (.post, "/rotate"),
            ] {
                let answer = try await call(method, "/v1/keys/\(other.id)\(path)")
                let unknown = try await call(method, "/v1/keys/\(APIKey.ID())\(path)")
                #expect(answer.problem == .notFound && answer.json?["detail"] == unknown.json?["detail"])
            }
            #expect(try await call(.get, "/v1/keys").json?["data"]?.count == 1)
            #expect(try await with(token.revealed)(.get, "/v1/jobs").status == .ok, "it was left alone")
        }
    }

    // MARK: Operators

    @Test func `operators make, list, rotate and revoke the keys of all tenants`() async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "ops", tenant: "default", scopes: [.admin])
        try await Self.calls(server, token) { call, with async throws in
            let body = #"{"tenant": "crawler", "name": "first", "scopes": ["jobs:read", "keys"]}"#
            let made = try await call(.post, "/v1/admin/keys", body: body)
            #expect(made.status == .created && made.json?["tenant"]?.string == "crawler", "\(made.text)")
            let id = try #require(made.json?["id"]?.string)
            let first = try #require(made.json?["token"]?.string)
            #expect(try await with(first)(.get, "/v1/keys").json?["data"]?.count == 1)
            #expect(try await call(.get, "/v1/admin/keys?limit=1").json?["hasMore"]?.bool == true)
            #expect(try await call(.get, "/v1/admin/keys").json?["data"]?[2]?["tenant"]?.string == "crawler")
            let rotated = try await call(.post, "/v1/admin/keys/\(id)/rotate")
            #expect(rotated.status == .created && rotated.json?["tenant"]?.string == "crawler")
            #expect(try await call(.delete, "/v1/admin/keys/\(id)").status == .noContent)
            #expect(try await call(.get, "/v1/admin/keys/\(id)").json?["revokedAt"]?.string != nil)
            #expect(try await call(.get, "/v1/keys").problem == .scopeRequired, "admin is a scope like others")
        }
    }

    @Test(arguments: [
        (#"{"name": "a", "scopes": ["keys"]}"#, "/tenant"),
        (#"{"tenant": "", "name": "a", "scopes": ["keys"]}"#, "/tenant"),
        (#"{"tenant": "a"}"#, "/name"),
        (
            #"{"tenant": "new", "name": "a", "scopes": ["keys"], "session": "ses_01jd3v8m5qf0t8n4r6w2y9bcde"}"#,
            "/session"
        ),
    ])
    func `a key of a tenant that breaks a rule is not made`(_ body: String, _ pointer: String) async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "ops", tenant: "default", scopes: [.admin])
        try await Self.calls(server, token) { call, _ async throws in
            let answer = try await call(.post, "/v1/admin/keys", body: body)
            let pointers = (0..<3).compactMap { answer.json?["errors"]?[$0]?["pointer"]?.string }
            #expect(answer.problem == .invalidInput && pointers.contains(pointer), "\(answer.text)")
            #expect(try await server.keys.keys(of: nil, after: nil, limit: 9).count == 2)
        }
    }
}
