import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Sessions through the API.
@Suite struct SessionTests {
    private func make(_ service: ServiceProcess, _ body: String) async throws -> String {
        let answer = try await service.request(.post, "/v1/sessions", body: body)
        try #require(answer.status == 201, "\(answer.text)")
        return try #require(member(answer.json, "id", as: String.self))
    }

    /// An origin that answers when the gate is open, and says when it was asked.
    private func gated(_ gate: Gate) throws -> (WireOrigin, AsyncStream<Void>) {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                arrival.yield()
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        return (origin, arrivals)
    }

    private func submit(_ service: ServiceProcess, _ url: String, in session: String) async throws -> String {
        let body = #"{"session": "\#(session)", "request": {"url": "\#(url)"}}"#
        let answer = try await service.request(.post, "/v1/jobs", body: body)
        try #require(answer.status == 202, "\(answer.text)")
        return try #require(member(answer.json, "id", as: String.self))
    }

    // Proves: BEY-32.
    @Test func `the fields of a session are for requests that have none of the name`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            func fields(_ list: String) -> String { #"{"configuration": {"request": {"headers": [\#(list)]}}}"# }
            let session = try await make(
                service,
                fields(
                    #"{"name": "User-Agent", "value": "mine"}, {"name": "Accept-Language", "value": "de"}, "#
                        + #"{"name": "Accept-Encoding", "value": "identity"}"#))
            _ = try await service.fetch(
                origin.url("/f"), request: #", "headers": [{"name": "accept-language", "value": "fr"}]"#,
                more: #", "session": "\#(session)""#)
            let head = origin.received().lowercased()
            #expect(head.contains("user-agent: mine\r\n") && head.contains("accept-encoding: identity\r\n"))
            #expect(head.contains("accept-language: fr\r\n") && !head.contains(": de\r\n"))
            for name in ["Authorization", "X-Api-Key", "Cookie", "Host"] {
                let refused = try await service.request(
                    .post, "/v1/sessions", body: fields(#"{"name": "\#(name)", "value": "secret"}"#))
                #expect(refused.status == 422 && refused.text.contains("headerForbidden"), "\(refused.text)")
                #expect(!refused.text.contains("secret"))
            }
        }
    }

    // Proves: BEY-21.
    @Test func `a session that is reset has no cookie, cached answer or credential left, and others have theirs`()
        async throws
    {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let (session, other) = (try await make(service, "{}"), try await make(service, "{}"))
            for id in [session, other] {
                _ = try await service.fetch(origin.url("/f"), more: #", "session": "\#(id)""#)
                let credential = try await service.request(
                    .post, "/v1/credentials",
                    body: #"{"session": "\#(id)", "persistence": "forSession", "#
                        + #""user": "u", "password": "p", "protectionSpace": "#
                        + #"{"host": "a.example", "port": 443, "protocol": "https", "authenticationMethod": "httpBasic"}}"#
                )
                #expect(credential.status == 201, "\(credential.text)")
            }
            func kept(_ id: String) async throws -> [Int] {
                var counts: [Int] = []
                for store in ["cookies", "cache", "credentials"] {
                    let list = try await service.request(.get, "/v1/\(store)?session=\(id)").json
                    counts.append(member(list, "data", as: [Any].self)?.count ?? -1)
                }
                return counts
            }
            #expect(try await kept(session) == [1, 1, 1])
            let reset = try await service.request(.post, "/v1/sessions/\(session)/reset")
            #expect(reset.status == 200, "\(reset.text)")
            for name in ["cookies", "cacheEntries", "credentials"] { #expect(member(reset.json, name) == 1, "\(name)") }
            #expect(try await kept(session) == [0, 0, 0])
            #expect(try await kept(other) == [1, 1, 1])
            _ = try await service.fetch(origin.url("/f"), more: #", "session": "\#(session)""#)
            #expect(origin.connections.indices.map { origin.received(on: $0) }.joined().ranges(of: "GET ").count == 3)
            #expect(!origin.connections.indices.contains { origin.received(on: $0).contains("Cookie: ") })
            let ephemeral = try await make(service, #"{"kind": "ephemeral"}"#)
            #expect(try await service.request(.post, "/v1/sessions/\(ephemeral)/reset").status == 404)
            #expect(try await service.request(.post, "/v1/sessions/ses_no/reset").status == 404)
            #expect(try await service.request(.post, "/v1/sessions/default/reset").status == 200)
        }
    }

    // The configuration is that of the session, for members that the job leaves out.
    // Proves: SES-1, SES-16, SES-18.
    @Test func `a job goes by its session where it says nothing itself`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await make(service, #"{"configuration": {"redirects": {"policy": "return", "maximum": 3}}}"#)
            let inherited = try await service.fetch(origin.url("/redirect/1"), more: #", "session": "\#(id)""#)
            #expect(member(inherited, "response", "status") == 302)
            let more = #", "session": "\#(id)", "configuration": {"redirects": {"policy": "follow"}}"#
            let overridden = try await service.fetch(origin.url("/redirect/1"), more: more)
            #expect(member(overridden, "response", "status") == 200)
            let path = "/v1/jobs/\(member(overridden, "id", as: String.self) ?? "")"
            let job = try await service.request(.get, path + "?include=effectiveConfiguration")
            let redirects = try #require(
                member(job.json, "effectiveConfiguration", "redirects", as: [String: Any].self))
            #expect(member(redirects, "policy", "from") == "job")
            #expect(member(redirects, "maximum", "from") == "session")
            #expect(member(redirects, "maximum", "value") == 3)
            #expect(member(redirects, "preserveMethod", "from") == "default")
            let session = try await service.request(.get, "/v1/sessions/\(id)?include=effectiveConfiguration")
            #expect(
                member(session.json, "effectiveConfiguration", "redirects", "policy", "from") == "session")
        }
    }

    // There is no way to change a session, and the default one is always there.
    // Proves: SES-19, SES-17, SES-2.
    @Test func `sessions do not change, and the default one stays`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let id = try await make(service, "{}")
            #expect(try await service.request(.patch, "/v1/sessions/\(id)", body: "{}").status == 405)
            let standard = try await service.request(.get, "/v1/sessions/default")
            #expect(member(standard.json, "kind") == "default")
            let answer = try await service.request(.post, "/v1/sessions/default/invalidate")
            #expect(member(answer.json, "code") == "sessionNotInvalidated")
            #expect(try await service.request(.delete, "/v1/sessions/\(id)").status == 409)
        }
    }

    // Proves: SES-20, LIF-2.
    @Test func `a session that finishes lets its job end and refuses new ones`() async throws {
        let gate = Gate()
        let (origin, arrivals) = try gated(gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await make(service, "{}")
            let job = try await submit(service, origin.url(), in: id)
            for await _ in arrivals { break }
            let finishing = try await service.request(.post, "/v1/sessions/\(id)/invalidate?mode=finish")
            #expect(finishing.status == 202)
            #expect(member(finishing.json, "state") == "finishing")
            let body = #"{"session": "\#(id)", "request": {"url": "\#(origin.url())"}}"#
            let refused = try await service.request(.post, "/v1/jobs", body: body)
            #expect(refused.status == 409)
            #expect(member(refused.json, "code") == "sessionInvalidated")
            gate.open()
            let done = try await service.job(job) { member($0, "state") == "succeeded" }
            #expect(member(done, "response", "status") == 200)
            try await until {
                let session = try await service.request(.get, "/v1/sessions/\(id)").json
                return member(session, "state") == "invalidated"
            }
            #expect(try await service.request(.delete, "/v1/sessions/\(id)").status == 204)
            #expect(try await service.request(.get, "/v1/sessions/\(id)").status == 404)
        }
    }

    // On whichever node they run.
    // Proves: SES-21.
    @Test func `cancelling a session cancels its jobs on other nodes too`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (origin, arrivals) = try gated(gate)
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place, key: key)
            let id = try await make(first, "{}")
            var jobs: [String] = []
            for service in [first, second, first, second] {
                // Jobs for the same would wait for the first.
                jobs.append(try await submit(service, origin.url("/\(jobs.count)"), in: id))
            }
            var arrived = arrivals.makeAsyncIterator()
            for _ in jobs { await arrived.next() }
            let answer = try await second.request(.post, "/v1/sessions/\(id)/invalidate?mode=cancel")
            #expect([200, 202].contains(answer.status))
            for job in jobs {
                let ended = try await first.job(job) { member($0, "state") == "cancelled" }
                #expect(member(ended, "error", "name") == "cancelled")
            }
            try await until {
                let session = try await first.request(.get, "/v1/sessions/\(id)").json
                return member(session, "state") == "invalidated"
            }
            #expect(try await second.stop() == 0)
            #expect(try await first.stop() == 0)
        }
    }

