import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct JobRoutesTests {
    private static let spec = #"{"request":{"url":"https://origin.example/a?b=c"}}"#

    @Test func `a submission is stored and answered with its place`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", body: Self.spec)
            #expect(answer.status == .accepted)
            let id = try #require(answer.json?["id"]?.string)
            #expect(answer.headers[.location] == "/v1/jobs/\(id)")
            #expect(answer.json?["state"]?.string == "queued")
            let job = try await call(.get, "/v1/jobs/\(id)")
            #expect(job.status == .ok)
            #expect(job.json?["request"]?["url"]?.string == "https://origin.example/a?b=c")
        }
        #expect(server.jobs.count == 1)
    }

    // R21
    @Test func `with a wait, a job that ends in time is answered whole`() async throws {
        let server = try await TestServer(jobs: MemoryJobStore { _ in .succeeded })
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", headers: [.prefer: "wait=99"], body: Self.spec)
            #expect(answer.status == .created)
            #expect(answer.json?["state"]?.string == "succeeded")
            #expect(answer.headers[.preferenceApplied] == "wait=60")
        }
    }

    @Test func `a wait of nothing is answered at once`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", headers: [.prefer: "respond-async, wait=0"], body: Self.spec)
            #expect(answer.status == .accepted)
            #expect(answer.headers[.preferenceApplied] == "wait=0")
        }
    }

    @Test func `a repeat waits for the first without asking for it all the time`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k-1"]
            _ = try await call(.post, "/v1/jobs", headers: key, body: Self.spec)
            let repeated = try await call(
                .post, "/v1/jobs", headers: [.idempotencyKey: "k-1", .prefer: "wait=1"], body: Self.spec)
            #expect(repeated.status == .accepted)
            #expect(repeated.headers[.idempotencyReplayed] == "true")
        }
        #expect(server.jobs.looks <= 4)
    }

    @Test func `an idempotency key makes repeats one job and refuses another body`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k-1"]
            let first = try await call(.post, "/v1/jobs", headers: key, body: Self.spec)
            #expect(first.headers[.idempotencyReplayed] == nil)
            let second = try await call(.post, "/v1/jobs", headers: key, body: " " + Self.spec)
            #expect(second.headers[.idempotencyReplayed] == "true")
            #expect(second.json?["id"]?.string == first.json?["id"]?.string)
            let other = try await call(
                .post,
                "/v1/jobs",
                headers: key,
                body: #"{"request":{"url":"https://other.example/"}}"#
            )
            #expect(other.status == .unprocessableContent)
            #expect(other.problem == .idempotencyKeyReused)
        }
        #expect(server.jobs.count == 1)
    }

    // R49
    @Test func `a repeat is answered with the first one's job, also when that has failed`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k-1"]
            let first = try await call(.post, "/v1/jobs", headers: key, body: Self.spec)
            let id = try #require(first.json?["id"]?.string)
            server.jobs.finish(try #require(Job.ID(id)), .failed)
            let again = try await call(.post, "/v1/jobs", headers: key, body: Self.spec)
            #expect(again.status == .created && again.headers[.idempotencyReplayed] == "true")
            #expect(again.json?["id"]?.string == id && again.json?["state"]?.string == "failed")
            #expect(again.headers[.location] == "/v1/jobs/\(id)")
        }
        #expect(server.jobs.count == 1)
    }

    @Test(arguments: ["", " ", "ü", String(repeating: "k", count: 129)])
    func `an idempotency key in bad form is refused`(key: String) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", headers: [.idempotencyKey: key], body: Self.spec)
            #expect(answer.problem == .invalidIdempotencyKey)
        }
        #expect(server.jobs.count == 0)
    }

    // Proves: SEC-44.
    @Test(
        arguments: [
            (#"{"request":{"url":"https://a.example/"},"x":1}"#, ProblemCode.invalidInput, "/x"),
            (#"{"request":{"url":"gopher://a.example/"}}"#, .invalidInput, "/request/url"),
            (#"{"request":{"url":"https://a.example/"},"priority":2}"#, .invalidInput, "/priority"),
            (
                #"{"request":{"url":"https://a.example/"},"webhook":{"endpoint":"whe_00000000000000000000000000"}}"#,
                .invalidInput, "/webhook/endpoint"
            ),
            (#"{"request":{"url":"https://a.example/"},"webhook":{}}"#, .invalidInput, "/webhook"),
            (
                #"{"request":"https://a.example/","webhook":{"endpoint":"whe_00000000000000000000000000","url":"https://b/"}}"#,
                .invalidInput, "/webhook"
            ),
            (
                #"{"request":"https://a.example/","webhook":{"url":"https://u:p@b.example/"}}"#, .invalidInput,
                "/webhook/url"
            ),
            (
                #"{"request":"https://a.example/","webhook":{"url":"https://b.example/","events":["job.none"]}}"#,
                .invalidInput, "/webhook/events/0"
            ),
            (
                #"{"request":"https://a.example/","webhook":{"url":"https://b.example/","events":[]}}"#, .invalidInput,
                "/webhook/events"
            ),
            (#"{"request":{"url":"https://a.example/"},"labels":null}"#, .invalidInput, "/labels"),
            ("[]", .invalidInput, ""),
            ("{", .malformedJSON, nil),
            (#"{"request":{},"request":{}}"#, .malformedJSON, nil),
        ] as [(String, ProblemCode, String?)])
    func `bad input is refused with the member named and nothing stored`(
        body: String,
        code: ProblemCode,
        pointer: String?
    ) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", body: body)
            #expect(answer.problem == code)
            #expect(answer.status == code.status)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
        }
        #expect(server.jobs.count == 0)
    }

    // Proves: SEC-44.
    @Test func `another content type and a body too large are refused`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let text = try await call(.post, "/v1/jobs", headers: [.contentType: "text/plain"], body: Self.spec)
            #expect(text.problem == .unsupportedMediaType)
            let coded = try await call(.post, "/v1/jobs", headers: [.contentEncoding: "gzip"], body: Self.spec)
            #expect(coded.problem == .unsupportedMediaType)
            let large = try await call(.post, "/v1/jobs", body: String(repeating: " ", count: 1 << 20 + 1))
            #expect(large.problem == .contentTooLarge)
            let utf8 = try await call(
                .post,
                "/v1/jobs",
                headers: [.contentType: "Application/JSON ; charset=utf-8"],
                body: Self.spec
            )
            #expect(utf8.status == .accepted)
        }
    }

    @Test func `pages lead through every job once, the newest first`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            var ids: [String] = []
            for _ in 0..<5 {
                ids.append(try #require(try await call(.post, "/v1/jobs", body: Self.spec).json?["id"]?.string))
            }
            var seen: [String] = []
            var uri: String? = "/v1/jobs?limit=2&state=queued"
            while let next = uri {
                let page = try await call(.get, next)
                #expect(page.status == .ok)
                for index in 0..<(page.json?["data"]?.count ?? 0) {
                    seen.append(try #require(page.json?["data"]?[index]?["id"]?.string))
                }
                #expect(page.json?["hasMore"]?.bool == (page.headers[.link] != nil))
                uri = page.headers[.link].map { String($0.dropFirst().prefix { $0 != ">" }) }
            }
            #expect(seen == ids.sorted().reversed())
        }
    }

    @Test(
        arguments: [
            ("cursor=x", "cursor"), ("cursor=%", nil), ("limit=0", "limit"), ("limit=101", "limit"),
            ("limit=+5", "limit"),
            ("state=lost", "state"), ("state=failed&state=failed", "state"), ("sort=up", "sort"),
        ] as [(String, String?)])
    func `a bad query is refused with the parameter named`(query: String, name: String?) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.get, "/v1/jobs?\(query)")
            #expect(answer.status == .badRequest)
            #expect(answer.problem == .invalidParameter)
            #expect(answer.json?["errors"]?[0]?["parameter"]?.string == name)
        }
    }

    @Test func `a cursor of another filter is refused`() async throws {
        let cursor = JobCursor(after: Job.ID(), filter: JobFilter(state: .failed)).text
        let server = try await TestServer()
        try await server.test { call async throws in
            #expect(try await call(.get, "/v1/jobs?state=failed&cursor=\(cursor)").status == .ok)
            #expect(try await call(.get, "/v1/jobs?cursor=\(cursor)").problem == .invalidParameter)
        }
    }

    @Test func `cancelling answers 200 when the job is final and 202 while it stops`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let queued = try #require(try await call(.post, "/v1/jobs", body: Self.spec).json?["id"]?.string)
            let cancelled = try await call(.post, "/v1/jobs/\(queued)/cancel")
            #expect(cancelled.status == .ok)
            #expect(cancelled.json?["state"]?.string == "cancelled")
            #expect(try await call(.post, "/v1/jobs/\(Job.ID())/cancel").problem == .notFound)
            #expect(try await call(.post, "/v1/jobs/nonsense/cancel").problem == .notFound)
        }
    }

    // Proves: SEC-41.
    @Test func `no tenant sees another's job`() async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "other", tenant: "other")
        let other: HTTPFields = [.authorization: "Bearer \(token.revealed)"]
        try await server.test { call async throws in
            let id = try #require(try await call(.post, "/v1/jobs", body: Self.spec).json?["id"]?.string)
            for (method, path) in [(HTTPRequest.Method.get, ""), (.get, "/body"), (.head, "/body"), (.post, "/cancel")]
            {
                #expect(try await call(method, "/v1/jobs/\(id)\(path)", headers: other).status == .notFound)
            }
            #expect(try await call(.get, "/v1/jobs", headers: other).json?["data"]?.count == 0)
        }
    }

    // Proves: REL-8.
    @Test func `an unreachable database is 503 with a time to come back`() async throws {
        let server = try await TestServer()
        server.jobs.fail(with: StoreError(.unavailable, "host db.internal did not answer"))
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", body: Self.spec)
            #expect(answer.problem == .databaseUnavailable)
            #expect(answer.headers[.retryAfter] == "1")
            #expect(!answer.text.contains("db.internal"))
        }
    }
}
