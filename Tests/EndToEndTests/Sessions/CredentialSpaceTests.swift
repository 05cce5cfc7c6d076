import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The servers that stored credentials are sent to: a secret that never comes out must not be read by sending it.
@Suite(.timeLimit(.minutes(2))) struct CredentialSpaceTests {
    private static let anybody = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    /// An origin that asks whoever says nothing.
    private func asking(_ challenge: String = #"Basic realm="vault""#) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isKnown = head.lowercased().contains("authorization: ")
                let refusal = "HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n"
                try connection.send(isKnown ? Self.anybody : refusal)
            }
        }
    }

    private func heads(_ origin: WireOrigin) -> String {
        origin.connections.indices.map { origin.received(on: $0) }.joined().lowercased()
    }

    private func store(_ space: String, _ secret: String, _ service: ServiceProcess) async throws -> String {
        let answer = try await service.request(
            .post, "/v1/credentials", body: #"{"protectionSpace": {"host": "127.0.0.1", \#(space)}, \#(secret)}"#)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private static let password = #""user": "u", "password": "p""#
    private static let keys =
        #""accessKeyID": "AKID", "secretAccessKey": "s", "sessionToken": "token", "region": "r", "service": "s3""#

    private func named(_ id: String) -> String { #""authentication": {"credential": "\#(id)"}"# }

    // R61: told where it is named, as a job, a line of a batch or a schedule.
    @Test func `a job for another server is refused that names a stored credential`() async throws {
        let (bank, elsewhere) = (try asking(), try asking())
        let rules = ["127.0.0.1:\(bank.port)", "127.0.0.1:\(elsewhere.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            let space = #""port": \#(bank.port), "protocol": "http", "authenticationMethod": "httpBasic""#
            let id = try await store(space, Self.password, service)
            func job(_ url: String) -> String {
                #"{"request": {"url": "\#(url)"}, "configuration": {\#(named(id))}}"#
            }
            let refused = try await service.request(.post, "/v1/jobs", body: job(elsewhere.url()))
            #expect(refused.status == 422 && refused.text.contains("credentialOutOfSpace"), "\(refused.text)")
            #expect(refused.text.contains(#""pointer":"/configuration/authentication/credential""#))
            let line = try await service.request(
                .post, "/v1/jobs/batch", body: job(elsewhere.url()), headers: [.contentType: "application/x-ndjson"])
            #expect(line.text.contains("credentialOutOfSpace"), "\(line.text)")
            let schedule = try await service.request(
                .post, "/v1/schedules", body: #"{"interval": 3600, "job": \#(job(elsewhere.url()))}"#)
            #expect(schedule.status == 422 && schedule.text.contains("/job/configuration"), "\(schedule.text)")
            let good = try await service.fetch(bank.url(), more: #", "configuration": {\#(named(id))}"#)
            #expect(member(good, "response", "status") == 200, "\(good)")
        }
        #expect(heads(elsewhere).isEmpty)
    }

    // The credential of a session is for those of its jobs that it fits; no redirect carries it, whatever the job
    // allows.
    // Proves: SEC-32.
    @Test(arguments: ["authentication", "signature"])
    func `a stored credential is sent to nobody else, by no session and no redirect`(_ kind: String) async throws {
        let elsewhere = try asking()
        let bank = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    "HTTP/1.1 307 F\r\nLocation: \(elsewhere.url("/led"))\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let rules = ["127.0.0.1:\(bank.port)", "127.0.0.1:\(elsewhere.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            let method = kind == "signature" ? "awsSigV4" : "httpBasic"
            let id = try await store(
                #""port": \#(bank.port), "protocol": "http", "authenticationMethod": "\#(method)""#,
                kind == "signature" ? Self.keys : Self.password, service)
            let session = try await service.request(.post, "/v1/sessions", body: #"{"configuration": {\#(named(id))}}"#)
            let name = try #require(member(session.json, "id", as: String.self), "\(session.text)")
            let job = try await service.fetch(elsewhere.url("/direct"), more: #", "session": "\#(name)""#)
            #expect(member(job, "response", "status") == 401, "\(job)")
            let forwarding = #""redirects": {"forwardCredentialsToHosts": ["127.0.0.1"]}"#
            let led = try await service.fetch(
                bank.url(),
                more: #", "configuration": {\#(named(id)), \#(kind == "signature" ? "" : forwarding)}"#
                    .replacing(", }", with: "}"))
            #expect(member(led, "response", "status") == 401, "\(led)")
        }
        #expect(heads(elsewhere).contains("get /led"))
        #expect(!heads(elsewhere).contains("authorization:") && !heads(elsewhere).contains("security-token"))
    }

    @Test(arguments: [
        ("httpBasic", #", "realm": "vault""#, #"Basic realm="vault""#, true),
        ("httpBasic", #", "realm": "elsewhere""#, #"Basic realm="vault""#, false),
        ("httpDigest", "", #"Digest realm="vault", nonce="n", qop="auth""#, true),
        ("httpDigest", "", #"Basic realm="vault""#, false),
        ("httpBasic", "", #"Digest realm="vault", nonce="n", qop="auth""#, true),
    ])
    func `the realm and the method of a stored credential count`(
        _ method: String, _ realm: String, _ challenge: String, _ isShown: Bool
    ) async throws {
        let origin = try asking(challenge)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let space = #""port": \#(origin.port), "protocol": "http", "authenticationMethod": "\#(method)"\#(realm)"#
            let id = try await store(space, Self.password, service)
            _ = try await service.fetch(origin.url(), more: #", "configuration": {\#(named(id))}"#)
        }
        #expect(heads(origin).contains("authorization:") == isShown)
    }

    // Proves: SEC-34.
    @Test func `a proxy is shown a stored credential that is for it, and no other`() async throws {
        let proxy = try WireOrigin(
            playing: "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"gate\"\r\nContent-Length: 0\r\n\r\n")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(proxy.port)", "127.0.0.1:9"]) { service in
            func space(_ more: String) -> String { #""port": \#(proxy.port), "protocol": "http", \#(more)"# }
            let basic = #""authenticationMethod": "httpBasic""#
            let ofServer = try await store(space(basic), Self.password, service)
            let otherRealm = try await store(
                space(#"\#(basic), "isProxy": true, "realm": "x""#), Self.password, service)
            func group(_ id: String, _ kind: String = "http") -> String {
                #""configuration": {"proxy": {"url": "\#(kind)://127.0.0.1:\#(proxy.port)", "credential": "\#(id)"}}"#
            }
            let job = #""request": {"url": "http://127.0.0.1:9/"}"#
            for (path, body) in [
                ("/v1/jobs", "{\(job), \(group(ofServer))}"), ("/v1/sessions", "{\(group(ofServer))}"),
                ("/v1/jobs", "{\(job), \(group(otherRealm, "socks5"))}"),
            ] {
                let answer = try await service.request(.post, path, body: body)
                #expect(answer.status == 422 && answer.text.contains("credentialOutOfSpace"), "\(answer.text)")
                #expect(answer.text.contains(#""pointer":"/configuration/proxy/credential""#))
            }
            _ = try await service.fetch("http://127.0.0.1:9/", more: ", " + group(otherRealm))
            #expect(!heads(proxy).isEmpty && !heads(proxy).contains("proxy-authorization"))
            let own = try await store(space(#"\#(basic), "isProxy": true, "realm": "gate""#), Self.password, service)
            _ = try await service.fetch("http://127.0.0.1:9/", more: ", " + group(own))
            #expect(heads(proxy).contains("proxy-authorization: basic"))
        }
    }

    // A job from SQL is not checked before it runs.
    @Test func `a job from SQL that names a credential for another server fails`() async throws {
        let origin = try asking()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let id = try await store(#""authenticationMethod": "httpBasic""#, Self.password, service)
            let job = #"{"request": "\#(origin.url())", "configuration": {\#(named(id))}}"#
            let rows = try await place.database.client.query("SELECT fetchd.enqueue(\(job)::text::json)")
            let failed = try await service.job(try #require(try rows.first?.decode(String.self, at: 0))) {
                $0["finishedAt"] != nil
            }
            #expect(member(failed, "error", "name") == "userAuthenticationRequired", "\(failed)")
            #expect(try await service.stop() == 0)
        }
        #expect(heads(origin).isEmpty)
    }
}