    // The last message comes once, after those of the jobs.
    // Proves: LIF-17, SES-22.
    @Test func `the end of a session is told last, and once`() async throws {
        let (messages, message) = AsyncStream.makeStream(of: [UInt8].self)
        let receiver = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                message.yield(try connection.receive(length))
                try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule, "127.0.0.1:\(receiver.port)"]) { service in
            let endpoint = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(receiver.url("/hook"))"}"#)
            let hook = try #require(member(endpoint.json, "id", as: String.self))
            let id = try await make(service, #"{"webhook": {"endpoint": "\#(hook)"}}"#)
            for _ in 0..<3 { _ = try await submit(service, origin.url("/a"), in: id) }
            _ = try await service.request(.post, "/v1/sessions/\(id)/invalidate")
            var types: [String] = []
            for await body in messages {
                let message = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
                types.append(member(message, "type") ?? "")
                guard types.last == "session.invalidated" else { continue }
                #expect(member(message, "data", "session", "id") == id)
                break
            }
            #expect(types == ["job.finished", "job.finished", "job.finished", "session.invalidated"])
        }
    }

    // Neither the database, its files and its log of changes, nor the service's directory and log.
    // Proves: SES-3, CRD-7.
    @Test func `an ephemeral session leaves no trace, and its cookies work`() async throws {
        let marker = "marker-\(UUID().uuidString)"
        let trace = "trace-\(UUID().uuidString)"
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                // The other job, which is stored, must not bring it.
                let text = head.contains(marker) ? marker : "nothing"
                let cookie = head.contains("Cookie: c=") ? "sent" : "none"
                let body = "\(text) \(cookie)"
                try connection.send(
                    "HTTP/1.1 200 OK\r\nSet-Cookie: c=\(text)\r\nX-Seen: \(text)\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let id = try await make(service, #"{"kind": "ephemeral", "description": "\#(marker)"}"#)
            let request = #", "headers": [{"name": "X-Mine", "value": "\#(marker)"}]"#
            let more = #", "session": "\#(id)""#
            let url = origin.url("/\(marker)?q=\(marker)")
            for expected in ["\(marker) none", "\(marker) sent"] {
                let job = try await service.fetch(url, request: request, more: more)
                #expect(member(job, "state") == "succeeded", "\(job)")
                let href = try #require(member(job, "body", "href", as: String.self))
                #expect(try await service.request(.get, href).text == expected)
            }
            _ = try await service.fetch(origin.url("/\(trace)"))
            let answer = try await service.request(.post, "/v1/sessions/\(id)/invalidate")
            #expect(member(answer.json, "state") == "invalidated")
            // The one that is stored is found, so the other would be.
            #expect(try await place.holds(trace))
            #expect(try await !place.holds(marker))
            #expect(try await service.stop() == 0)
            #expect(!service.logged.contains(marker))
            #expect(try await !place.holds(marker))
        }
    }

    @Test func `an ephemeral session is asked for where it lives`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place, key: key)
            let made = try await first.request(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#).json
            let id = try #require(member(made, "id", as: String.self))
            let node = try #require(member(made, "node", as: String.self))
            let job = try await first.fetch(origin.url("/a"), more: #", "session": "\#(id)""#)
            let path = "/v1/jobs/\(member(job, "id", as: String.self) ?? "")"
            #expect(try await first.request(.get, path).status == 200)
            for path in ["/v1/sessions/\(id)", path, path + "/body"] {
                let elsewhere = try await second.request(.get, path)
                #expect(elsewhere.status == 421)
                #expect(member(elsewhere.json, "detail", as: String.self)?.contains(node) == true)
            }
            let body = #"{"session": "\#(id)", "request": {"url": "\#(origin.url("/a"))"}}"#
            #expect(try await second.request(.post, "/v1/jobs", body: body).status == 421)
            #expect(try await second.stop() == 0)
            #expect(try await first.stop() == 0)
        }
    }

    // Proves: SES-21, TSK-8.
    @Test func `cancelling an ephemeral session cancels its jobs`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (origin, arrivals) = try gated(gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await make(service, #"{"kind": "ephemeral"}"#)
            let job = try await submit(service, origin.url(), in: id)
            for await _ in arrivals { break }
            _ = try await service.request(.post, "/v1/sessions/\(id)/invalidate?mode=cancel")
            let ended = try await service.job(job) { member($0, "state") == "cancelled" }
            #expect(member(ended, "error", "name") == "cancelled")
            let session = try await service.request(.get, "/v1/sessions/\(id)").json
            #expect(member(session, "state") == "invalidated")
        }
    }

    // Also found again by a service that was started anew.
    // Proves: SES-4, BKG-1, BKG-2, BKG-3, BKG-4, BKG-5, BKG-9, SES-19.
    @Test func `a background session has its rules, and is found again by its identifier`() async throws {
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:8099"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let hook = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "http://127.0.0.1:8099/hook"}"#)
            let endpoint = try #require(member(hook.json, "id", as: String.self), "\(hook.text)")
            let webhook = #""webhook": {"endpoint": "\#(endpoint)"}"#
            let refusals = [
                (#"{"kind": "background", \#(webhook)}"#, "/identifier"),
                (#"{"kind": "background", "identifier": "b"}"#, "/webhook"),
                (
                    #"{"kind": "background", "identifier": "b", \#(webhook), "configuration": {"redirects": {"policy": "fail"}}}"#,
                    "/configuration/redirects/policy"
                ),
                (#"{"identifier": "b"}"#, "/identifier"),
            ]
            for (body, pointer) in refusals {
                let answer = try await service.request(.post, "/v1/sessions", body: body)
                #expect(answer.status == 422)
                #expect(member(answer.json, "errors", "0", "pointer") == pointer)
            }
            let body = #"{"kind": "background", "identifier": "mine", \#(webhook)}"#
            let id = try await make(service, body)
            let second = try await service.request(.post, "/v1/sessions", body: body)
            #expect(second.status == 409)
            #expect(member(second.json, "code") == "sessionIdentifierInUse")
            let data = #"{"session": "\#(id)", "request": {"url": "https://origin.example/"}}"#
            let refused = try await service.request(.post, "/v1/jobs", body: data)
            #expect(refused.status == 422)
            #expect(member(refused.json, "errors", "0", "pointer") == "/kind")
            let session = try await service.request(.get, "/v1/sessions/\(id)?include=effectiveConfiguration").json
            #expect(
                member(session, "effectiveConfiguration", "timeouts", "timeoutIntervalForResource", "value")
                    == 604_800)
            #expect(try await service.stop() == 0)

            let again = try await ServiceProcess.start(place, key: key)
            let list = try await again.request(.get, "/v1/sessions?identifier=mine").json
            #expect(member(list, "data", "0", "id") == id)
            #expect(try await again.stop() == 0)
        }
    }

    // Log in once, go on a hundred times, each on its own.
    // Proves: SES-1, SES-6.
    @Test func `sessions made from a snapshot have its cookies, and go their own ways`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let cookies = { (session: String) async throws -> String in
                let more = #", "session": "\#(session)""#
                let job = try await service.fetch(origin.url("/cookies"), more: more)
                let href = try #require(member(job, "body", "href", as: String.self))
                return try await service.request(.get, href).text.filter { !$0.isWhitespace }
            }
            let set = { (session: String, cookie: String) async throws in
                _ = try await service.fetch(
                    origin.url("/cookies/set?\(cookie)"), more: #", "session": "\#(session)""#)
            }
            let first = try await make(service, "{}")
            try await set(first, "login=yes")
            let answer = try await service.request(.post, "/v1/sessions/\(first)/snapshots")
            #expect(answer.status == 201, "\(answer.text)")
            let snapshot = try #require(member(answer.json, "id", as: String.self))
            try await set(first, "later=1")
            var forks: [String] = []
            for _ in 0..<100 { forks.append(try await make(service, #"{"snapshot": "\#(snapshot)"}"#)) }
            #expect(try await cookies(forks[0]) == #"{"cookies":{"login":"yes"}}"#)
            try await set(forks[0], "own=1")
            #expect(try await cookies(forks[0]) == #"{"cookies":{"login":"yes","own":"1"}}"#)
            #expect(try await cookies(forks[99]) == #"{"cookies":{"login":"yes"}}"#)
            #expect(try await cookies(first) == #"{"cookies":{"later":"1","login":"yes"}}"#)
        }
    }
}
