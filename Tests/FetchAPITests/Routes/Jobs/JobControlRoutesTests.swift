import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct JobControlRoutesTests {
    private static let spec = #"{"request":{"url":"https://origin.example/a?b=c"},"labels":{"a":"1","b":"2"}}"#

    private func submitted(_ call: TestCalls) async throws -> String {
        try #require(try await call(.post, "/v1/jobs", body: Self.spec).json?["id"]?.string)
    }

    private func patch(
        _ call: TestCalls,
        _ id: String,
        _ body: String,
        headers: HTTPFields = [:]
    ) async throws -> TestAnswer {
        var headers = headers
        headers[.contentType] = "application/merge-patch+json"
        return try await call(.patch, "/v1/jobs/\(id)", headers: headers, body: body)
    }

    @Test func `a patch sets, replaces and takes away`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let id = try await submitted(call)
            let changed = try await patch(call, id, #"{"priority": 1, "labels": {"a": "3", "b": null, "c": "4"}}"#)
            #expect(changed.status == .ok)
            #expect(changed.text.contains(#""labels":{"a":"3","c":"4"}"#))
            #expect(changed.text.contains(#""priority":1"#))
            let time = #"{"runAt": "2999-01-01T00:00:00Z"}"#
            #expect(try await patch(call, id, time).json?["runAt"]?.string == "2999-01-01T00:00:00.000Z")
            #expect(try await patch(call, id, #"{"runAt": null}"#).json?["runAt"] == nil)
            for wrong in [#"{"priority": 2}"#, #"{"labels": {"": "x"}}"#, #"{"kind": "data"}"#, #"{"runAt": 1}"#] {
                #expect(try await patch(call, id, wrong).problem == .invalidInput)
            }
        }
    }

    @Test func `a patch is made only of the job that its sender knows`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let id = try await submitted(call)
            let tag = try #require(try await call(.get, "/v1/jobs/\(id)").headers[.eTag])
            let first = try await patch(call, id, #"{"priority": 1}"#, headers: [.ifMatch: tag])
            #expect(first.status == .ok && first.headers[.eTag] != tag)
            let late = try await patch(call, id, #"{"priority": 0}"#, headers: [.ifMatch: tag])
            #expect(late.problem == .preconditionFailed)
            let now = try #require(first.headers[.eTag])
            #expect(try await patch(call, id, #"{"priority": 0}"#, headers: [.ifMatch: now]).status == .ok)
            #expect(try await patch(call, id, #"{"priority": 0}"#, headers: [.ifMatch: "*"]).status == .ok)
        }
    }

    @Test func `only what still matters can be changed`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let id = try await submitted(call)
            let job = try #require(Job.ID(id))
            server.jobs.change(job) { $0.state = .running }
            #expect(try await patch(call, id, #"{"runAt": null}"#).problem == .jobNotWaiting)
            #expect(try await patch(call, id, #"{"priority": 1}"#).status == .ok)
            server.jobs.change(job) { $0.state = .failed }
            #expect(try await patch(call, id, #"{"priority": 0.1}"#).problem == .jobNotWaiting)
            #expect(try await patch(call, id, #"{"labels": {"z": "9"}}"#).status == .ok)
        }
    }

    // R8, R9
    @Test func `a final job can be deleted, and no other`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let id = try await submitted(call)
            #expect(try await call(.delete, "/v1/jobs/\(id)").problem == .jobNotFinal)
            server.jobs.finish(try #require(Job.ID(id)))
            #expect(try await call(.delete, "/v1/jobs/\(id)").status == .noContent)
            #expect(try await call(.get, "/v1/jobs/\(id)").problem == .notFound)
            #expect(try await call(.delete, "/v1/jobs/\(id)").problem == .notFound)
        }
    }

    @Test func `what failed runs again, and nothing else does`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let id = try await submitted(call)
            let job = try #require(Job.ID(id))
            #expect(try await call(.post, "/v1/jobs/\(id)/retry").problem == .jobNotFinal)
            server.jobs.finish(job, .failed)
            let again = try await call(.post, "/v1/jobs/\(id)/retry")
            #expect(again.status == .accepted && again.json?["state"]?.string == "queued")
            server.jobs.finish(job, .succeeded)
            #expect(try await call(.post, "/v1/jobs/\(id)/retry").problem == .jobNotRetriable)
        }
    }

    @Test(arguments: ["suspend", "resume", "retry", "cancel"])
    func `nothing is done to jobs that are not there`(action: String) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            #expect(try await call(.post, "/v1/jobs/\(Job.ID())/\(action)").problem == .notFound)
            #expect(try await call(.post, "/v1/jobs/nonsense/\(action)").problem == .notFound)
        }
    }
}
