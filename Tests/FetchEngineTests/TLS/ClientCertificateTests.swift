import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Identities shown to nginx, which wants one, takes one, or does not ask.
@Suite struct ClientCertificateTests {
    /// An authority, a server of its own that wants clients of it, and such a client.
    private struct Rig {
        let authority: TestAuthority
        let server: LoopbackServer
        let client: ClientIdentity

        init(_ mode: String, protocols: String = "TLSv1.2 TLSv1.3") async throws {
            authority = try await TestAuthority(name: "Clients")
            client = try Rig.identity(try await authority.issue("client"), authority)
            server = try await Rig.server(authority, mode, protocols)
        }

        static func server(
            _ authority: TestAuthority, _ mode: String, _ protocols: String = "TLSv1.2 TLSv1.3"
        ) async throws -> LoopbackServer {
            try await LoopbackServer.nginxTLS(
                try await authority.issue("server"),
                directives: [
                    "ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client \(mode)",
                    "ssl_protocols \(protocols)",
                ])
        }

        static func identity(_ leaf: TestAuthority.Leaf, _ authority: TestAuthority) throws -> ClientIdentity {
            try ClientIdentity(certificateChain: leaf.certificate + authority.certificate, privateKey: leaf.key)
        }

        func session(_ delegate: (any SessionDelegate)? = nil, identity: ClientIdentity? = nil) -> Session {
            var configuration = SessionConfiguration()
            configuration.tls.anchors = .pem(authority.certificate)
            configuration.tls.clientIdentity = identity
            return Session(configuration: configuration, delegate: delegate)
        }

        var request: Request { get throws { Request(url: try URLRecord("https://localhost:\(server.port)/")) } }

        /// The verdict of nginx on the client: `SUCCESS CN=client 1`.
        func load(_ session: Session) async throws -> (status: Int, text: String) {
            let (body, response) = try await session.data(for: try request)
            return (response.status.code, String(decoding: body, as: UTF8.self))
        }
    }

    // Proves: AUT-27, FN-16, DLG-8.
    @Test(arguments: ["TLSv1.2", "TLSv1.3"])
    func `the configuration's identity is shown to a server that asks`(_ version: String) async throws {
        let rig = try await Rig("on", protocols: version)
        #expect(try await rig.load(rig.session(identity: rig.client)).text.hasPrefix("SUCCESS CN=client "))
    }

    // Proves: AUT-1, AUT-8, AUT-27.
    @Test(arguments: ["TLSv1.2", "TLSv1.3"])
    func `the delegate is asked, with the issuers that the server takes`(_ version: String) async throws {
        let rig = try await Rig("on", protocols: version)
        let client = rig.client
        let delegate = ChallengeAnswerer { _ in .useCredential(Credential(identity: client)) }
        #expect(try await rig.load(rig.session(delegate)).text.hasPrefix("SUCCESS CN=client "))
        let challenge = try #require(delegate.challenges.first)
        #expect(delegate.challenges.count == 1)
        #expect(challenge.protectionSpace.method == .clientCertificate)
        #expect(challenge.previousFailureCount == 0)
        #expect(client.isIssued(byOneOf: challenge.acceptableIssuers))
        #expect(!challenge.acceptableIssuers.isEmpty)
    }

    // The method that is there decides, the session's when both are: the other one would decide otherwise.
    // Proves: AUT-9.
    @Test(arguments: ["", "session", "task", "session task"], [true, false])
    func `the session's method is asked for an identity, the task's where the session has none`(
        _ methods: String, _ hasOne: Bool
    ) async throws {
        let rig = try await Rig("on")
        let show: ChallengeLog.Rule = { [client = rig.client] _ in .useCredential(Credential(identity: client)) }
        let goOn: ChallengeLog.Rule = { _ in .continueWithoutCredential }
        let (decides, differs) = hasOne ? (show, goOn) : (goOn, show)
        let (hasSession, hasTask) = (methods.contains("session"), methods.contains("task"))
        let log = ChallengeLog(
            session: hasSession ? decides : nil, task: hasTask ? hasSession ? differs : decides : nil)
        let answer = try await rig.load(rig.session(log))
        #expect(answer.text.hasPrefix("SUCCESS CN=client ") == (hasOne && !methods.isEmpty))
        #expect(answer.status == (hasOne && !methods.isEmpty ? 200 : 400))
        let asked = log.events.filter { $0.hasSuffix(" clientCertificate") }
        #expect(asked == (hasSession ? ["session clientCertificate"] : hasTask ? ["task clientCertificate"] : []))
    }

