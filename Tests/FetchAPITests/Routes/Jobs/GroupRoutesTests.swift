import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct GroupRoutesTests {
    private static let path = "/v1/groups"

    private func made(_ call: TestCalls) async throws -> (place: String, id: String) {
        let made = try await call(.post, Self.path, body: #"{"labels":{"import":"7"}}"#)
        return (try #require(made.headers[.location]), try #require(made.json?["id"]?.string))
    }

    @Test func `jobs join a group until it is closed`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let (place, id) = try await made(call)
            let body = #"{"request":"https://a.example/","group":"\#(id)"}"#
            let first = try await call(.post, "/v1/jobs", body: body)
            #expect(first.status == .accepted)
            let lines: HTTPFields = [.contentType: "application/x-ndjson"]
            let batch = try await call(.post, "/v1/jobs/batch", headers: lines, body: "\(body)\n\(body)")
            #expect(batch.text.split(separator: "\n").count == 2 && !batch.text.contains("problem"))
            let open = try await call(.get, place)
            #expect(open.json?["state"]?.string == "open" && open.json?["labels"]?["import"]?.string == "7")
            #expect(open.json?["jobs"]?["total"]?.integer == 3 && open.json?["jobs"]?["queued"]?.integer == 3)
            #expect(try await call(.get, "/v1/jobs?group=\(id)&limit=2").json?["data"]?.count == 2)

            let closed = try await call(.post, "\(place)/close")
            #expect(closed.status == .accepted && closed.json?["state"]?.string == "closed")
            #expect(try await call(.delete, place).problem == .groupNotFinished)
            let order = #"{"action":"cancel","filter":{"group":"\#(id)"}}"#
            #expect(try await call(.post, "/v1/jobs/actions", body: order).json?["changed"]?.integer == 3)
            // A node sees that its jobs have ended.
            try await server.groups.settle()
            let finished = try await call(.post, "\(place)/close")
            #expect(finished.status == .ok && finished.json?["state"]?.string == "finished")
            #expect(finished.json?["jobs"]?["cancelled"]?.integer == 3)
            #expect(try await call(.delete, place).status == .noContent)
            #expect(try await call(.get, place).problem == .notFound)
            #expect(try await call(.post, "/v1/jobs", body: body).json?["errors"]?[0]?["pointer"]?.string == "/group")
        }
    }

    @Test func `a group is made once for a key, and listed`() async throws {
        try await TestServer().test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k"]
            let first = try await call(.post, Self.path, headers: key, body: "{}")
            let again = try await call(.post, Self.path, headers: key, body: "{}")
            #expect(again.bytes == first.bytes && again.headers[.idempotencyReplayed] == "true")
            let other = try await call(.post, Self.path, headers: key, body: #"{"labels":{"a":"b"}}"#)
            #expect(other.problem == .idempotencyKeyReused)
            let (_, second) = try await made(call)
            let page = try await call(.get, "\(Self.path)?limit=1")
            #expect(page.json?["data"]?[0]?["id"]?.string == second && page.json?["hasMore"]?.bool == true)
        }
    }

    @Test(arguments: [
        (#"{"webhook":{"endpoint":"whe_01jd3v8m5qf0t8n4r6w2y9bcde"}}"#, "/webhook/endpoint"),
        (#"{"name":"x"}"#, "/name"), (#"{"labels":{"a":1}}"#, "/labels/a"),
    ])
    func `a group that breaks a rule is refused`(body: String, pointer: String) async throws {
        try await TestServer().test { call async throws in
            let refused = try await call(.post, Self.path, body: body)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, Self.path).json?["data"]?.count == 0)
        }
    }

    @Test func `who belongs to a group is stored, so an ephemeral session has none of it`() async throws {
        try await TestServer().test { call async throws in
            let session = try await call(.post, "/v1/sessions", body: #"{"kind":"ephemeral"}"#)
            let (_, id) = try await made(call)
            let name = try #require(session.json?["id"]?.string)
            let body = #"{"request":"https://a.example/","session":"\#(name)","group":"\#(id)"}"#
            #expect(try await call(.post, "/v1/jobs", body: body).json?["errors"]?[0]?["pointer"]?.string == "/group")
        }
    }
}
