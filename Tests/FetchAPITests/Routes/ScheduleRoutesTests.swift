import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct ScheduleRoutesTests {
    private static let path = "/v1/schedules"
    private static let body =
        #"{"cron":"30 8 * * mon-fri","timeZone":"Europe/Berlin","job":{"request":"https://a.example/"}}"#

    private func made(_ call: TestCalls, _ body: String = body) async throws -> String {
        try #require(try await call(.post, Self.path, body: body).headers[.location])
    }

    @Test func `a schedule is made, read with its next times, listed and removed`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let made = try await call(.post, Self.path, body: Self.body)
            #expect(made.status == .created && made.headers[.eTag]?.hasPrefix("\"1-") == true)
            let place = try #require(made.headers[.location])
            let found = try await call(.get, "\(place)?preview=3")
            #expect(found.json?["state"]?.string == "active" && found.json?["missedRuns"]?.string == "runOnce")
            #expect(found.json?["nextRuns"]?.count == 3)
            #expect(found.json?["nextRuns"]?[0] == found.json?["nextRunAt"])
            #expect(try await call(.get, "\(place)?preview=101").problem == .invalidParameter)
            let second = try await self.made(call)
            let page = try await call(.get, "\(Self.path)?limit=1")
            #expect(page.json?["data"]?[0]?["id"]?.string == String(second.dropFirst(14)))
            let cursor = try #require(page.json?["nextCursor"]?.string)
            let rest = try await call(.get, "\(Self.path)?limit=1&cursor=\(cursor)")
            #expect(rest.json?["data"]?[0]?["id"] == made.json?["id"] && rest.json?["hasMore"]?.bool == false)
            let (other, token) = try await server.keys.create(name: "other", tenant: "other")
            _ = other
            let stranger: HTTPFields = [.authorization: "Bearer \(token.revealed)"]
            for method in [HTTPRequest.Method.get, .delete] {
                #expect(try await call(method, place, headers: stranger).problem == .notFound)
            }
            #expect(try await call(.delete, place).status == .noContent)
            #expect(try await call(.get, place).problem == .notFound)
        }
    }

    @Test func `a repeat with its key makes nothing more`() async throws {
        try await TestServer().test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k"]
            let first = try await call(.post, Self.path, headers: key, body: Self.body)
            let again = try await call(.post, Self.path, headers: key, body: Self.body)
            #expect(again.bytes == first.bytes && again.headers[.idempotencyReplayed] == "true")
            let other = Self.body.replacing("30 8", with: "31 8")
            #expect(try await call(.post, Self.path, headers: key, body: other).problem == .idempotencyKeyReused)
        }
    }

    @Test func `a tenant has a thousand schedules at most, however they are made`() async throws {
        let server = try await TestServer()
        let spec = try ScheduleSpec(json: JSONParser.parse(Self.body.utf8))
        for _ in 1..<1000 {
            _ = try await server.schedules.create(Schedule(tenant: server.key.tenant, spec: spec), nil)
        }
        try await server.test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k"]
            let last = try await call(.post, Self.path, headers: key, body: Self.body)
            #expect(last.status == .created)
            let refused = try await call(.post, Self.path, body: Self.body)
            #expect(refused.problem == .invalidInput)
            #expect(refused.text.contains("the 1000 that a tenant may have"), "\(refused.text)")
            #expect(try await call(.post, Self.path, headers: key, body: Self.body).bytes == last.bytes)
            let cron: HTTPFields = [try #require(HTTPField.Name("Upstash-Cron")): "0 0 1 1 *"]
            let message = try await call(.post, "/v2/schedules/https://a.example/", headers: cron, body: "x")
            #expect(message.status == .badRequest, "\(message.text)")
            #expect(message.text.contains("the 1000 that a tenant may have"), "\(message.text)")
            let place = try #require(last.headers[.location])
            #expect(try await call(.delete, place).status == .noContent)
            #expect(try await call(.post, Self.path, body: Self.body).status == .created)
        }
    }

    @Test func `a schedule is changed in part, and not over a change that the client has not seen`() async throws {
        try await TestServer().test { call async throws in
            let place = try await made(call)
            let patch = #"{"cron":null,"timeZone":null,"interval":60,"job":{"priority":1}}"#
            let changed = try await call(.patch, place, headers: [.ifMatch: "\"1\""], body: patch)
            #expect(changed.json?["interval"]?.integer == 60 && changed.json?["cron"] == nil)
            #expect(changed.json?["job"]?["request"]?["url"]?.string == "https://a.example/")
            #expect(changed.headers[.eTag]?.hasPrefix("\"2-") == true)
            let late = try await call(.patch, place, headers: [.ifMatch: "\"1\""], body: #"{"interval":30}"#)
            #expect(late.problem == .preconditionFailed)
            let refused = try await call(.patch, place, body: #"{"job":{"kind":"x"}}"#)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == "/job/kind")
            #expect(try await call(.patch, place, body: "[]").problem == .invalidInput)
            #expect(try await call(.get, place).bytes == changed.bytes)
        }
    }

    @Test func `a job of more than 128 KiB is refused where a schedule is made or changed`() async throws {
        try await TestServer().test { call async throws in
            let place = try await made(call)
            let text = String(repeating: "x", count: 131_072)
            let job = #""job":{"request":{"url":"https://a.example/","method":"POST","body":{"text":"\#(text)"}}}"#
            for answer in [
                try await call(.post, Self.path, body: #"{"interval":60,\#(job)}"#),
                try await call(.patch, place, body: "{\(job)}"),
            ] {
                #expect(answer.problem == .invalidInput)
                #expect(answer.json?["errors"]?[0]?["pointer"]?.string == "/job")
            }
        }
    }

    @Test func `a schedule is paused and goes on`() async throws {
        try await TestServer().test { call async throws in
            let place = try await made(call)
            let paused = try await call(.post, "\(place)/pause")
            #expect(paused.json?["state"]?.string == "paused" && paused.json?["nextRunAt"] == nil)
            #expect(paused.json?["nextRuns"]?.count == 0)
            #expect(try await call(.post, "\(place)/pause").json?["pausedAt"] == paused.json?["pausedAt"])
            let resumed = try await call(.post, "\(place)/resume")
            #expect(resumed.json?["state"]?.string == "active" && resumed.json?["nextRunAt"] != nil)
        }
    }

    @Test func `a schedule runs when its client says so, once for a key`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let place = try await made(call)
            let key: HTTPFields = [.idempotencyKey: "k"]
            let run = try await call(.post, "\(place)/run", headers: key)
            #expect(run.status == .accepted)
            let again = try await call(.post, "\(place)/run", headers: key)
            #expect(again.json?["id"] == run.json?["id"] && again.headers[.idempotencyReplayed] == "true")
            let job = try await call(.get, try #require(run.headers[.location]))
            #expect(job.json?["schedule"]?.string == String(place.dropFirst(14)) && job.json?["scheduledAt"] == nil)
            let listed = try await call(.get, "/v1/jobs?schedule=\(place.dropFirst(14))")
            #expect(listed.json?["data"]?.count == 1)
            #expect(try await call(.get, "/v1/jobs?schedule=\(Schedule.ID())").json?["data"]?.count == 0)
            let schedule = try await call(.get, place)
            #expect(schedule.json?["lastJob"] == run.json?["id"] && schedule.json?["runs"]?.integer == 1)
        }
    }

    @Test func `what a schedule names must be there and last`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let ephemeral = try await call(.post, "/v1/sessions", body: #"{"kind":"ephemeral"}"#)
            let session = try #require(ephemeral.json?["id"]?.string)
            for (member, pointer) in [
                (#""session":"\#(session)""#, "/job/session"), (#""session":"\#(TenantSession.ID())""#, "/job/session"),
                (#""webhook":{"endpoint":"\#(WebhookEndpoint.ID())"}"#, "/job/webhook/endpoint"),
            ] {
                let body = #"{"interval":60,"job":{"request":"https://a.example/",\#(member)}}"#
                let refused = try await call(.post, Self.path, body: body)
                #expect(refused.problem == .invalidInput)
                #expect(refused.json?["errors"]?[0]?["pointer"]?.string == pointer)
            }
            let endpoint = try await call(.post, "/v1/webhooks/endpoints", body: #"{"url":"https://hooks.example/"}"#)
            let id = try #require(endpoint.json?["id"]?.string)
            let job = #"{"request":"https://a.example/","webhook":{"endpoint":"\#(id)"}}"#
            let place = try await made(call, #"{"interval":60,"job":\#(job)}"#)
            #expect(try await call(.delete, "/v1/webhooks/endpoints/\(id)").status == .noContent)
            let run = try await call(.post, "\(place)/run")
            #expect(run.problem == .scheduleNotRunnable)
            #expect(run.json?["detail"]?.string == "/job/webhook/endpoint is not an endpoint of yours")
        }
    }
}
