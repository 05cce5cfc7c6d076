import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Answers that are not sent again to a client that has them.
@Suite struct ConditionTests {
    /// Reads a path, again with its tag, and once more after a change.
    private func check(_ call: TestCalls, _ path: String, _ change: () async throws -> Void) async throws {
        let first = try await call(.get, path)
        let tag = try #require(first.headers[.eTag], "\(path)")
        for known in [tag, "\"x\", \(tag)", "*"] {
            for method in [HTTPRequest.Method.get, .head] {
                let same = try await call(method, path, headers: [.ifNoneMatch: known])
                #expect(same.status == .notModified && same.bytes.isEmpty, "\(path) \(known)")
                #expect(same.headers[.eTag] == tag && same.headers[.cacheControl] == first.headers[.cacheControl])
            }
        }
        let other = try await call(.get, path, headers: [.ifNoneMatch: "\"x\""])
        #expect(other.status == .ok && other.bytes == first.bytes)
        try await change()
        let changed = try await call(.get, path, headers: [.ifNoneMatch: tag])
        #expect(changed.status == .ok && changed.headers[.eTag] != tag, "\(path)")
    }

    @Test func `a job is sent again when it has changed, or runs`() async throws {
        let server = try await TestServer()
        let job = try await server.queueJob()
        let path = "/v1/jobs/\(job)"
        try await server.test { call in
            try await check(call, path) { () async throws in
                #expect(try await call(.patch, path, body: #"{"labels": {"a": "b"}}"#).status == .ok)
            }
            // A session may change, and the job's tag does not tell.
            let explained = "\(path)?include=effectiveConfiguration"
            let tag = try #require(try await call(.get, explained).headers[.eTag])
            #expect(try await call(.get, explained, headers: [.ifNoneMatch: tag]).status == .ok)
            // How far a running job is, its tag does not tell either.
            server.jobs.change(job) { ($0.state, $0.startedAt) = (.running, .now) }
            let running = try #require(try await call(.get, path).headers[.eTag])
            #expect(try await call(.get, path, headers: [.ifNoneMatch: running]).status == .ok)
            server.jobs.finish(job, .failed)
            let final = try #require(try await call(.get, path).headers[.eTag])
            #expect(try await call(.get, path, headers: [.ifNoneMatch: final]).status == .notModified)
        }
    }

    @Test func `lists, sessions and other answers in JSON have a tag of their content`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let session = try #require(try await call(.post, "/v1/sessions", body: "{}").headers[.location])
            try await check(call, "/v1/jobs?limit=5") { _ = try await server.queueJob() }
            try await check(call, "/v1/sessions") { _ = try await call(.post, "/v1/sessions", body: "{}") }
            try await check(call, session) { () async throws in
                #expect(try await call(.post, "\(session)/invalidate").status.kind == .successful)
            }
            try await check(call, "/v1/webhooks/endpoints") { () async throws in
                let body = #"{"url": "https://a.example/"}"#
                #expect(try await call(.post, "/v1/webhooks/endpoints", body: body).status == .created)
            }
        }
    }

    @Test func `what has a version is sent again when anything of it has changed, and is changed by its version`()
        async throws
    {
        let server = try await TestServer()
        try await server.test { call in
            let body = #"{"interval": 60, "job": {"request": "https://a.example/"}}"#
            let schedule = try #require(try await call(.post, "/v1/schedules", body: body).headers[.location])
            let endpoint = #"{"url": "https://hooks.example/x"}"#
            let made = try await call(.post, "/v1/webhooks/endpoints", body: endpoint)
            #expect(made.headers[.eTag] == "\"1\"")
            let place = try #require(made.headers[.location])
            for (path, change) in [(schedule, #"{"interval": 30}"#), (place, #"{"url": "https://hooks.example/y"}"#)] {
                try await check(call, path) { () async throws in
                    #expect(try await call(.patch, path, body: change).status == .ok)
                }
            }
            // As when its times have gone on: the answer is another one, and the version is not.
            let first = try #require(try await call(.get, schedule).headers[.eTag])
            let other = try #require(try await call(.get, "\(schedule)?preview=2").headers[.eTag])
            #expect(first != other)
            #expect(try await call(.patch, schedule, headers: [.ifMatch: other], body: "{}").status == .ok)
            let late = try await call(.patch, schedule, headers: [.ifMatch: first], body: "{}")
            #expect(late.problem == .preconditionFailed)
            #expect(try await call(.patch, schedule, headers: [.ifMatch: "\"3\""], body: "{}").status == .ok)
        }
    }

    @Test func `an archive, and the version of the service, are sent once`() async throws {
        let server = try await TestServer()
        let job = try await server.queueJob()
        try await server.test { call in
            try await check(call, "/v1/jobs/\(job)/har") { () async throws in
                server.jobs.change(job) { job in
                    let metrics = RawJSON(Array(#"[{"url":"https://a.example/","duration":1}]"#.utf8))
                    job.attempts = [
                        Job.Attempt(
                            number: 1, startedAt: .now, finishedAt: .now, state: .failed, errorName: nil,
                            metrics: metrics)
                    ]
                }
            }
            let version = try await call(.get, "/version")
            let tag = try #require(version.headers[.eTag])
            #expect(try await call(.get, "/version", headers: [.ifNoneMatch: tag]).status == .notModified)
        }
    }

    @Test func `what is no answer to GET, or no success, has no tag`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            #expect(try await call(.post, "/v1/sessions", body: "{}").headers[.eTag] == nil)
            let missing = try await call(.get, "/v1/sessions/\(TenantSession.ID())", headers: [.ifNoneMatch: "*"])
            #expect(missing.problem == .notFound && missing.headers[.eTag] == nil)
            let refused = try await call(.get, "/v1/jobs", headers: [.authorization: "", .ifNoneMatch: "*"])
            #expect(refused.problem == .unauthorized)
        }
    }
}
