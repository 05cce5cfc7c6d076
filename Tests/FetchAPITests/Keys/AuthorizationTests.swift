import FetchEngine
import FetchJobs
import HTTPTypes
import Logging
import TestSupport
import Testing

@testable import FetchAPI

/// What keys may do: scopes, and what keys are bound to.
@Suite struct AuthorizationTests {
    private static func test(
        _ server: TestServer, _ spec: APIKeySpec,
        _ body: @escaping @Sendable (_ call: TestCalls, _ bound: TestCalls, _ key: APIKey) async throws -> Void
    ) async throws {
        let (key, token) = try await server.keys.create(spec, for: .tenantOf(server.key))
        try await server.test { client in
            try await body(
                client,
                client.with("Bearer \(token.revealed)"), key)
        }
    }

    private static let operations = Access.table.map { name, access in
        let parts = name.split(separator: " ")
        return (method: HTTPRequest.Method(String(parts[0])) ?? .get, path: String(parts[1]), access: access)
    }

    /// A path with ids that nothing has.
    private static func path(_ template: String) -> String {
        template.replacing(/\{\w+\}/, with: "x")
    }

    private static func job(_ members: String) -> String { #"{"request": "http://a.example/"\#(members)}"# }

    private static func session(_ server: TestServer) async throws -> TenantSession.ID {
        let made = NewSession(tenant: server.key.tenant, spec: SessionSpec(), idempotency: nil)
        _ = try await server.sessions.create(made)
        return made.id
    }

    // MARK: Scopes

    @Test(arguments: Scope.allCases)
    func `a key of one scope is refused every operation of the others, and the refusal names the scope`(
        _ scope: Scope
    ) async throws {
        try await Self.test(try await TestServer(), APIKeySpec(name: "one", scopes: [scope])) {
            _, call, _ async throws in
            for (method, path, access) in Self.operations where method != .head {
                let answer = try await call(method, Self.path(path), body: method == .get ? nil : "{")
                // Below /v2/ a problem has the form of QStash.
                let isRefused =
                    path.hasPrefix("/v2/")
                    ? answer.status == .forbidden && answer.text.contains("lacks the scope")
                    : answer.problem == .scopeRequired
                #expect(isRefused == (access.scope != scope), "\(method) \(path): \(answer.text)")
                guard isRefused else { continue }
                #expect(answer.status == .forbidden)
                #expect(answer.text.contains("lacks the scope \(access.scope.rawValue)."))
                #expect(answer.headers[.wwwAuthenticate]?.contains("scope=\"\(access.scope.rawValue)\"") == true)
            }
        }
    }

    @Test func `a HEAD needs what the GET needs`() async throws {
        try await Self.test(try await TestServer(), APIKeySpec(name: "w", scopes: [.webhooks])) {
            _, call, _ async throws in
            #expect(try await call(.head, "/v1/jobs").status == .forbidden)
            #expect(try await call(.head, "/v1/blobs/x").status == .forbidden)
            #expect(try await call(.head, "/v1/webhooks/endpoints").status == .ok)
        }
    }

    @Test func `roles are sets of scopes, each with those of the one before`() {
        #expect(Role([.readJobs]) == .viewer)
        #expect(Role([.writeJobs]) == nil)
        #expect(Role([.readJobs, .writeJobs, .limits]) == .viewer)
        #expect(Role(Role.operator.scopes) == .operator)
        #expect(Role(.tenant) == .operator)
        #expect(Role(.all) == .admin)
        for (lower, higher) in zip(Role.allCases, Role.allCases.dropFirst()) {
            #expect(lower.scopes.isStrictSubset(of: higher.scopes))
        }
    }

    // MARK: Ends

    // Proves: SEC-40.
    @Test func `a key that expires is refused from then on, also where it is known`() async throws {
        let server = try await TestServer()
        let end = Timestamp.now.advanced(by: .seconds(3))
        try await Self.test(server, APIKeySpec(name: "short", expiresAt: end)) { _, call, _ async throws in
            #expect(try await call(.get, "/v1/jobs").status == .ok)
            try await until { Timestamp.now > end }
            #expect(try await call(.get, "/v1/jobs").problem == .unauthorized)
        }
    }

    @Test func `uses are written together, and not with each request`() async throws {
        let server = try await TestServer()
        let uses = KeyUses(store: server.keys, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        for seconds in 0..<100 { uses.note(server.key.id, at: Timestamp(microseconds: Int64(seconds) * 1_000_000)) }
        #expect(server.keys.notes == 0)
        await uses.write()
        await uses.write()
        #expect(server.keys.notes == 1)
        let stored = try await server.keys.key(server.key.id, of: nil)?.key
        #expect(stored?.lastUsedAt == Timestamp(microseconds: 99_000_000))
    }

    // Proves: SEC-40.
    @Test func `a request is a use of its key, which is written when the server stops`() async throws {
        let server = try await TestServer()
        try await server.listen { port, _ async throws in
            let request = "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: \(server.authorization)"
            _ = try await WireTests.exchange("\(request)\r\nConnection: close\r\n\r\n", port: port)
        }
        #expect(try await server.keys.key(server.key.id, of: nil)?.key.lastUsedAt != nil)
    }

    // MARK: Bounds

    @Test func `a key that is bound to a session submits and sees jobs of that session alone`() async throws {
        let server = try await TestServer()
        let (own, other) = (try await Self.session(server), try await Self.session(server))
        try await Self.test(server, APIKeySpec(name: "bound", session: own)) { call, bound, _ async throws in
            let mine = try await bound(.post, "/v1/jobs", body: Self.job(#", "session": "\#(own)""#))
            #expect(mine.status == .accepted, "\(mine.text)")
            for session in [#", "session": "\#(other)""#, #", "session": "default""#, ""] {
                let answer = try await bound(.post, "/v1/jobs", body: Self.job(session))
                #expect(answer.status == .forbidden && answer.problem == .keyBound)
                #expect(answer.json?["errors"]?[0]?["pointer"]?.string == "/session")
            }
            let id = try #require(mine.json?["id"]?.string)
            let theirs = try await call(.post, "/v1/jobs", body: Self.job(#", "session": "\#(other)""#))
            let foreign = try #require(theirs.json?["id"]?.string)
            #expect(try await bound(.get, "/v1/jobs/\(id)").status == .ok)
            for (method, path, access) in Self.operations
            where access.reach == .job || access.reach == .jobAndTarget {
                guard method != .head else { continue }
                let path = path.replacing("{id}", with: foreign).replacing("{question}", with: "x")
                let answer = try await bound(method, path, body: "{}")
                #expect(answer.status == .notFound, "\(method) \(path)")
                #expect(path.hasPrefix("/v2/") || answer.problem == .notFound, "\(method) \(path)")
            }
            #expect(try await call(.get, "/v1/jobs/\(foreign)").json?["state"]?.string == "queued")
            #expect(try await bound(.get, "/v1/jobs?session=\(own)").json?["data"]?.count == 1)
            for query in ["", "?session=\(other)", "?session=default", "?session=x"] {
                #expect(try await bound(.get, "/v1/jobs\(query)").problem == .keyBound)
                #expect(try await bound(.get, "/v1/cookies\(query)").problem == .keyBound)
            }
            #expect(try await bound(.get, "/v1/sessions/\(own)").status == .ok)
            for path in ["/v1/sessions/\(other)", "/v1/sessions/default", "/v1/sessions", "/v1/stats", "/v1/keys"] {
                #expect(try await bound(.get, path).problem == .keyBound, "\(path)")
            }
        }
    }

    @Test func `a key that is bound to the default session is not one for all sessions`() async throws {
        let server = try await TestServer()
        let other = try await Self.session(server)
        try await Self.test(server, APIKeySpec(name: "bound", session: .default)) { _, bound, _ async throws in
            #expect(try await bound(.post, "/v1/jobs", body: Self.job("")).status == .accepted)
            let answer = try await bound(.post, "/v1/jobs", body: Self.job(#", "session": "\#(other)""#))
            #expect(answer.problem == .keyBound)
            #expect(try await bound(.get, "/v1/jobs").problem == .keyBound)
            #expect(try await bound(.get, "/v1/jobs?session=default").json?["data"]?.count == 1)
        }
    }

    @Test(arguments: [
        (#"{"request": "http://a.example/"}"#, nil), (#"{"request": "https://x.b.example/"}"#, nil),
        (#"{"request": "http://A.EXAMPLE/"}"#, nil),
        (#"{"request": "http://b.example/"}"#, "/request/url"),
        (#"{"request": "http://a.example.c/"}"#, "/request/url"),
        (#"{"request": "http://c.example/?a.example"}"#, "/request/url"),
        (#"{"request": "http://a.example@c.example/"}"#, "/request/url"),
        (#"{"request": "http://d.example/"}"#, "/request/url"), (#"{"request": "http://d.example:81/"}"#, nil),
        (#"{"request": "data:,a.example"}"#, "/request/url"),
        (
            #"{"request": "http://a.example/", "configuration": {"proxy": {"url": "http://c.example:80"}}}"#,
            "/configuration/proxy"
        ),
        (
            #"{"request": "http://a.example/", "configuration": {"redirects": {"allowedHosts": ["c.example"]}}}"#,
            "/configuration/redirects/allowedHosts"
        ),
        (
            #"{"request": "http://a.example/", "configuration": {"redirects": {"allowedHosts": ["z.b.example"]}}}"#, nil
        ),
        (
            #"{"request": "http://a.example/", "configuration": {"rules": [{"on": "willPerformHTTPRedirection", "answer": "follow"}]}}"#,
            "/configuration/rules"
        ),
        (
            #"{"request": "http://a.example/", "configuration": {"delegate": {"via": "api", "questions": ["willPerformHTTPRedirection"]}}}"#,
            "/configuration/delegate"
        ),
        (#"{"request": "http://a.example/", "webhook": {"url": "https://c.example/"}}"#, "/webhook/url"),
        (#"{"request": "http://a.example/", "webhook": {"url": "https://x.b.example/"}}"#, nil),
    ])
    func `a job of a key that is bound to hosts loads from these alone`(_ body: String, _ pointer: String?) async throws
    {
        let server = try await TestServer()
        let hosts = ["a.example", "*.b.example", "d.example:81"].compactMap { HostPattern($0) }
        try await Self.test(server, APIKeySpec(name: "bound", hosts: hosts)) { _, bound, _ async throws in
            for path in ["/v1/jobs", "/v1/explain"] {
                let answer = try await bound(.post, path, body: body)
                guard let pointer else {
                    #expect(answer.status.code < 300, "\(path): \(answer.text)")
                    continue
                }
                #expect(answer.problem == .keyBound, "\(path): \(answer.text)")
                #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            }
            let line = try await bound(
                .post, "/v1/jobs/batch", headers: [.contentType: "application/x-ndjson"], body: body)
            #expect(line.json?["problem"]?["code"]?.string == (pointer == nil ? nil : "keyBound"), "\(line.text)")
        }
    }

    // An endpoint outlives the job that it was made for.
    @Test func `a key without the scope for endpoints names those that there are, and makes none`() async throws {
        let server = try await TestServer()
        let spec = APIKeySpec(name: "narrow", scopes: Set<Scope>.tenant.subtracting([.webhooks]))
        try await Self.test(server, spec) { call, narrow, _ async throws in
            let hook = #""webhook": {"url": "https://hook.example/"}"#
            let requests = [
                ("/v1/jobs", #"{"request": "http://a.example/", \#(hook)}"#),
                ("/v1/explain", #"{"request": "http://a.example/", \#(hook)}"#), ("/v1/groups", "{\(hook)}"),
                ("/v1/sessions", #"{"kind": "background", "identifier": "b", \#(hook)}"#),
                ("/v1/schedules", #"{"interval": 60, "job": {"request": "http://a.example/", \#(hook)}}"#),
            ]
            for (path, body) in requests {
                let refused = try await narrow(.post, path, body: body)
                #expect(refused.problem == .scopeRequired && refused.text.contains("webhook.url"), "\(refused.text)")
                #expect(refused.headers[.wwwAuthenticate]?.contains(#"scope="webhooks""#) == true)
            }
            let line = try await narrow(
                .post, "/v1/jobs/batch", headers: [.contentType: "application/x-ndjson"], body: requests[0].1)
            #expect(line.json?["problem"]?["code"]?.string == "scopeRequired", "\(line.text)")
            #expect(try await call(.get, "/v1/webhooks/endpoints").json?["data"]?.count == 0)
            let made = try await call(.post, "/v1/webhooks/endpoints", body: #"{"url": "https://hook.example/"}"#)
            #expect(made.status == .created, "\(made.text)")
            for (path, body) in requests {
                let answer = try await narrow(.post, path, body: body)
                #expect(answer.status.code < 300, "\(path): \(answer.text)")
            }
            #expect(try await call(.get, "/v1/webhooks/endpoints").json?["data"]?.count == 1)
        }
    }

    @Test func `redirects of a key that is bound to hosts lead to no other`() async throws {
        let server = try await TestServer()
        let hosts = ["a.example", "*.b.example", "d.example:81", "192.0.2.0/24"].compactMap { HostPattern($0) }
        try await Self.test(server, APIKeySpec(name: "bound", hosts: hosts)) { _, bound, _ async throws in
            let answer = try await bound(.post, "/v1/jobs", body: #"{"request": "http://x.b.example/"}"#)
            let id = try #require(answer.json?["id"]?.string.flatMap { Job.ID($0) })
            let spec = try await server.jobs.job(id, of: server.key.tenant)?.storedSpec
            #expect(spec?.configuration.redirects.allowedHosts == ["a.example", "x.b.example"])
            // What is not about one job of those hosts is about others too.
            #expect(try await bound(.get, "/v1/jobs/\(id)").status == .ok)
            for path in ["/v1/jobs", "/v1/hosts", "/v1/cookies?session=default", "/v1/sessions/default"] {
                #expect(try await bound(.get, path).problem == .keyBound, "\(path)")
            }
            let reply = try await bound(.post, "/v1/jobs/\(id)/questions/qst_x", body: "{}")
            #expect(reply.problem == .keyBound, "an answer can change the host")
        }
    }

    @Test func `a key with a maximum submits so many jobs in all, by whichever way`() async throws {
        let server = try await TestServer()
        try await Self.test(server, APIKeySpec(name: "three", maximumJobs: 3)) { call, bound, key async throws in
            let first = try await bound(
                .post, "/v1/jobs", headers: [.idempotencyKey: "a"], body: Self.job(""))
            #expect(first.status == .accepted)
            let again = try await bound(.post, "/v1/jobs", headers: [.idempotencyKey: "a"], body: Self.job(""))
            #expect(again.headers[.idempotencyReplayed] == "true", "what is not stored does not count")
            #expect(try await bound(.post, "/v1/jobs", body: "{}").problem == .invalidInput)
            let id = try #require(first.json?["id"]?.string)
            _ = try await bound(.post, "/v1/jobs/\(id)/cancel")
            #expect(try await bound(.post, "/v1/jobs/\(id)/retry").status == .accepted, "the second")
            let lines = Array(repeating: Self.job(""), count: 3).joined(separator: "\n")
            let batch = try await bound(
                .post, "/v1/jobs/batch", headers: [.contentType: "application/x-ndjson"], body: lines)
            let results = try batch.text.split(separator: "\n").map { try JSONParser.parse($0.utf8) }
            #expect(results.map { $0["problem"]?["code"]?.string } == [nil, "keyExhausted", "keyExhausted"])
            let over = try await bound(.post, "/v1/jobs", body: Self.job(""))
            #expect(over.status == .forbidden && over.problem == .keyExhausted)
            #expect(over.text.contains("3 jobs"))
            _ = try await bound(.post, "/v1/jobs/\(id)/cancel")
            #expect(try await bound(.post, "/v1/jobs/\(id)/retry").problem == .keyExhausted)
            let schedule = #"{"interval": 60, "job": {"request": "http://a.example/"}}"#
            #expect(try await bound(.post, "/v1/schedules", body: schedule).problem == .keyBound)
            let retry = #"{"action": "retry", "filter": {}, "all": true}"#
            #expect(try await bound(.post, "/v1/jobs/actions", body: retry).problem == .keyBound)
            #expect(try await bound(.get, "/v1/jobs").status == .ok, "it sees all the same")
            #expect(try await call(.get, "/v1/keys/\(key.id)").json?["submittedJobs"]?.integer == 3)
        }
    }
}
