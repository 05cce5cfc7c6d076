import FetchEngine
import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct WebhookRoutesTests {
    private let path = "/v1/webhooks/endpoints"

    private func made(_ call: TestCalls) async throws -> (place: String, secret: String) {
        let made = try await call(.post, path, body: #"{"url":"https://hooks.example/x"}"#)
        return (try #require(made.headers[.location]), try #require(made.json?["secret"]?.string))
    }

    @Test func `an endpoint is changed in part, and not over a change that the client has not seen`() async throws {
        try await TestServer().test { call async throws in
            let (place, _) = try await made(call)
            let seen = try #require(try await call(.get, place).headers[.eTag])
            let changed = try await call(
                .patch, place, headers: [.ifMatch: seen], body: #"{"events":["session.invalidated"],"enabled":false}"#)
            #expect(changed.json?["url"]?.string == "https://hooks.example/x")
            #expect(changed.json?["events"]?[0]?.string == "session.invalidated")
            #expect(changed.json?["enabled"]?.bool == false)
            #expect(changed.json?["disabledReason"]?.string == "requested")
            #expect(!changed.text.contains("whsec_"))
            let late = try await call(.patch, place, headers: [.ifMatch: seen], body: #"{"enabled":true}"#)
            #expect(late.problem == .preconditionFailed)
            let tag = try #require(changed.headers[.eTag])
            let enabled = try await call(
                .patch, place, headers: [.ifMatch: "\"other\", \(tag)"], body: #"{"enabled":true}"#)
            #expect(enabled.json?["enabled"]?.bool == true && enabled.json?["disabledAt"] == nil)
            #expect(try await call(.patch, place, headers: [.ifMatch: "*"], body: "{}").status == .ok)
        }
    }

    @Test func `an endpoint that is polled has no URL, gets none, and is asked nothing`() async throws {
        try await TestServer().test { call async throws in
            let made = try await call(.post, path, body: #"{"polled": true}"#)
            let place = try #require(made.headers[.location])
            #expect(made.json?["polled"]?.bool == true && made.json?["url"] == nil)
            #expect(try await call(.get, "\(place)/events").json?["data"]?.count == 0)
            for (body, pointer) in [
                (#"{"url": "https://hooks.example/x"}"#, "/url"),
                (#"{"serverTrust": {"policy": "insecure"}}"#, "/serverTrust/policy"),
            ] {
                let refused = try await call(.patch, place, body: body)
                #expect(refused.json?["errors"]?[0]?["pointer"]?.string == pointer, "\(refused.text)")
            }
            let both = try await call(.post, path, body: #"{"polled": true, "url": "https://hooks.example/x"}"#)
            #expect(both.json?["errors"]?[0]?["pointer"]?.string == "/url")
            let neither = try await call(.post, path, body: #"{"polled": false}"#)
            #expect(neither.json?["errors"]?[0]?["pointer"]?.string == "/url")
            // Nothing asks it.
            let id = try #require(made.json?["id"]?.string)
            let delegate = #"{"via": "webhook", "endpoint": "\#(id)", "questions": ["willPerformHTTPRedirection"]}"#
            let asking = try await call(
                .post, "/v1/jobs",
                body: #"{"request": "https://a.example/", "configuration": {"delegate": \#(delegate)}}"#)
            #expect(asking.json?["errors"]?[0]?["pointer"]?.string == "/configuration/delegate/endpoint")
            let (sent, _) = try await self.made(call)
            let none = try await call(.get, "\(sent)/events")
            #expect(none.problem == .notFound && none.text.contains("only polled ones"), "\(none.text)")
            let stream: HTTPFields = [.accept: "text/event-stream", .lastEventID: "evt_x"]
            #expect(try await call(.get, "\(place)/events", headers: stream).problem == .invalidParameter)
        }
    }

    @Test func `endpoints are listed in pages, the oldest first`() async throws {
        try await TestServer().test { call async throws in
            var ids: [String] = []
            for _ in 0..<3 { ids.append(String(try await made(call).place.dropFirst(path.count + 1))) }
            var (seen, uri): ([[String]], String?) = ([], "\(path)?limit=2")
            while let next = uri {
                let page = try await call(.get, next)
                let count = page.json?["data"]?.count ?? 0
                seen.append((0..<count).compactMap { page.json?["data"]?[$0]?["id"]?.string })
                #expect(!page.text.contains("whsec_"))
                uri = page.headers[.link].map { String($0.dropFirst().prefix { $0 != ">" }) }
            }
            #expect(seen == [[ids[0], ids[1]], [ids[2]]])
        }
    }

    @Test func `a tenant has a thousand endpoints at most, however they are made`() async throws {
        let server = try await TestServer()
        for _ in 1..<1000 {
            try await server.webhooks.add(
                WebhookEndpoint(tenant: server.key.tenant, url: nil, events: WebhookEvent.ends))
        }
        try await server.test { call async throws in
            let (key, body): (HTTPFields, String) = ([.idempotencyKey: "k"], #"{"url":"https://hooks.example/x"}"#)
            let last = try await call(.post, path, headers: key, body: body)
            #expect(last.status == .created)
            let refused = try await call(.post, path, body: body)
            #expect(refused.problem == .invalidInput)
            #expect(refused.json?["detail"]?.string?.contains("the 1000 that a tenant may have") == true)
            #expect(try await call(.post, path, headers: key, body: body).bytes == last.bytes)
            func submit(_ url: String) async throws -> TestAnswer {
                try await call(
                    .post, "/v1/jobs", body: #"{"request": "https://a.example/", "webhook": {"url": "\#(url)"}}"#)
            }
            let new = "https://hooks.example/new"
            #expect(try await submit("https://hooks.example/x").status == .accepted)
            #expect(try await submit(new).json?["errors"]?[0]?["pointer"]?.string == "/webhook/url")
            let place = try #require(last.headers[.location])
            #expect(try await call(.delete, place).status == .noContent)
            #expect(try await submit(new).status == .accepted)
            #expect(try await call(.post, path, body: body).problem == .invalidInput)
        }
    }

    // Proves: SEC-35.
    @Test(arguments: [
        (#"{"url":"http://127.0.0.1/"}"#, "/url"), (#"{"url":"https://u:p@hooks.example/"}"#, "/url"),
        (#"{"events":[]}"#, "/events"), (#"{"enabled":1}"#, "/enabled"), (#"{"secret":"x"}"#, "/secret"),
        ("[]", ""),
    ])
    func `a change that breaks a rule changes nothing`(body: String, pointer: String) async throws {
        try await TestServer().test { call async throws in
            let (place, _) = try await made(call)
            let before = try await call(.get, place)
            let refused = try await call(.patch, place, body: body)
            #expect(refused.problem == .invalidInput)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, place).bytes == before.bytes)
            #expect(try await call(.patch, "\(path)/whe_x", body: "{}").problem == .notFound)
        }
    }

    // Proves: SEC-36.
    @Test func `a rotation shows its secret, and again to a repeat with its key`() async throws {
        try await TestServer().test { call async throws in
            let (place, first) = try await made(call)
            let key: HTTPFields = [.idempotencyKey: "r"]
            let rotated = try await call(.post, place + "/rotate", headers: key)
            let second = try #require(rotated.json?["secret"]?.string)
            #expect(second != first && rotated.json?["previousSecretUntil"] != nil)
            let repeated = try await call(.post, place + "/rotate", headers: key)
            #expect(repeated.bytes == rotated.bytes && repeated.headers[.idempotencyReplayed] == "true")
            let other = try await call(.post, place + "/rotate", headers: key, body: #"{"overlap":1}"#)
            #expect(other.problem == .idempotencyKeyReused)
            let third = try await call(.post, place + "/rotate", body: #"{"overlap":0}"#)
            #expect(third.json?["secret"]?.string != second && third.json?["previousSecretUntil"] == nil)
            for body in [#"{"overlap":-1}"#, #"{"overlap":604801}"#, #"{"overlap":"1"}"#] {
                #expect(try await call(.post, place + "/rotate", body: body).problem == .invalidInput)
            }
        }
    }
}

@Suite struct DeliveryRoutesTests {
    private let path = "/v1/webhooks/deliveries"

    /// Deliveries that were given up, to one endpoint.
    private func failed(_ count: Int, _ server: TestServer) async throws -> (WebhookEndpoint, [WebhookDelivery.ID]) {
        let endpoint = WebhookEndpoint(
            tenant: server.key.tenant, url: try .init("https://hooks.example/"), events: [.jobFinished])
        try await server.webhooks.add(endpoint)
        let ids = (0..<count).map { _ in WebhookDelivery.ID() }
        for id in ids {
            let delivery = WebhookDelivery(
                id: id, tenant: endpoint.tenant, endpoint: endpoint.id, subject: .job(Job.ID()), event: .jobFinished,
                createdAt: .now, attempts: 1, failures: 1)
            var stored = StoredDelivery(delivery, state: .abandoned, nextAttemptAt: .now)
            stored.attempts = [
                DeliveryAttempt(
                    number: 1, startedAt: .now, duration: .milliseconds(5), url: "https://hooks.example/",
                    requestHeaders: .array { _ in }, result: .error(name: "timedOut"))
            ]
            server.webhooks.put(stored)
        }
        return (endpoint, ids)
    }

    @Test func `deliveries are listed in pages, the newest first, and shown whole`() async throws {
        let server = try await TestServer()
        let (endpoint, ids) = try await failed(3, server)
        try await server.test { call async throws in
            var seen: [String] = []
            var uri: String? = "\(path)?limit=2&endpoint=\(endpoint.id)&state=abandoned&since=2026-01-01T00:00:00Z"
            while let next = uri {
                let page = try await call(.get, next)
                for index in 0..<(page.json?["data"]?.count ?? 0) {
                    seen.append(page.json?["data"]?[index]?["id"]?.string ?? "")
                }
                uri = page.headers[.link].map { String($0.dropFirst().prefix { $0 != ">" }) }
            }
            #expect(seen == ids.sorted(by: >).map(\.description))
            let whole = try await call(.get, "\(path)/\(ids[0])")
            #expect(whole.json?["attempts"]?[0]?["error"]?.string == "timedOut")
            #expect(whole.json?["nextAttemptAt"] == nil)
            for query in ["state=x", "endpoint=x", "job=ses_1", "event=x", "since=today", "cursor=x", "other=1"] {
                #expect(try await call(.get, "\(path)?\(query)").problem == .invalidParameter)
            }
            #expect(try await call(.get, "\(path)/evt_x").problem == .notFound)
        }
    }

    @Test func `what failed is replayed, one or all since a time, unless its endpoint is disabled`() async throws {
        let server = try await TestServer()
        let (endpoint, ids) = try await failed(3, server)
        try await server.test { call async throws in
            let one = try await call(.post, "\(path)/\(ids[0])/replay")
            #expect(one.status == .accepted && one.json?["state"]?.string == "pending")
            let body = #"{"endpoint":"\#(endpoint.id)","since":"2026-01-01T00:00:00Z"}"#
            let all = try await call(.post, "\(path)/replay", body: body)
            #expect(all.status == .accepted && all.json?["replayed"]?.integer == 2)
            #expect(try await call(.post, "\(path)/replay", body: body).json?["replayed"]?.integer == 0)
            _ = try await call(.patch, "/v1/webhooks/endpoints/\(endpoint.id)", body: #"{"enabled":false}"#)
            #expect(try await call(.post, "\(path)/\(ids[0])/replay").problem == .deliveryNotReplayable)
            #expect(try await call(.post, "\(path)/replay", body: body).problem == .deliveryNotReplayable)
            let unknown = #"{"endpoint":"\#(WebhookEndpoint.ID())","since":"2026-01-01T00:00:00Z"}"#
            #expect(try await call(.post, "\(path)/replay", body: unknown).problem == .invalidInput)
            #expect(try await call(.post, "\(path)/replay", body: "{}").problem == .invalidInput)
        }
    }
}
