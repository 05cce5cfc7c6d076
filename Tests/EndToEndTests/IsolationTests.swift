import Foundation
import HTTPTypes
import TestSupport
import Testing

/// What libcurl keeps of one load for the next one, or finds around the process, is never used for another job.
///
/// docs/threat-model.md lists the classes of its published weaknesses, with the tests here and elsewhere that show this.
@Suite(.timeLimit(.minutes(2))) struct IsolationTests {
    /// The fields of a response by their names in lower case.
    private func fields(of job: [String: Any]) -> [String: String] {
        let fields = member(job, "response", "headers", as: [[String: Any]].self) ?? []
        let pairs = fields.compactMap { field -> (String, String)? in
            guard let name = field["name"] as? String, let value = field["value"] as? String else { return nil }
            return (name.lowercased(), value)
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private func trusting(_ authority: TestAuthority) -> String {
        #""serverTrust": {"policy": "custom", "anchors": "\#(CanaryScene.json(authority.certificate))"}"#
    }

    private func body(of job: [String: Any], _ service: ServiceProcess) async throws -> String {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self), "\(job)")).text
    }

    // MARK: What is around the process

    // Proves: SEC-22.
    @Test func `neither the environment nor files of its user change where a job goes or what it shows`() async throws {
        let (home, trap) = (try TemporaryDirectory(), try WireOrigin(playing: "HTTP/1.1 200 OK\r\n\r\n"))
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let origin = try WireOrigin(
            playing: "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 0\r\n\r\n")
        try home.write(
            "machine 127.0.0.1 login user password canary\ndefault login user password canary\n", to: ".netrc")
        try home.write("proxy = \(trap.url())\nuser = user:canary\n", to: ".curlrc")
        var settings = [
            "HOME": home.path, "CURL_HOME": home.path, "NETRC": home.file(".netrc"), "no_proxy": "a.example",
        ]
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            settings[name] = trap.url()
        }
        let rules = [origin.port, server.port, trap.port].map { "127.0.0.1:\($0)" }
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            let job = try await service.fetch(origin.url())
            #expect(member(job, "response", "status") == 401, "\(job)")
            let secure = try await service.fetch(
                "https://127.0.0.1:\(server.port)/", more: #", "configuration": {\#(trusting(authority))}"#)
            #expect(member(secure, "response", "status") == 200, "\(secure)")
        }
        #expect(trap.connections.isEmpty)
        #expect(origin.count(of: "GET / HTTP/1.1") == 1 && !origin.received().lowercased().contains("authorization"))
    }

    // Proves: SEC-22, SEC-30.
    @Test func `a server that names another place in a field is not believed`() async throws {
        let (authority, trap) = (try await TestAuthority(), try WireOrigin(playing: "HTTP/1.1 200 OK\r\n\r\n"))
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: [
                #"add_header Alt-Svc 'h2=":\#(trap.port)"; ma=3600, http/1.1=":\#(trap.port)"; ma=3600' always"#,
                "add_header Link '<\(trap.url("/link"))>; rel=preload' always",
                "add_header Refresh '0; url=\(trap.url("/refresh"))' always",
                "add_header Content-Location \(trap.url("/content")) always",
            ])
        let rules = [server.port, trap.port].map { "127.0.0.1:\($0)" }
        try await ServiceProcess.with(allowing: rules) { service in
            for version in ["automatic", "1.1", "automatic", "1.1"] {
                let job = try await service.fetch(
                    "https://127.0.0.1:\(server.port)/",
                    more:
                        #", "configuration": {\#(trusting(authority)), "connections": {"httpVersion": "\#(version)"}}"#)
                #expect(member(job, "response", "status") == 200 && fields(of: job)["alt-svc"] != nil, "\(job)")
            }
        }
        #expect(trap.connections.isEmpty)
    }

    // MARK: What is kept

    // Of the same terms they are resumed, or this would show nothing.
    // Proves: SEC-21, SEC-42.
    @Test func `a TLS session is resumed on the same terms alone`() async throws {
        let authority = try await TestAuthority()
        let client = try await authority.issue("client")
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: [
                "ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client optional",
                "ssl_session_cache shared:sessions:1m", "ssl_session_tickets on", "keepalive_timeout 0",
                "add_header X-Reused $ssl_session_reused always",
            ])
        let others = try await TestAuthority(name: "Another Authority")
        let both = authority.certificate + others.certificate
        let identity =
            #""authentication": {"credential": {"certificateChain": "\#(CanaryScene.json(client.certificate))", "#
            + #""privateKey": "\#(CanaryScene.json(client.key))"}}"#
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(server.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let stranger = service.speaking(with: try await place.key(tenant: "stranger"))
            func isResumed(_ configuration: String, _ service: ServiceProcess) async throws -> Bool {
                let job = try await service.fetch(
                    "https://127.0.0.1:\(server.port)/",
                    more: #", "configuration": {\#(configuration), "tls": {"alpn": ["http/1.1"]}}"#)
                let expected = configuration.contains("privateKey") ? "SUCCESS" : "NONE"
                #expect(try await body(of: job, service).hasPrefix(expected), "\(job)")
                return try #require(fields(of: job)["x-reused"], "\(job)") == "r"
            }
            let plain = trusting(authority)
            let trust = #""serverTrust": {"policy": "custom", "anchors": "\#(CanaryScene.json(both))"}"#
            #expect(try await !isResumed(plain, service))
            #expect(try await isResumed(plain, service), "the same terms")
            #expect(try await !isResumed("\(plain), \(identity)", service), "another identity")
            #expect(try await !isResumed(trust, service), "other trust")
            #expect(try await !isResumed(plain, stranger), "another tenant")
            #expect(try await isResumed(plain, service))
            #expect(try await service.stop() == 0)
        }
    }

    // httpd lets everybody in who comes by a connection that a principal has come by.
    // Proves: SEC-21.
    @Test(.enabled(if: KerberosRealm.isInstalled && LoopbackServer.hasApache(modules: "auth_gssapi")))
    func `a connection that Negotiate has opened for one job lets no other in`() async throws {
        let realm = try await KerberosRealm()
        let server = try await LoopbackServer.apache(realm: realm, kerberosDirectives: ["GssapiConnectionBound On"])
        let rules = ["localhost", "127.0.0.1:\(server.port)", realm.address]
        let keytab = try Data(contentsOf: URL(filePath: realm.keytabOfJafar)).base64EncodedString()
        let credentials = [
            #"{"user": "aladdin@CAVE.TEST", "password": "\#(Cave.password)"}"#, "",
            #"{"user": "jafar@CAVE.TEST", "keytab": "\#(keytab)"}"#, "",
        ]
        try await ServiceProcess.with(allowing: rules, settings: ["KERBEROS_REALMS": realm.setting]) { service in
            var statuses: [Int?] = []
            for credential in credentials {
                let configuration = #", "configuration": {"authentication": {"credential": \#(credential)}}"#
                let job = try await service.fetch(
                    server.url("/kerberos/page", host: "localhost"), more: credential.isEmpty ? "" : configuration)
                statuses.append(member(job, "response", "status"))
            }
            #expect(statuses == [200, 401, 200, 401])
        }
        let users = try await server.accessLog(6).filter { $0.contains(" 200 ") }.compactMap {
            $0.split(separator: " ").last
        }
        #expect(users == ["aladdin@CAVE.TEST", "jafar@CAVE.TEST"])
    }

    // One address and one certificate for both.
    // Proves: SEC-21.
    @Test func `an HTTP 2 connection of one host carries no load for another that its certificate names`() async throws
    {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)", "localhost"]) { service in
            var connections: [String] = []
            for host in ["127.0.0.1", "localhost", "127.0.0.1", "localhost"] {
                let job = try await service.fetch(
                    "https://\(host):\(server.port)/", more: #", "configuration": {\#(trusting(authority))}"#)
                #expect(member(job, "response", "httpVersion") == "h2", "\(job)")
                connections.append(try await body(of: job, service))
            }
            #expect(connections[0] == connections[2] && connections[1] == connections[3])
            #expect(connections[0] != connections[1])
        }
    }

    // Bytes that are ready for the next request are not its response, wherever they came from.
    // Proves: SEC-26.
    @Test(arguments: [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "Content-Length: 2\r\n\r\nhi",
    ])
    func `a response behind a response is for nobody`(_ first: String) async throws {
        let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        let isPlain = !first.contains("chunked")
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let answer = head.contains("/first") ? first + (isPlain ? poison : "") : "Content-Length: 2\r\n\r\nmy"
                try connection.send("HTTP/1.1 200 OK\r\n" + answer)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for (path, expected) in [("/first", "hi"), ("/second", "my")] {
                let job = try await service.fetch(origin.url(path))
                #expect(try await body(of: job, service) == expected)
            }
        }
        #expect(origin.connections.count == 2)
    }

    // The connection for data goes to the server of the connection for control.
    // Proves: SEC-11.
    @Test func `an address that an FTP server names for its data is not gone to`() async throws {
        let data = try WireOrigin { try $0.send("here") }
        let place = "10,1,2,3,\(data.port / 256),\(data.port % 256)"
        let answers = [
            "USER": "230 In", "PWD": "257 \"/\"", "EPSV": "500 No", "PASV": "227 Passive (\(place))", "TYPE": "200 Ok",
            "SIZE": "213 4", "MDTM": "500 No", "RETR": "150 Here\r\n226 Done", "QUIT": "221 Bye",
        ]
        let origin = try WireOrigin { connection in
            try connection.send("220 Ready\r\n")
            while let line = try connection.receiveLine() {
                try connection.send("\(answers[String(line.prefix { $0 != " " })] ?? "500 No")\r\n")
            }
        }
        let rules = [origin.port, data.port].map { "127.0.0.1:\($0)" }
        try await ServiceProcess.with(allowing: rules, settings: ["SCHEMES_FTP": "true"]) { service in
            let job = try await service.fetch("ftp://127.0.0.1:\(origin.port)/file")
            #expect(try await body(of: job, service) == "here")
        }
        #expect(origin.count(of: "PASV") == 1)
    }

    // MARK: What goes along

    // Over two real servers, and back to the first.
    // Proves: SEC-31.
    @Test func `what a redirect to another origin drops does not come back with a redirect to the first`() async throws
    {
        let other = try await LoopbackServer.nginx(
            in: try TemporaryDirectory(),
            "absolute_redirect off; location = /back { return 302 http://127.0.0.1:$arg_to/seen; }")
        let origin = try await LoopbackServer.nginx(
            in: try TemporaryDirectory(),
            """
            location = /seen { return 200 "$http_authorization|$http_cookie|$http_x_own|$http_x_plain"; }
            location = /away { return 302 \(other.url("/back"))?to=$server_port; }
            """)
        let headers = [
            #"{"name": "Authorization", "value": "Bearer canary"}"#, #"{"name": "Cookie", "value": "a=canary"}"#,
            #"{"name": "X-Own", "value": "canary", "sensitive": true}"#, #"{"name": "X-Plain", "value": "plain"}"#,
        ]
        let request = #", "headers": [\#(headers.joined(separator: ", "))]"#
        try await ServiceProcess.with(allowing: [origin.rule, other.rule]) { service in
            let direct = try await service.fetch(origin.url("/seen"), request: request)
            #expect(try await body(of: direct, service) == "Bearer canary|a=canary|canary|plain")
            let led = try await service.fetch(origin.url("/away"), request: request)
            #expect(member(led, "response", "url") == origin.url("/seen"), "\(led)")
            #expect(try await body(of: led, service) == "|||plain")
        }
    }

    // Proves: SEC-27.
    @Test func `no text of a job adds a line to its request`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 204 No Content\r\n\r\n")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let paths = ["/%0d%0aX-Injected:%201", "/a?b=%0D%0AX-Injected: 1".replacing(" ", with: "%20"), "/\u{2028}"]
            for path in paths { _ = try await service.fetch(origin.url(path)) }
            #expect(origin.count(of: "GET /") == paths.count && !origin.received().contains("\nX-Injected"))
            let wrong = [
                #""method": "GET / HTTP/1.1\r\nX: ""#, #""method": "\#(String(repeating: "A", count: 33))""#,
                #""headers": [{"name": "X", "value": "a\r\nX-Injected: 1"}]"#,
                #""headers": [{"name": "X\r\nX-Injected", "value": "1"}]"#,
                #""headers": [{"name": ":path", "value": "/"}]"#,
                #""headers": [{"name": "Keep-Alive", "value": "1"}]"#,
                #""headers": [{"name": "Upgrade", "value": "h2c"}]"#,
                #""headers": [{"name": "Trailer", "value": "X"}]"#,
                #""method": "POST", "body": {"multipart": [{"name": "a\r\nX: 1", "text": "b"}]}"#,
            ]
            for one in wrong {
                let answer = try await service.request(
                    .post, "/v1/jobs", body: #"{"request": {"url": "\#(origin.url())", \#(one)}}"#,
                    headers: [.prefer: "wait=30"])
                let isSent = answer.status == 201 && member(answer.json, "state") == "succeeded"
                #expect(answer.status == 422 || isSent && one.contains("multipart"), "\(one): \(answer.text)")
            }
            let sent = origin.connections.indices.map { origin.received(on: $0) }.joined()
            #expect(!sent.contains("\nX: 1") && !sent.contains("\nX-Injected"))
        }
    }
}

extension WireConnection {
    /// Takes the next line without its end, or nil when the peer closed before one.
    fileprivate func receiveLine() throws -> String? {
        var line: [UInt8] = []
        while line.last != 10 {
            guard let byte = try? receive(1) else { return nil }
            line += byte
        }
        return String(decoding: line.dropLast(2), as: UTF8.self)
    }
}