    /// Shows an identity to whoever it is asked about.
    private struct Showing: TaskDelegate {
        let identity: ClientIdentity
        func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
            .useCredential(Credential(identity: identity))
        }
    }

    /// The same, and wants to be asked.
    private struct Willing: TaskDelegate {
        let identity: ClientIdentity
        func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool { true }
        func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
            .useCredential(Credential(identity: identity))
        }
    }

    // What the configuration holds is shown all the same.
    // Proves: AUT-12.
    @Test func `a delegate is asked for an identity when it says so, and the configuration's is shown unasked`()
        async throws
    {
        let rig = try await Rig("on")
        let request = try rig.request
        let (unasked, asked) = (Showing(identity: rig.client), Willing(identity: rig.client))
        let session = rig.session()
        #expect(try await session.data(for: request, delegate: unasked).1.status.code == 400)
        #expect(try await session.data(for: request, delegate: asked).1.status.code == 200)
        let unwilling = ChallengeLog(session: { _ in .cancelAuthenticationChallenge }, unwanted: [.clientCertificate])
        #expect(try await rig.load(rig.session(unwilling, identity: rig.client)).status == 200)
        #expect(try await rig.load(rig.session(unwilling)).status == 400)
        #expect(unwilling.challenges.isEmpty)
    }

    @Test func `a server that only likes to see one is content without`() async throws {
        let rig = try await Rig("optional")
        for answer in [Challenge.Disposition.performDefaultHandling, .continueWithoutCredential] {
            let delegate = ChallengeAnswerer { _ in answer }
            #expect(try await rig.load(rig.session(delegate)).text.hasPrefix("NONE"))
            #expect(delegate.challenges.count == 1)
        }
        #expect(try await rig.load(rig.session()).text.hasPrefix("NONE"))
    }

    // nginx lets the handshake pass and answers 400; that is a response.
    @Test func `a server that wants one and answers gives its answer`() async throws {
        let rig = try await Rig("on")
        #expect(try await rig.load(rig.session()).status == 400)
    }

    @Test func `cancelling the challenge ends the load`() async throws {
        let rig = try await Rig("on")
        let delegate = ChallengeAnswerer { _ in .cancelAuthenticationChallenge }
        await expect(.userCancelledAuthentication) { try await rig.load(rig.session(delegate)) }
        #expect(try await rig.server.requestsByTLS().isEmpty)
    }

    // OpenSSL's own server ends the handshake with an alert, with TLS 1.3 only when the request was sent.
    // Proves: ERR-4.
    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a server that insists fails the load by name`(_ version: String) async throws {
        let origin = try TLSOrigin(options: ["-Verify", "1", "-verify_return_error", version])
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(origin.certificate)
        let request = Request(url: try URLRecord("https://localhost:\(origin.port)/"))
        await expect(.clientCertificateRequired) {
            try await Session(configuration: configuration).data(for: request)
        }
        let stranger = try await TestAuthority(name: "Stranger")
        configuration.tls.clientIdentity = try Rig.identity(try await stranger.issue("client"), stranger)
        await expect(.clientCertificateRejected) {
            try await Session(configuration: configuration).data(for: request)
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a refused identity is proposed again once, and the failure counted`(_ version: String) async throws {
        let origin = try TLSOrigin(options: ["-Verify", "1", "-verify_return_error", version])
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(origin.certificate)
        let stranger = try await TestAuthority(name: "Stranger")
        let identity = try Rig.identity(try await stranger.issue("client"), stranger)
        let delegate = ChallengeAnswerer { _ in .useCredential(Credential(identity: identity)) }
        let session = Session(configuration: configuration, delegate: delegate)
        await expect(.clientCertificateRejected) {
            try await session.data(for: Request(url: try URLRecord("https://localhost:\(origin.port)/")))
        }
        #expect(delegate.challenges.map(\.previousFailureCount) == [0, 1])
        #expect(delegate.challenges.map { $0.proposedCredential == nil } == [true, false])
    }

    // TLS 1.2 shakes hands anew, TLS 1.3 authenticates after the handshake (RFC 8446 §4.6.2).
    // Proves: AUT-27.
    @Test(.enabled(if: LoopbackServer.httpd != nil), arguments: ["TLSv1.2", "TLSv1.3"])
    func `httpd, which asks for one in one folder only, gets it there`(_ version: String) async throws {
        let (authority, directory) = (try await TestAuthority(name: "Clients"), try TemporaryDirectory())
        let (leaf, client) = (try await authority.issue("server"), try await authority.issue("client"))
        let httpd = try await LoopbackServer.httpd(
            in: directory, modules: ["ssl"],
            """
            SSLEngine on
            SSLProtocol \(version)
            SSLSessionCache none
            SSLCertificateFile \(leaf.certificatePath)
            SSLCertificateKeyFile \(leaf.keyPath)
            SSLCACertificateFile \(authority.certificatePath)
            <Location /members>
            SSLVerifyClient require
            </Location>
            """)
        try directory.write("open", to: "root/open")
        try directory.write("secret", to: "root/members/file")
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        configuration.tls.clientIdentity = try Rig.identity(client, authority)
        let session = Session(configuration: configuration)
        for (path, content) in [("open", "open"), ("members/file", "secret"), ("members/file", "secret")] {
            let url = try URLRecord("https://localhost:\(httpd.port)/\(path)")
            let (body, response) = try await session.data(for: Request(url: url))
            #expect(response.status == .ok && String(decoding: body, as: UTF8.self) == content, "\(path)")
        }
    }

    // Proves: RED-11, SEC-31.
    @Test func `the identity is not shown to another origin after a redirect`() async throws {
        let rig = try await Rig("on")
        let other = try await Rig.server(rig.authority, "optional")
        let origin = try await LoopbackServer.nginxTLS(
            try await rig.authority.issue("first"),
            directives: [
                "ssl_client_certificate \(rig.authority.certificatePath)", "ssl_verify_client on",
                "location /go { return 302 https://localhost:\(other.port)/; }",
            ])
        let session = rig.session(identity: rig.client)
        let (body, response) = try await session.data(
            for: Request(url: try URLRecord("https://localhost:\(origin.port)/go")))
        #expect(response.status.code == 200)
        #expect(String(decoding: body, as: UTF8.self).hasPrefix("NONE"))
    }

    // Proves: NET-9, AUT-27, SEC-21.
    @Test func `a connection is not shared between identities`() async throws {
        let rig = try await Rig("optional")
        let second = try Rig.identity(try await rig.authority.issue("second"), rig.authority)
        let session = rig.session()
        var answers: [String] = []
        for identity in [nil, rig.client, second, rig.client, nil] {
            var configuration = session.configuration
            configuration.tls.clientIdentity = identity
            let (body, _) = try await session.data(for: try rig.request, configuration: configuration)
            answers.append(String(decoding: body, as: UTF8.self))
        }
        #expect(answers[0].hasPrefix("NONE"))
        #expect(answers[1].hasPrefix("SUCCESS CN=client "))
        #expect(answers[2].hasPrefix("SUCCESS CN=second "))
        // Each went back to its own connection, and no other.
        #expect(answers[3] == answers[1])
        #expect(answers[4] == answers[0])
    }

    @Test func `what one identity was given is not given to another from the cache`() async throws {
        let rig = try await Rig("optional")
        let (session, cache) = (rig.session(), MemoryResponseCache())
        var sources: [Response.Source] = []
        for identity in [rig.client, nil, rig.client, nil] {
            var configuration = session.configuration
            configuration.tls.clientIdentity = identity
            configuration.urlCache = cache
            var request = try rig.request
            request.cachePolicy = .returnCacheDataElseLoad
            let (body, response) = try await session.data(for: request, configuration: configuration)
            #expect(String(decoding: body, as: UTF8.self).hasPrefix(identity == nil ? "NONE" : "SUCCESS"))
            sources.append(response.source)
        }
        #expect(sources == [.network, .network, .cache, .cache])
    }
}
