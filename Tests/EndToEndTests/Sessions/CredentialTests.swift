import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Credentials of jobs, through running services, against httpbin.
@Suite struct CredentialTests {
    private func store(
        _ method: String,
        _ secret: String,
        for origin: LoopbackServer,
        realm: String? = "Fake Realm",
        _ service: ServiceProcess
    ) async throws -> String {
        let named = realm.map { #""realm": "\#($0)", "# } ?? ""
        let body = #"""
            {"protectionSpace": {"host": "127.0.0.1", "port": \#(origin.port), "protocol": "http",
              \#(named)"authenticationMethod": "\#(method)"}, \#(secret)}
            """#
        let answer = try await service.request(.post, "/v1/credentials", body: body)
        try #require(answer.status == 201, "\(answer.text)")
        return try #require(member(answer.json, "id"))
    }

    private func status(of job: [String: Any]) -> Int? { member(job, "response", "status") }

    // Proves: CRD-3, CRD-4, AUT-7.
    @Test(arguments: ["httpBasic", "httpDigest"])
    func `a stored credential answers its space`(method: String) async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            let path = method == "httpBasic" ? "/basic-auth/u/p" : "/digest-auth/auth/u/p"
            let realm = method == "httpBasic" ? "Fake Realm" : "me@kennethreitz.com"
            #expect(status(of: try await service.fetch(origin.url(path))) == 401)
            let secret = #""user": "u", "password": "p""#
            let id = try await store(method, secret, for: origin, realm: realm, service)
            #expect(status(of: try await service.fetch(origin.url(path))) == 200)
            #expect(try await service.request(.delete, "/v1/credentials/\(id)").status == 204)
        }
    }

    // Proves: CRD-9.
    @Test func `a refused credential is tried once a job, and says so`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            let id = try await store("httpBasic", #""user": "u", "password": "wrong""#, for: origin, service)
            let job = try await service.fetch(origin.url("/basic-auth/u/p"))
            #expect(status(of: job) == 401)
            #expect(member(job, "attempts", "0", "metrics", as: [Any].self)?.count == 2)
            let credential = try await service.request(.get, "/v1/credentials/\(id)").json
            #expect(member(credential, "lastFailureAt", as: String.self) != nil)
        }
    }

    // Proves: CRD-2, CRD-4, SEC-32.
    @Test func `a credential of the job's own convinces, is not shown, and is kept as it says`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            let url = origin.url("/basic-auth/u/canary-3c0d")
            let configuration = { (persistence: String) in
                #", "configuration": {"authentication": {"credential": "#
                    + #"{"user": "u", "password": "canary-3c0d", "persistence": "\#(persistence)"}}}"#
            }
            let first = try await service.fetch(url, more: configuration("none"))
            #expect(status(of: first) == 200)
            #expect(member(first, "configuration", "authentication", "credential") == "sealed")
            #expect(member(try await service.request(.get, "/v1/credentials").json, "data", as: [Any].self)?.count == 0)
            #expect(status(of: try await service.fetch(url, more: configuration("permanent"))) == 200)
            let list = try await service.request(.get, "/v1/credentials")
            #expect(member(list.json, "data", "0", "user") == "u")
            #expect(!list.text.contains("canary"))
            #expect(status(of: try await service.fetch(url)) == 200)
            #expect(!service.logged.contains("canary"))
        }
    }

    // Proves: CRD-1, URL-10, SEC-32.
    @Test func `the user name and password of a URL are a credential of the job's own`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let url = "http://u:canary-9e2b@127.0.0.1:\(origin.port)/basic-auth/u/canary-9e2b"
            // The path would give it away: only the URL's own part counts.
            let job = try await service.fetch(url)
            #expect(status(of: job) == 200)
            #expect(member(job, "request", "url") == origin.url("/basic-auth/u/canary-9e2b"))
            let text = try await service.request(.get, "/v1/jobs/\(try #require(member(job, "id", as: String.self)))")
                .text
            #expect(!text.contains("u:canary") && !text.contains("canary-9e2b@"))
            #expect(!service.logged.contains("canary"))
            #expect(try await service.stop() == 0)
        }
    }

    // Proves: CRD-3, AUT-12, AUT-14, CRD-1.
    @Test func `a job names a stored credential, and a bearer token answers a bearer space`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service async throws in
            #expect(status(of: try await service.fetch(origin.url("/bearer"))) == 401)
            let id = try await store("httpBearer", #""bearerToken": "abc.def""#, for: origin, realm: nil, service)
            let more = #", "configuration": {"authentication": {"credential": "\#(id)"}}"#
            #expect(status(of: try await service.fetch(origin.url("/bearer"), more: more)) == 200)
            let without = #", "configuration": {"authentication": {"credential": "\#(id)", "methods": ["basic"]}}"#
            #expect(status(of: try await service.fetch(origin.url("/bearer"), more: without)) == 401)
            let body = #"{"request": {"url": "\#(origin.url("/bearer"))"}, "suspended": true\#(more)}"#
            let held = try await service.request(.post, "/v1/jobs", body: body)
            let job = try #require(member(held.json, "id", as: String.self), "\(held.text)")
            #expect(try await service.request(.delete, "/v1/credentials/\(id)").status == 204)
            _ = try await service.request(.post, "/v1/jobs/\(job)/resume")
            let gone = try await service.job(job) { $0["finishedAt"] != nil }
            #expect(member(gone, "error", "name") == "userAuthenticationRequired")
            #expect(try await service.request(.post, "/v1/jobs", body: body).status == 422)
        }
    }

    // Proves: CRD-8.
    @Test func `a credential stored on one node answers for the next job on another`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place async throws in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place, key: key),
            ]
            let url = origin.url("/basic-auth/u/p")
            #expect(status(of: try await nodes[1].fetch(url)) == 401)
            let id = try await store("httpBasic", #""user": "u", "password": "p""#, for: origin, nodes[0])
            #expect(status(of: try await nodes[1].fetch(url)) == 200)
            #expect(try await nodes[0].request(.delete, "/v1/credentials/\(id)").status == 204)
            #expect(status(of: try await nodes[1].fetch(url)) == 401)
            for node in nodes { #expect(try await node.stop() == 0) }
        }
    }
}
