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

    // COK-3, COK-4, COK-5
    @Test func `a job sends what jobs before it were given, redirects included`() async throws {
        let origin = try await Origin.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            let first = try await service.fetch(origin.url("/cookies/set?a=1&b=2"))
            #expect(try await sent(by: first, service) == ["a": "1", "b": "2"])
            let second = try await service.fetch(origin.url("/cookies"))
            #expect(try await sent(by: second, service) == ["a": "1", "b": "2"])
            let third = try await service.fetch(origin.url("/cookies/delete?a"))
            #expect(try await sent(by: third, service) == ["b": "2"])
            let list = try await service.request(.get, "/v1/cookies?domain=127.0.0.1").json
            #expect(member(list, "data", "0", "name") == "b")
            #expect(member(list, "data", as: [Any].self)?.count == 1)
        }
    }

    // COK-5, COK-9
    @Test func `a change on one node is seen by the next job on another, and outlives both`() async throws {
        let origin = try await Origin.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let key = try await place.run("keys", "create")
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            for node in nodes { _ = try await node.fetch(origin.url("/cookies")) }
            for round in 0..<4 {
                _ = try await nodes[round % 2].fetch(origin.url("/cookies/set?n=\(round)"))
                let job = try await nodes[(round + 1) % 2].fetch(origin.url("/cookies"))
                #expect(try await sent(by: job, nodes[0]) == ["n": "\(round)"])
            }
            let body = #"{"cookies": [{"name": "mine", "value": "set", "domain": "127.0.0.1"}]}"#
            #expect(try await nodes[0].request(.post, "/v1/cookies", body: body).status == 200)
            let job = try await nodes[1].fetch(origin.url("/cookies"))
            #expect(try await sent(by: job, nodes[0]) == ["n": "3", "mine": "set"])
            for node in nodes { #expect(try await node.stop() == 0) }
            let later = try await ServiceProcess.start(place, key: key)
            #expect(try await sent(by: try await later.fetch(origin.url("/cookies")), later)["n"] == "3")
            #expect(try await later.stop() == 0)
        }
    }

    // COK-10, CRD-6
    @Test func `tenants share no cookie`() async throws {
        let origin = try await Origin.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let one = try await ServiceProcess.start(place, key: try await place.run("keys", "create"))
            let otherKey = try await place.run("keys", "create", "--tenant", "other")
            let other = try await ServiceProcess.start(place, key: otherKey)
            _ = try await one.fetch(origin.url("/cookies/set?a=1"))
            #expect(try await sent(by: try await other.fetch(origin.url("/cookies")), other) == [:])
            #expect(member(try await other.request(.get, "/v1/cookies").json, "data", as: [Any].self)?.isEmpty == true)
            for node in [one, other] { #expect(try await node.stop() == 0) }
        }
    }
}
