import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Cookies of jobs, through running services, against httpbin.
@Suite struct CookieTests {
    /// The cookies that httpbin says a job has sent it.
    private func sent(by job: [String: Any], _ service: ServiceProcess) async throws -> [String: String] {
        let href = try #require(member(job, "body", "href", as: String.self))
        return member(try await service.request(.get, href).json, "cookies") ?? [:]
    }

    /// Asks for the jar of the default session.
    private static let jar = #", "configuration": {"cookies": {"jar": "session"}}"#

    // A job that names no session shares no cookie, unless it asks; the default session may be named too.
    @Test func `jobs without a session have no cookies in common unless they ask`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            func cookies(_ more: String) async throws -> [String: String] {
                try await sent(by: try await service.fetch(origin.url("/cookies"), more: more), service)
            }
            let alone = try await service.fetch(origin.url("/cookies/set?a=1"))
            #expect(try await sent(by: alone, service) == [:])
            #expect(try await cookies(Self.jar) == [:])
            #expect(
                member(try await service.request(.get, "/v1/cookies").json, "data", as: [Any].self)?.isEmpty == true)
            _ = try await service.fetch(origin.url("/cookies/set?b=2"), more: Self.jar)
            #expect(try await cookies("") == [:])
            #expect(try await cookies(Self.jar) == ["b": "2"])
            #expect(try await cookies(#", "session": "default""#) == ["b": "2"])
            let none = #", "session": "default", "configuration": {"cookies": {"jar": "none"}}"#
            #expect(try await cookies(none) == [:])
            func source(_ job: [String: Any]) async throws -> [String?] {
                let id = try #require(member(job, "id", as: String.self))
                let shown = try await service.request(.get, "/v1/jobs/\(id)?include=effectiveConfiguration").json
                return ["value", "from"].map { member(shown, "effectiveConfiguration", "cookies", "jar", $0) }
            }
            #expect(try await source(alone) == ["none", "default"])
            #expect(try await source(service.fetch(origin.url("/cookies"), more: Self.jar)) == ["session", "job"])
            let made = try await service.request(.post, "/v1/sessions", body: "{}")
            let session = try #require(member(made.json, "id", as: String.self))
            let inside = try await service.fetch(origin.url("/cookies/set?c=3"), more: #", "session": "\#(session)""#)
            #expect(try await sent(by: inside, service) == ["c": "3"])
            #expect(try await source(inside) == ["session", "default"])
        }
    }

    // Proves: COK-3, COK-4, COK-5.
    @Test func `a job sends what jobs before it were given, redirects included`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            let first = try await service.fetch(origin.url("/cookies/set?a=1&b=2"), more: Self.jar)
            #expect(try await sent(by: first, service) == ["a": "1", "b": "2"])
            let second = try await service.fetch(origin.url("/cookies"), more: Self.jar)
            #expect(try await sent(by: second, service) == ["a": "1", "b": "2"])
            let third = try await service.fetch(origin.url("/cookies/delete?a"), more: Self.jar)
            #expect(try await sent(by: third, service) == ["b": "2"])
            let list = try await service.request(.get, "/v1/cookies?domain=127.0.0.1").json
            #expect(member(list, "data", "0", "name") == "b")
            #expect(member(list, "data", as: [Any].self)?.count == 1)
        }
    }

    // Proves: COK-5, COK-9, SES-2.
    @Test func `a change on one node is seen by the next job on another, and outlives both`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            for node in nodes { _ = try await node.fetch(origin.url("/cookies"), more: Self.jar) }
            for round in 0..<4 {
                _ = try await nodes[round % 2].fetch(origin.url("/cookies/set?n=\(round)"), more: Self.jar)
                let job = try await nodes[(round + 1) % 2].fetch(origin.url("/cookies"), more: Self.jar)
                #expect(try await sent(by: job, nodes[0]) == ["n": "\(round)"])
            }
            let body = #"{"cookies": [{"name": "mine", "value": "set", "domain": "127.0.0.1"}]}"#
            #expect(try await nodes[0].request(.post, "/v1/cookies", body: body).status == 200)
            let job = try await nodes[1].fetch(origin.url("/cookies"), more: Self.jar)
            #expect(try await sent(by: job, nodes[0]) == ["n": "3", "mine": "set"])
            for node in nodes { #expect(try await node.stop() == 0) }
            let later = try await ServiceProcess.start(place, key: key)
            #expect(
                try await sent(by: try await later.fetch(origin.url("/cookies"), more: Self.jar), later)["n"] == "3")
            #expect(try await later.stop() == 0)
        }
    }

    // Proves: COK-9.
    @Test func `a change of the cookies of a session is told, by a response or by a client`() async throws {
        let origin = try await LoopbackServer.httpbin()
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service async throws in
            let (endpoint, secret) = try await receiver.endpoint(of: service)
            let changed = try await service.request(
                .patch, "/v1/webhooks/endpoints/\(endpoint)", body: #"{"events": ["cookies.changed"]}"#,
                headers: [.contentType: "application/merge-patch+json"])
            #expect(changed.status == 200, "\(changed.text)")
            let made = try await service.request(.post, "/v1/sessions", body: "{}")
            let session = try #require(member(made.json, "id", as: String.self))
            func told() async throws -> String? {
                let message = try await receiver.next()
                #expect(try message.isSigned(with: secret))
                let json = try #require(
                    try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
                #expect(member(json, "type") == "cookies.changed")
                return member(json, "data", "session", "id")
            }
            // What sets none tells nothing: the first message is about the session of the job after it.
            _ = try await service.fetch(origin.url("/cookies"), more: Self.jar)
            _ = try await service.fetch(origin.url("/cookies/set?a=1"), more: #", "session": "\#(session)""#)
            #expect(try await told() == session)
            let body = #"{"cookies": [{"name": "mine", "value": "set", "domain": "127.0.0.1"}]}"#
            #expect(try await service.request(.post, "/v1/cookies", body: body).status == 200)
            #expect(try await told() == "default")
            #expect(try await service.request(.delete, "/v1/cookies?session=\(session)&name=a").status < 300)
            #expect(try await told() == session)
        }
    }

    // Proves: COK-10, SES-6, SEC-42.
    @Test func `tenants share no cookie`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let one = try await ServiceProcess.start(place, key: try await place.key())
            let otherKey = try await place.key(tenant: "other")
            let other = try await ServiceProcess.start(place, key: otherKey)
            _ = try await one.fetch(origin.url("/cookies/set?a=1"), more: Self.jar)
            #expect(try await sent(by: try await other.fetch(origin.url("/cookies"), more: Self.jar), other) == [:])
            #expect(member(try await other.request(.get, "/v1/cookies").json, "data", as: [Any].self)?.isEmpty == true)
            for node in [one, other] { #expect(try await node.stop() == 0) }
        }
    }
}
