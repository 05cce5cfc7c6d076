import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct SessionRoutesTests {
    @Test func `a session is made, read, listed, invalidated and forgotten`() async throws {
        try await TestServer().test { call async throws in
            let body = #"{"description": "mine", "configuration": {"redirects": {"maximum": 2}}}"#
            let made = try await call(.post, "/v1/sessions", body: body)
            #expect(made.status == .created)
            let path = try #require(made.headers[.location])
            let plain = try await call(.get, path)
            #expect(plain.status == .ok && plain.json?["effectiveConfiguration"] == nil)
            for wrong in ["nothing", "", "effectiveConfiguration,nothing", "effectiveConfiguration,"] {
                #expect(try await call(.get, "\(path)?include=\(wrong)").problem == .invalidParameter, "\(wrong)")
            }
            let read = try await call(.get, "\(path)?include=effectiveConfiguration")
            #expect(read.json?["description"]?.string == "mine")
            #expect(read.json?["effectiveConfiguration"]?["redirects"]?["maximum"]?["from"]?.string == "session")
            #expect(read.json?["effectiveConfiguration"]?["redirects"]?["policy"]?["from"]?.string == "default")
            #expect(try await call(.get, "/v1/sessions").json?["data"]?.count == 1)
            #expect(try await call(.delete, path).problem == .sessionNotInvalidated)
            let ended = try await call(.post, path + "/invalidate?mode=cancel")
            #expect(ended.status == .ok)
            #expect(ended.json?["state"]?.string == "invalidated")
            #expect(try await call(.delete, path).status == .noContent)
            #expect(try await call(.get, path).problem == .notFound)
        }
    }

    // Proves: SEC-41.
    @Test func `another tenant's session is none`() async throws {
        let server = try await TestServer()
        let other = NewSession(tenant: Tenant.ID(rawValue: 99), spec: SessionSpec())
        _ = try await server.sessions.create(other)
        try await server.test { call async throws in
            #expect(try await call(.get, "/v1/sessions/\(other.id)").problem == .notFound)
            #expect(try await call(.post, "/v1/sessions/\(other.id)/invalidate").problem == .notFound)
            #expect(try await call(.delete, "/v1/sessions/\(other.id)").problem == .notFound)
            #expect(try await call(.post, "/v1/sessions/\(other.id)/acknowledge").problem == .notFound)
            #expect(try await call(.get, "/v1/sessions/\(other.id)/events").problem == .notFound)
            let job = #"{"session": "\#(other.id)", "request": {"url": "http://a.example/"}}"#
            let refused = try await call(.post, "/v1/jobs", body: job)
            #expect(refused.problem == .invalidInput)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == "/session")
        }
    }

    @Test func `a repeated request with one key is answered as the first was`() async throws {
        try await TestServer().test { call async throws in
            let key: HTTPFields = [HTTPField.Name("Idempotency-Key")!: "k"]
            let first = try await call(.post, "/v1/sessions", headers: key, body: "{}")
            let again = try await call(.post, "/v1/sessions", headers: key, body: "{}")
            #expect(first.headers[.location] == again.headers[.location])
            let other = try await call(.post, "/v1/sessions", headers: key, body: #"{"description": "x"}"#)
            #expect(other.problem == .idempotencyKeyReused)
        }
    }

    @Test func `a list is read page by page, under one filter`() async throws {
        try await TestServer().test { call async throws in
            for _ in 0..<3 { _ = try await call(.post, "/v1/sessions", body: "{}") }
            let first = try await call(.get, "/v1/sessions?kind=default&limit=2")
            #expect(first.json?["data"]?.count == 2)
            let link = try #require(first.headers[HTTPField.Name("Link")!])
            let next = try #require(link.split(separator: ">").first?.dropFirst())
            let second = try await call(.get, String(next))
            #expect(second.json?["data"]?.count == 1)
            #expect(second.json?["hasMore"]?.bool == false)
            let cursor = try #require(first.json?["nextCursor"]?.string)
            #expect(try await call(.get, "/v1/sessions?cursor=\(cursor)").problem == .invalidParameter)
        }
    }

    @Test func `a page of large sessions ends early, and the next one goes on behind it`() async throws {
        let fields = (0..<30).map { #""x-\#($0)": "\#(String(repeating: "a", count: 1_000))""# }
        let body = #"{"configuration": {"request": {"headers": {\#(fields.joined(separator: ", "))}}}}"#
        try await TestServer().test { call async throws in
            var made: [String] = []
            for _ in 0..<40 {
                made.append(try #require(try await call(.post, "/v1/sessions", body: body).json?["id"]?.string))
            }
            let first = try await call(.get, "/v1/sessions?limit=100")
            #expect(first.bytes.count < 1_100_000)
            #expect(first.json?["hasMore"]?.bool == true)
            let cursor = try #require(first.json?["nextCursor"]?.string)
            let rest = try await call(.get, "/v1/sessions?limit=100&cursor=\(cursor)")
            #expect(rest.json?["hasMore"]?.bool == false)
            let listed = [first, rest].flatMap { page in
                (0..<(page.json?["data"]?.count ?? 0)).compactMap { page.json?["data"]?[$0]?["id"]?.string }
            }
            #expect(listed == made.reversed())
        }
    }

    @Test(arguments: [
        (#"{"kind": "other"}"#, "/kind"),
        (#"{"name": "x"}"#, "/name"),
        (#"{"kind": "ephemeral", "webhook": {"endpoint": "whe_00000000000000000000000001"}}"#, "/webhook"),
        (#"{"kind": "background", "identifier": "b"}"#, "/webhook"),
        (#"{"identifier": "b"}"#, "/identifier"),
        (#"{"webhook": {"endpoint": "whe_00000000000000000000000001"}}"#, "/webhook/endpoint"),
        (#"{"webhook": {"url": "https://a.example/", "events": ["job.finished"]}}"#, "/webhook/events"),
        (#"{"configuration": {"timeouts": {"connect": 0}}}"#, "/configuration/timeouts/connect"),
    ])
    func `bad input is named by its pointer`(body: String, pointer: String) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/sessions", body: body)
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, "/v1/sessions").json?["data"]?.count == 0)
        }
    }

    @Test func `the default session has several names and no end`() async throws {
        try await TestServer().test { call async throws in
            for name in ["default", "\(TenantSession.ID.default)"] {
                #expect(try await call(.get, "/v1/sessions/\(name)").json?["kind"]?.string == "default")
                #expect(try await call(.delete, "/v1/sessions/\(name)").problem == .sessionNotInvalidated)
                let job = #"{"session": "\#(name)", "request": {"url": "http://a.example/"}}"#
                #expect(try await call(.post, "/v1/jobs", body: job).status == .accepted)
            }
        }
    }

    // Proves: SES-18.
    @Test func `a session made from a snapshot inherits the configuration`() async throws {
        try await TestServer().test { call async throws in
            let body = #"{"configuration": {"redirects": {"maximum": 2, "policy": "fail"}}}"#
            let path = try #require(try await call(.post, "/v1/sessions", body: body).headers[.location])
            let snapshot = try await call(.post, path + "/snapshots")
            #expect(snapshot.status == .created)
            let id = try #require(snapshot.json?["id"]?.string)
            let fork = try await call(
                .post, "/v1/sessions",
                body: #"{"snapshot": "\#(id)", "configuration": {"redirects": {"maximum": 7}}}"#)
            #expect(fork.json?["configuration"]?["redirects"]?["maximum"]?.integer == 7)
            #expect(fork.json?["configuration"]?["redirects"]?["policy"]?.string == "fail")
            #expect(try await call(.delete, "/v1/snapshots/\(id)").status == .noContent)
            #expect(try await call(.get, "/v1/snapshots/\(id)").problem == .notFound)
            let gone = try await call(.post, "/v1/sessions", body: #"{"snapshot": "\#(id)"}"#)
            #expect(gone.json?["errors"]?[0]?["pointer"]?.string == "/snapshot")
        }
    }

    @Test func `stores are those of a session that there is, and that stores something`() async throws {
        try await TestServer().test { call async throws in
            let made = try await call(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#)
            let ephemeral = try #require(made.json?["id"]?.string)
            for session in [ephemeral, "\(TenantSession.ID())"] {
                #expect(try await call(.get, "/v1/cookies?session=\(session)").problem == .invalidParameter)
                #expect(try await call(.delete, "/v1/credentials?session=\(session)").problem == .invalidParameter)
                let body =
                    #"{"session": "\#(session)", "cookies": [{"name": "a", "value": "1", "domain": "h.example"}]}"#
                let answer = try await call(.post, "/v1/cookies", body: body)
                #expect(answer.problem == .invalidInput)
                #expect(answer.json?["errors"]?[0]?["pointer"]?.string == "/session")
            }
        }
    }
}
