import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Where an identity and a connection go, and where they do not.
extension TrustTests {
    // As PEM or as a file with a passphrase; of a job, and stored for others.
    // Proves: AUT-27, SEC-50.
    @Test(arguments: ["PEM", "PKCS #12"])
    func `a client certificate lies sealed, and is never shown`(_ form: String) async throws {
        let rig = try SharedService.current
        let (server, session) = (try rig.server("asking"), try await rig.makeSession())
        let key = server.directory.text(of: form == "PEM" ? "client.key" : "client.p12")
        // A part of it without the ends that all keys share.
        let secret = String(key.dropFirst(100).prefix { $0 != "\n" }.prefix(40))
        let identity =
            form == "PEM"
            ? #""certificateChain": "\#(text(server, "client.pem"))", "privateKey": "\#(text(server, "client.key"))""#
            : #""pkcs12": "\#(key)", "passphrase": "open sesame""#
        let trace = "trace-\(UUID())".lowercased()
        let configuration =
            #""authentication": {"credential": {\#(identity)}}, "# + trusting(of: server)
        let id = try await rig.submit(
            #"{"suspended": true, "session": "\#(session)", "request": "\#(url(server))\#(trace)", "#
                + #""configuration": {\#(configuration)}}"#)
        #expect(secret.count == 40)
        #expect(try await rig.place.holds(trace))
        #expect(try await !rig.place.holds(secret))
        _ = try await rig.service.request(.post, "/v1/jobs/\(id)/resume")
        let job = try await rig.service.job(id) { member($0, "state") == "succeeded" }
        #expect(try await rig.text(of: job).hasPrefix("SUCCESS CN=client "), "\(job)")
        let space =
            #""protectionSpace": {"host": "\#(trace).example", "port": 443, "#
            + #""authenticationMethod": "clientCertificate"}"#
        let put = try await rig.service.request(.post, "/v1/credentials", body: "{\(space), \(identity)}")
        #expect(put.status == 201, "\(put.text)")
        let list = try await rig.service.request(.get, "/v1/credentials")
        #expect(list.text.contains(trace))
        #expect(try await !rig.place.holds(secret))
        for shown in ["\(job)", put.text, list.text, rig.service.logged] {
            #expect(!shown.contains(secret) && !shown.contains("PRIVATE KEY") && !shown.contains("open sesame"))
        }
    }

    // A server that the job names gets it nevertheless.
    // Proves: RED-11, SEC-31.
    @Test func `a client certificate is not shown to where a redirect leads`() async throws {
        let rig = try SharedService.current
        let (server, other) = (try rig.server("asking"), try rig.server("alsoAsking"))
        let identity =
            #""authentication": {"credential": {"certificateChain": "\#(text(server, "client.pem"))", "#
            + #""privateKey": "\#(text(server, "client.key"))"}}, "# + trusting(of: server)
        let away = url(server) + "to/\(other.port)/"
        let moved = try await rig.fetch(away, configuration: identity)
        #expect(member(moved, "response", "url") == url(other), "\(moved)")
        #expect(try await rig.text(of: moved).hasPrefix("NONE "))
        let named = try await rig.fetch(
            away, configuration: identity + #", "redirects": {"forwardCredentialsToHosts": ["127.0.0.1"]}"#)
        #expect(try await rig.text(of: named).hasPrefix("SUCCESS CN=client "), "\(named)")
    }

    // And a cookie that is for TLS alone is judged anew.
    // Proves: RED-11.
    @Test func `a redirect leaves TLS only where the job allows it`() async throws {
        let rig = try SharedService.current
        let (server, session) = (try rig.server("good"), try await rig.makeSession())
        let cookies =
            #"{"name": "s", "value": "1", "domain": "127.0.0.1", "path": "/", "isSecure": true}, "#
            + #"{"name": "p", "value": "1", "domain": "127.0.0.1", "path": "/"}"#
        let put = try await rig.service.request(
            .post, "/v1/cookies", body: #"{"session": "\#(session)", "cookies": [\#(cookies)]}"#)
        #expect(put.status == 200, "\(put.text)")
        let play = rig.stage.play(answer())
        let path = play.url("x").replacing("http://127.0.0.1:\(rig.stage.port)/", with: "")
        let down = url(server) + "down/\(rig.stage.port)/\(path)"
        let refused = try await rig.fetch(down, configuration: trusting(of: server), session: session)
        #expect(errorName(of: refused) == "redirectDowngrade", "\(refused)")
        #expect(play.requests.isEmpty)
        let allowed = try await rig.fetch(
            down, #""headers": [{"name": "Authorization", "value": "Bearer s"}]"#,
            configuration: trusting(of: server) + #", "redirects": {"allowHTTPSToHTTP": true}"#, session: session)
        #expect(status(of: allowed) == 200 && member(allowed, "response", "url") == play.url("x"), "\(allowed)")
        #expect(play.requests.map { $0.values("cookie") } == [["p=1"]])
        #expect(play.requests.first?.values("authorization") == [])
    }

    // nginx says over which of its connections a request came.
    // Proves: NET-9, SEC-21, SEC-42.
    @Test func `jobs that trust others share no connection, and tenants share none`() async throws {
        let rig = try SharedService.current
        let (server, session) = (try rig.server("good"), try await rig.makeSession())
        let others =
            #""serverTrust": {"policy": "custom", "anchors": "\#(text(server, "anchor.pem"))"#
            + #"\#(text(try rig.server("selfSigned"), "leaf.pem"))"}"#
        func connection(_ trust: String) async throws -> String {
            try await rig.text(of: try await rig.fetch(url(server), configuration: trust, session: session))
        }
        var ways: [String] = []
        for trust in [trusting(of: server), others, trusting(of: server), others] {
            ways.append(try await connection(trust))
        }
        #expect(ways[0] == ways[2] && ways[1] == ways[3] && ways[0] != ways[1], "\(ways)")
        let key = try await rig.place.key(tenant: "trust-other")
        let tenants = [rig.service, rig.service.speaking(with: key)]
        ways = []
        for tenant in tenants + tenants {
            let job = try await tenant.fetch(
                url(server), more: #", "configuration": {\#(trusting(of: server))}"#)
            let href = try #require(member(job, "body", "href", as: String.self), "\(job)")
            ways.append(try await tenant.request(.get, href).text)
        }
        #expect(ways[0] == ways[2] && ways[1] == ways[3] && ways[0] != ways[1], "\(ways)")
    }

    // All are under way before the first is answered.
    // Proves: SES-13.
    @Test func `jobs at once share an HTTP 2 connection, and have one each in HTTP 1`() async throws {
        let rig = try SharedService.current
        let server = try rig.server("good")
        for (version, count) in [("automatic", 1), ("1.1", 5)] {
            let session = try await rig.makeSession(
                #"{"configuration": {\#(trusting(of: server)), "connections": {"httpVersion": "\#(version)"}}}"#)
            // The connection is there.
            _ = try await rig.fetch(url(server), session: session)
            let gate = Gate()
            let play = rig.stage.serve { _, connection in
                try gate.wait()
                try connection.send(answer())
            }
            let path = play.url("").replacing("http://127.0.0.1:\(rig.stage.port)/", with: "")
            var ids: [String] = []
            for number in 0..<5 {
                ids.append(
                    try await rig.submit(
                        #"{"session": "\#(session)", "#
                            + #""request": "\#(url(server))via/\#(rig.stage.port)/\#(path)\#(number)"}"#))
            }
            try await until { play.requests.count == 5 }
            gate.open()
            var connections: Set<String> = []
            for id in ids {
                let job = try await rig.service.job(id) { member($0, "state") == "succeeded" }
                let fields = member(job, "response", "headers", as: [[String: String]].self) ?? []
                connections.insert(try #require(fields.first { $0["name"]?.lowercased() == "x-connection" }?["value"]))
            }
            #expect(connections.count == count, "\(version): \(connections)")
        }
    }
}
