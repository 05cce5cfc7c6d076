import FetchStorage
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

    // It names none, and no more than one waits to be sent.
    // Proves: CRD-8.
    @Test func `an endpoint is told when credentials are stored and when they are removed`() async throws {
        let receiver = try WebhookReceiver()
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [receiver.rule]) { service async throws in
            let (_, secret) = try await receiver.endpoint(of: service, #", "events": ["credentials.changed"]"#)
            func isTold() async throws {
                let message = try await receiver.next()
                #expect(try message.isSigned(with: secret))
                let text = String(decoding: message.body, as: UTF8.self)
                let json = try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any]
                #expect(json.flatMap { member($0, "type") } == "credentials.changed", "\(text)")
                #expect(!text.contains("unsaid"))
            }
            let id = try await store("httpBasic", #""user": "u", "password": "unsaid""#, for: origin, service)
            try await isTold()
            #expect(try await service.request(.delete, "/v1/credentials/\(id)").status == 204)
            try await isTold()
        }
    }

    // Its user and password lie in no file of the database, in no form; the key is exchanged as the command's help says.
    // Proves: CRD-5.
    @Test func `a stored secret is sealed by a key that can be exchanged`() async throws {
        let password = "unsaid-\(UUID())"
        let sent = Data("u:\(password)".utf8).base64EncodedString()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.contains("uthorization: Basic \(sent)\r\n")
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place async throws in
            let key = try await place.key()
            func with(_ keys: String) -> ServiceProcess.Place {
                var environment = place.environment
                environment["FETCHD_MASTER_KEYS"] = keys
                return .init(database: place.database, directory: place.directory, environment: environment)
            }
            func expectEntry(_ place: ServiceProcess.Place, storing credential: String? = nil) async throws {
                let service = try await ServiceProcess.start(place, key: key)
                if let credential {
                    let put = try await service.request(.post, "/v1/credentials", body: credential)
                    #expect(put.status == 201, "\(put.text)")
                }
                let job = try await service.fetch(origin.url("/\(UUID())"))
                #expect(status(of: job) == 200, "\(job)")
                #expect(try await service.stop() == 0)
            }
            try await expectEntry(
                place,
                storing: #"{"user": "u", "password": "\#(password)", "protectionSpace": {"host": "127.0.0.1", "port": "#
                    + #"\#(origin.port), "protocol": "http", "realm": "r", "authenticationMethod": "httpBasic"}}"#)
            // What is not secret is found there.
            #expect(try await place.holds("127.0.0.1:\(origin.port)"))
            #expect(try await !place.holds(password))
            #expect(try await !place.holds(sent))
            let old = try #require(place.environment["FETCHD_MASTER_KEYS"])
            let new = "2:" + KeyRing.generate().dropFirst(2)
            let both = with("\(new),\(old)")
            try await expectEntry(both)
            let report = try await both.run("keys", "rewrap")
            #expect(report.contains("master key 2 wraps: "), "\(report)")
            #expect(!report.contains("master key 1 wraps: ") || report.contains("master key 1 wraps: 0"), "\(report)")
            try await expectEntry(with(new))
        }
    }
}
