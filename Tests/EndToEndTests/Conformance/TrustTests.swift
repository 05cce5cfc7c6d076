import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Each server has beside its configuration the files of jobs: the authority as `anchor.pem`, and an identity of it.
private func trustedAndOther() async throws -> [String: LoopbackServer] {
    let authority = try await TestAuthority()
    let client = try await authority.issue("client")
    let file = try await authority.pkcs12(client, passphrase: "open sesame")
    let leaves = [
        "good": try await authority.issue("good"), "selfSigned": try await authority.issue("s", selfSigned: true),
        "alsoSelfSigned": try await authority.issue("t", selfSigned: true),
        "stranger": try await TestAuthority(name: "Stranger").issue("x"),
        "past": try await authority.issue("past", valid: .past),
        "future": try await authority.issue("future", valid: .future),
        "otherName": try await authority.issue("other", alternatives: "DNS:other.example"),
        "old": try await authority.issue("old"), "asking": try await authority.issue("asking"),
        "revoked": try await authority.issue("revoked"), "stapling": try await authority.issue("stapling"),
        "alsoAsking": try await authority.issue("also"),
    ]
    let list = try await authority.revoke(try #require(leaves["revoked"]))
    let stapled = try await authority.stapledStatus(of: try #require(leaves["stapling"]))
    let authorities = "ssl_client_certificate \(authority.certificatePath)"
    let directives = [
        "old": ["ssl_protocols TLSv1.2"], "alsoAsking": ["ssl_verify_client optional", authorities],
        "asking": [
            "ssl_verify_client on", authorities,
            "location ~ ^/to/(\\d+)/ { return 302 https://127.0.0.1:$1/; }",
        ],
        "good": [
            "ssl_protocols TLSv1.2 TLSv1.3",
            "location ~ ^/down/(\\d+)/(.*)$ { return 302 http://127.0.0.1:$1/$2; }",
            "location ~ ^/via/(\\d+)/(.*)$ { proxy_pass http://127.0.0.1:$1/$2; "
                + "add_header X-Connection $connection; }",
        ],
        "stapling": ["ssl_stapling on", "ssl_stapling_file \(stapled)"],
    ]
    var servers: [String: LoopbackServer] = [:]
    for (name, leaf) in leaves {
        // libcurl looks for the issuer of a status among the certificates of the server.
        let chain = name == "stapling" ? authority.certificate : []
        let server = try await LoopbackServer.nginxTLS(leaf, chain: chain, directives: directives[name] ?? [])
        try server.directory.write(list, to: "list.pem")
        try server.directory.write(authority.certificate, to: "anchor.pem")
        try server.directory.write(leaf.certificate, to: "leaf.pem")
        try server.directory.write(client.certificate, to: "client.pem")
        try server.directory.write(client.key, to: "client.key")
        try server.directory.write(Data(file).base64EncodedString(), to: "client.p12")
        let identity = try ClientIdentity(certificateChain: leaf.certificate, privateKey: leaf.key)
        let trust = ServerTrust(
            host: "", port: server.port, certificates: identity.certificates, verdict: .trusted)
        try server.directory.write(try #require(trust.publicKeyFingerprint).description, to: "pin")
        servers[name] = server
    }
    return servers
}

/// The servers that jobs trust, and their client certificates, at nginx with certificates of private authorities.
@Suite(.sharedService { try await trustedAndOther() }) struct TrustTests {
    func text(_ server: LoopbackServer, _ file: String) -> String {
        server.directory.text(of: file).replacing("\n", with: "\\n")
    }

    /// A configuration that trusts the authority of a server's file, and none else.
    func trusting(_ file: String = "anchor.pem", of server: LoopbackServer, _ more: String = "") -> String {
        #""serverTrust": {"policy": "custom", "anchors": "\#(text(server, file))"\#(more)}"#
    }

    func url(_ server: LoopbackServer) -> String { "https://127.0.0.1:\(server.port)/" }

    // Before a byte of the request.
    // Proves: AUT-28, ERR-1, ERR-4.
    @Test(arguments: [
        ("selfSigned", "serverCertificateHasUnknownRoot", -1203),
        ("stranger", "serverCertificateHasUnknownRoot", -1203),
        ("past", "serverCertificateHasBadDate", -1201), ("future", "serverCertificateNotYetValid", -1204),
        ("otherName", "serverCertificateUntrusted", -1202),
    ])
    func `a bad certificate is refused by name, and nothing is sent`(_ name: String, _ code: String, _ number: Int)
        async throws
    {
        let rig = try SharedService.current
        let server = try rig.server(name)
        let earlier = try await server.requestsByTLS()
        let job = try await rig.fetch(url(server), configuration: trusting(of: server))
        #expect(errorName(of: job) == code && member(job, "error", "code") == number, "\(job)")
        #expect(member(job, "error", "retriable") == false)
        #expect(try await server.requestsByTLS() == earlier)
    }

    // A root that the system does not know is not trusted, and no switch turns that off.
    // Proves: AUT-28.
    @Test func `who is trusted is the job's choice, and the system's by default`() async throws {
        let rig = try SharedService.current
        let server = try rig.server("good")
        #expect(errorName(of: try await rig.fetch(url(server))) == "serverCertificateHasUnknownRoot")
        let trusted = try await rig.fetch(url(server), configuration: trusting(of: server))
        #expect(status(of: trusted) == 200, "\(trusted)")
        for policy in ["insecure", "none"] {
            let answer = try await rig.service.request(
                .post, "/v1/jobs",
                body: #"{"request": "\#(url(server))", "configuration": {"serverTrust": {"policy": "\#(policy)"}}}"#)
            #expect(answer.status == 422)
        }
    }

    // OpenSSL's own server ends the handshake with an alert.
    // Proves: ERR-4.
    @Test func `a server that insists on an identity that it trusts refuses a stranger's by name`() async throws {
        let origin = try TLSOrigin(options: ["-Verify", "1", "-verify_return_error"])
        let stranger = try await TestAuthority(name: "Stranger").issue("client")
        let rules = ["127.0.0.1:\(origin.port)", "localhost"]
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).replacing("\n", with: "\\n") }
        try await ServiceProcess.with(allowing: rules) { service in
            let trust = #""serverTrust": {"policy": "custom", "anchors": "\#(text(origin.certificate))"}"#
            let identity =
                #""authentication": {"credential": {"certificateChain": "\#(text(stranger.certificate))", "#
                + #""privateKey": "\#(text(stranger.key))"}}"#
            for (configuration, name, code) in [
                (trust, "clientCertificateRequired", -1206),
                ("\(trust), \(identity)", "clientCertificateRejected", -1205),
            ] {
                let job = try await service.fetch(
                    "https://localhost:\(origin.port)/",
                    more: #", "configuration": {\#(configuration), "retry": {"maximumAttempts": 1}}"#)
                #expect(errorName(of: job) == name && member(job, "error", "code") == code, "\(job)")
            }
        }
    }

    // nginx logs the version of its side.
    // Proves: BEY-1.
    @Test(arguments: [("good", "TLSv1.3"), ("old", "TLSv1.2")])
    func `a transfer tells the version and the cipher of its connection`(_ name: String, _ version: String)
        async throws
    {
        let rig = try SharedService.current
        let server = try rig.server(name)
        let job = try await rig.fetch(url(server), configuration: trusting(of: server))
        let transfer = try #require(
            member(job, "attempts", "0", "metrics", "0", as: [String: Any].self), "\(job)")
        #expect(transfer["tlsProtocolVersion"] as? String == version)
        let cipher = try #require(transfer["tlsCipherSuite"] as? String)
        #expect(cipher.hasPrefix(version == "TLSv1.3" ? "TLS_" : "ECDHE-"), "\(cipher)")
        let times = try #require(transfer["secureConnection"] as? [Double])
        #expect(times.count == 2 && times[0] <= times[1])
        #expect(try await server.requestsByTLS().last?.hasSuffix(version) == true)
    }

    // Nginx answers plain HTTP there with 400.
    // Proves: BEY-19, RED-7.
    @Test func `a host is reached by https alone where a job says so, and the job tells it`() async throws {
        let rig = try SharedService.current
        let server = try rig.server("good")
        let plain = "http://127.0.0.1:\(server.port)/"
        let without = try await rig.fetch(plain, configuration: trusting(of: server))
        #expect(status(of: without) == 400 && member(without, "redirects", as: [Any].self) == nil, "\(without)")
        let list = #", "tls": {"strictTransport": ["127.0.0.1", "*.example"]}"#
        let job = try await rig.fetch(plain, configuration: trusting(of: server) + list)
        #expect(status(of: job) == 200 && member(job, "response", "url") == url(server), "\(job)")
        let told = try #require(member(job, "redirects", "0", as: [String: Any].self), "\(job)")
        #expect(member(told, "cause") == "strictTransport" && member(told, "status") == 307)
        #expect(member(told, "url") == plain && member(told, "location") == url(server))
        let events = try await rig.followed(
            #""request": "\#(plain)", "configuration": {\#(trusting(of: server) + list)}"#)
        try #require(events.map(\.name) == ["job.started", "job.canonicalized", "job.response", "job.finished"])
        #expect(member(events[1].data, "original") == plain && member(events[1].data, "canonical") == url(server))
        #expect(member(events[1].data, "reason") == "strictTransport")
    }

    // Proves: AUT-29.
    @Test func `one self-signed certificate can be trusted, and another one is not`() async throws {
        let rig = try SharedService.current
        let (mine, other) = (try rig.server("selfSigned"), try rig.server("alsoSelfSigned"))
        let trust = trusting("leaf.pem", of: mine)
        let accepted = try await rig.fetch(url(mine), configuration: trust)
        #expect(status(of: accepted) == 200, "\(accepted)")
        #expect(
            errorName(of: try await rig.fetch(url(other), configuration: trust)) == "serverCertificateHasUnknownRoot")
    }

    // Proves: BEY-19, AUT-28.
    @Test func `a pin is for the key that it names`() async throws {
        let rig = try SharedService.current
        let (good, past) = (try rig.server("good"), try rig.server("past"))
        let pinned = { #", "pins": [{"sha256": "\#(text($0, "pin"))"}]"# }
        let right = try await rig.fetch(url(good), configuration: trusting(of: good, pinned(good)))
        #expect(status(of: right) == 200, "\(right)")
        let wrong = try await rig.fetch(url(good), configuration: trusting(of: good, pinned(past)))
        #expect(errorName(of: wrong) == "serverCertificateUntrusted", "\(wrong)")
    }

    // Proves: SES-10, SEC-23.
    @Test func `the versions of TLS have bounds`() async throws {
        let rig = try SharedService.current
        let old = try rig.server("old")
        let job = try await rig.fetch(url(old), configuration: trusting(of: old))
        #expect(member(job, "attempts", "0", "metrics", "0", "tlsProtocolVersion") == "TLSv1.2")
        let newer = try await rig.fetch(
            url(old), configuration: trusting(of: old) + #", "tls": {"minimumVersion": "1.3"}"#)
        #expect(errorName(of: newer) == "secureConnectionFailed", "\(newer)")
        let good = try rig.server("good")
        let bounded = try await rig.fetch(
            url(good), configuration: trusting(of: good) + #", "tls": {"maximumVersion": "1.2"}"#)
        #expect(member(bounded, "attempts", "0", "metrics", "0", "tlsProtocolVersion") == "TLSv1.2")
    }

    // The identity is the job's, and so is the connection.
    // Proves: AUT-27, NET-9, CRD-1.
    @Test func `a server that asks for a certificate is shown the job's`() async throws {
        let rig = try SharedService.current
        let (server, session) = (try rig.server("asking"), try await rig.makeSession())
        let identity =
            #""authentication": {"credential": {"certificateChain": "\#(text(server, "client.pem"))", "#
            + #""privateKey": "\#(text(server, "client.key"))"}}"#
        let trust = trusting(of: server)
        let known = try await rig.fetch(url(server), configuration: identity + ", " + trust, session: session)
        #expect(status(of: known) == 200, "\(known)")
        #expect(try await rig.text(of: known).hasPrefix("SUCCESS CN=client "))
        #expect(!"\(known)".contains("PRIVATE KEY"))
        // The same session, and not that connection.
        let unknown = try await rig.fetch(url(server), configuration: trust, session: session)
        #expect(status(of: unknown) == 400 || errorName(of: unknown) == "clientCertificateRequired", "\(unknown)")
    }

    // Proves: AUT-8.
    @Test(arguments: [(#""clientCertificate""#, true), (#""basic", "digest", "ntlm""#, false)])
    func `a server that asks for a certificate is shown the job's where its methods have that`(
        _ methods: String, _ isShown: Bool
    ) async throws {
        let rig = try SharedService.current
        let server = try rig.server("alsoAsking")
        let identity =
            #""authentication": {"credential": {"certificateChain": "\#(text(server, "client.pem"))", "#
            + #""privateKey": "\#(text(server, "client.key"))"}, "methods": [\#(methods)]}, "# + trusting(of: server)
        let job = try await rig.fetch(url(server), configuration: identity)
        #expect(try await rig.text(of: job).hasPrefix(isShown ? "SUCCESS CN=client " : "NONE "), "\(job)")
    }

    // The question has the chain as the server showed it, before a byte of the request; what is accepted is that chain.
    // Proves: AUT-28.
    @Test(arguments: [
        ("selfSigned", "serverCertificateHasUnknownRoot"), ("stranger", "serverCertificateHasUnknownRoot"),
        ("past", "serverCertificateHasBadDate"), ("future", "serverCertificateNotYetValid"),
        ("otherName", "serverCertificateUntrusted"),
    ])
    func `a delegate is shown a bad chain with its fault, and accepts or rejects it`(_ name: String, _ code: String)
        async throws
    {
        let rig = try SharedService.current
        let server = try rig.server(name)
        let leaf = text(server, "leaf.pem").replacing("\\n", with: "\n")
        for word in ["reject", "accept"] {
            let earlier = try await server.requestsByTLS()
            let id = try await rig.service.submit(
                url(server), asking: #"["didReceiveServerTrust"]"#,
                configuration: ", " + trusting(of: server) + #", "retry": {"maximumAttempts": 1}"#)
            let question = try await rig.service.question(of: id)
            #expect(member(question, "facts", "host") == "127.0.0.1")
            #expect(member(question, "facts", "port") == Int(server.port))
            #expect(member(question, "facts", "verdict") == "rejected" && member(question, "facts", "error") == code)
            let pem = member(question, "facts", "chain", "0", "pem", as: String.self) ?? ""
            #expect(pem.trimmingCharacters(in: .newlines) == leaf.trimmingCharacters(in: .newlines))
            #expect(member(question, "facts", "spki") == text(server, "pin"), "\(question)")
            #expect(try await server.requestsByTLS() == earlier)
            #expect(try await rig.service.answer(question, "\"\(word)\"").status == 200)
            let job = try await rig.service.end(of: id)
            if word == "accept" {
                #expect(status(of: job) == 200, "\(job)")
            } else {
                #expect(errorName(of: job) == code, "\(job)")
                #expect(try await server.requestsByTLS() == earlier)
            }
        }
    }

    // Proves: BEY-19.
    @Test func `what is revoked, or has no status where one is wanted, is refused before a request`() async throws {
        let rig = try SharedService.current
        let (good, revoked) = (try rig.server("good"), try rig.server("revoked"))
        let list = trusting(of: good, #", "revocationLists": "\#(text(revoked, "list.pem"))""#)
        #expect(status(of: try await rig.fetch(url(good), configuration: list)) == 200)
        let refused = try await rig.fetch(url(revoked), configuration: list)
        #expect(errorName(of: refused) == "serverCertificateUntrusted", "\(refused)")
        let stapled = trusting(of: good, #", "requiresStapledStatus": true"#)
        #expect(status(of: try await rig.fetch(url(try rig.server("stapling")), configuration: stapled)) == 200)
        let silent = try await rig.fetch(url(good), configuration: stapled)
        #expect(errorName(of: silent) == "serverCertificateUntrusted", "\(silent)")
    }

    // R12
    // Proves: NET-1, SES-13.
    @Test func `jobs of one session share an HTTP 2 connection, and HTTP 1 can be had`() async throws {
        let rig = try SharedService.current
        let server = try rig.server("good")
        let session = try await rig.makeSession(#"{"configuration": {\#(trusting(of: server))}}"#)
        var connections: Set<String> = []
        for _ in 0..<3 {
            let job = try await rig.fetch(url(server), session: session)
            #expect(member(job, "attempts", "0", "metrics", "0", "networkProtocolName") == "h2")
            connections.insert(try await rig.text(of: job))
        }
        #expect(connections.count == 1)
        let old = try await rig.fetch(
            url(server), configuration: #""connections": {"httpVersion": "1.1"}"#, session: session)
        #expect(member(old, "attempts", "0", "metrics", "0", "networkProtocolName") == "http/1.1")
        #expect(member(old, "response", "httpVersion") == "http/1.1")
    }

    // Proves: BEY-15.
    @Test func `HTTP 3 is refused, as long as it is not spoken`() async throws {
        let rig = try SharedService.current
        let body = #"{"request": "https://a.example/", "configuration": {"connections": {"httpVersion": "3"}}}"#
        let answer = try await rig.service.request(.post, "/v1/jobs", body: body)
        #expect(answer.status == 422)
        #expect(member(answer.json, "errors", "0", "pointer") == "/configuration/connections/httpVersion")
    }
}
