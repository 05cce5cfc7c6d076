import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The trust in servers, against nginx with a private authority.
@Suite struct ServerTrustTests {
    private static func request(_ server: LoopbackServer, host: String = "localhost") throws -> Request {
        Request(url: try URLRecord("https://\(host):\(server.port)/"))
    }

    private static func session(
        _ authority: TestAuthority?, _ delegate: ChallengeAnswerer? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        if let authority { configuration.tls.anchors = .pem(authority.certificate) }
        change(&configuration)
        return Session(configuration: configuration, delegate: delegate)
    }

    private static func status(_ session: Session, _ request: Request) async throws -> Int {
        try await session.data(for: request).1.status.code
    }

    // Every bad certificate is refused before a byte of the request is sent, and has its name.
    // Proves: AUT-28, ERR-4, SEC-23.
    @Test func `a bad certificate is refused by name, and no request is sent`() async throws {
        let authority = try await TestAuthority()
        let cases: [(TestAuthority.Leaf, LoadError.Code)] = [
            (try await authority.issue("self", selfSigned: true), .serverCertificateHasUnknownRoot),
            (try await TestAuthority(name: "Stranger").issue("strange"), .serverCertificateHasUnknownRoot),
            (try await authority.issue("past", valid: .past), .serverCertificateHasBadDate),
            (try await authority.issue("future", valid: .future), .serverCertificateNotYetValid),
            (try await authority.issue("other", alternatives: "DNS:other.example"), .serverCertificateUntrusted),
        ]
        for (leaf, code) in cases {
            let server = try await LoopbackServer.nginxTLS(leaf)
            await expect(code) { try await Self.session(authority).data(for: Self.request(server)) }
            #expect(try await server.requestsByTLS().isEmpty)
        }
    }

    @Test func `a certificate without alternative names is for no host, whatever its common name`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("localhost", alternatives: nil))
        let request = Request(url: try URLRecord("https://localhost:\(server.port)/"))
        await expect(.serverCertificateHasNoName) { try await Self.session(authority).data(for: request) }
        await expect(.serverCertificateHasNoName) {
            try await Self.session(authority).data(for: Self.request(server))
        }
        let delegate = ChallengeAnswerer { _ in .performDefaultHandling }
        await expect(.serverCertificateHasNoName) {
            try await Self.session(authority, delegate).data(for: request)
        }
        #expect(delegate.challenges.count == 1)
        #expect(try await server.requestsByTLS().isEmpty)
    }

    @Test func `a delegate that knows nothing better leaves the verdict as it is`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("past", valid: .past))
        let delegate = ChallengeAnswerer { _ in .performDefaultHandling }
        await expect(.serverCertificateHasBadDate) {
            try await Self.session(authority, delegate).data(for: Self.request(server))
        }
        #expect(delegate.challenges.count == 1)
        #expect(try await server.requestsByTLS().isEmpty)
    }

    // Proves: AUT-1, AUT-8, AUT-28, FN-16.
    @Test func `the delegate sees the chain, the verdict and the connection`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("past", valid: .past)
        let server = try await LoopbackServer.nginxTLS(
            leaf, chain: authority.certificate, directives: ["ssl_protocols TLSv1.3"])
        let delegate = ChallengeAnswerer { _ in .cancelAuthenticationChallenge }
        await expect(.userCancelledAuthentication) {
            try await Self.session(authority, delegate).data(for: Self.request(server))
        }
        let challenge = try #require(delegate.challenges.first)
        #expect(challenge.protectionSpace.method == .serverTrust)
        #expect(challenge.protectionSpace.host == "localhost")
        #expect(challenge.protectionSpace.port == server.port)
        let trust = try #require(challenge.serverTrust)
        let identity = try ClientIdentity(
            certificateChain: leaf.certificate + authority.certificate, privateKey: leaf.key)
        #expect(trust.certificates == identity.certificates)
        #expect(trust.fingerprint == identity.fingerprint)
        #expect(trust.verdict == .rejected(.serverCertificateHasBadDate, reason: "certificate has expired"))
        #expect(trust.protocolVersion == "TLSv1.3")
        #expect(trust.cipherSuite.hasPrefix("TLS_"))
    }

    // The method that is there decides, the session's when both are: the other one would decide otherwise.
    // Proves: AUT-9, AUT-11.
    @Test(arguments: ["", "session", "task", "session task"], [true, false])
    func `the session's method decides about a chain, the task's where the session has none`(
        _ methods: String, _ isAccepted: Bool
    ) async throws {
        let server = try await LoopbackServer.nginxTLS(
            try await TestAuthority().issue("self", selfSigned: true))
        let accept: ChallengeLog.Rule = { .useCredential(Credential(trust: $0.serverTrust!)) }
        let cancel: ChallengeLog.Rule = { _ in .cancelAuthenticationChallenge }
        let (decides, differs) = isAccepted ? (accept, cancel) : (cancel, accept)
        let (hasSession, hasTask) = (methods.contains("session"), methods.contains("task"))
        let log = ChallengeLog(
            session: hasSession ? decides : nil, task: hasTask ? hasSession ? differs : decides : nil)
        let session = Session(delegate: log)
        if methods.isEmpty || !isAccepted {
            await expect(methods.isEmpty ? .serverCertificateHasUnknownRoot : .userCancelledAuthentication) {
                try await session.data(for: Self.request(server))
            }
            #expect(try await server.requestsByTLS().isEmpty)
        } else {
            #expect(try await Self.status(session, Self.request(server)) == 200)
        }
        let asked = log.events.filter { $0.hasSuffix(" serverTrust") }
        #expect(asked == (hasSession ? ["session serverTrust"] : hasTask ? ["task serverTrust"] : []))
    }

    /// Accepts every chain that it is asked about.
    private struct Accepting: TaskDelegate {
        func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
            challenge.serverTrust.map { .useCredential(Credential(trust: $0)) } ?? .performDefaultHandling
        }
    }

    /// The same, and wants to be asked.
    private struct Willing: TaskDelegate {
        func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool { true }
        func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
            await Accepting().task(task, didReceive: challenge)
        }
    }

    // Proves: AUT-12.
    @Test func `a delegate is asked about a chain when it says so, the session's unless it says no`() async throws {
        let server = try await LoopbackServer.nginxTLS(
            try await TestAuthority().issue("self", selfSigned: true))
        let accept: ChallengeLog.Rule = { .useCredential(Credential(trust: $0.serverTrust!)) }
        let request = try Self.request(server)
        let session = Session()
        await expect(.serverCertificateHasUnknownRoot) { try await session.data(for: request, delegate: Accepting()) }
        #expect(try await session.data(for: request, delegate: Willing()).1.status.code == 200)
        let unwilling = ChallengeLog(session: accept, task: accept, unwanted: [.serverTrust])
        await expect(.serverCertificateHasUnknownRoot) { try await Session(delegate: unwilling).data(for: request) }
        #expect(unwilling.challenges.isEmpty)
        // The task's delegate that is not asked does not speak for the session's.
        let log = ChallengeLog(session: accept)
        let (_, response) = try await Session(delegate: log).data(for: request, delegate: Accepting())
        #expect(response.status.code == 200 && log.events.first == "session serverTrust")
    }

    // Proves: AUT-28.
    @Test func `a chain that the delegate accepts is loaded from, for this task`() async throws {
        let server = try await LoopbackServer.nginxTLS(
            try await TestAuthority().issue("self", alternatives: "DNS:other.example", selfSigned: true))
        let delegate = ChallengeAnswerer { .useCredential(Credential(trust: $0.serverTrust!)) }
        let session = Self.session(nil, delegate)
        #expect(try await Self.status(session, Self.request(server)) == 200)
        #expect(delegate.challenges.count == 1)
        #expect(try await Self.status(session, Self.request(server)) == 200)
        #expect(delegate.challenges.count == 2)
    }

    // Proves: AUT-29.
    @Test func `accepting another chain than the one shown accepts nothing`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("self", selfSigned: true))
        let delegate = ChallengeAnswerer { challenge in
            .useCredential(
                Credential(
                    trust: ServerTrust(host: "localhost", port: 1, certificates: [[1]], verdict: .trusted)))
        }
        await expect(.serverCertificateHasUnknownRoot) {
            try await Self.session(authority, delegate).data(for: Self.request(server))
        }
    }

    // Proves: AUT-29, DLG-8.
    @Test func `one self-signed certificate can be accepted, and another of the same host is not`() async throws {
        let authority = try await TestAuthority()
        let (mine, other) = (
            try await authority.issue("mine", selfSigned: true), try await authority.issue("other", selfSigned: true)
        )
        let fingerprint = try ClientIdentity(certificateChain: mine.certificate, privateKey: mine.key).fingerprint
        let session = Self.session(nil) {
            $0.tls.acceptedCertificates = [AcceptedCertificate(HostPattern("localhost")!, fingerprint)]
        }
        let (good, bad) = (try await LoopbackServer.nginxTLS(mine), try await LoopbackServer.nginxTLS(other))
        #expect(try await Self.status(session, Self.request(good)) == 200)
        await expect(.serverCertificateHasUnknownRoot) { try await session.data(for: Self.request(bad)) }
        // The pattern is for the name alone.
        await expect(.serverCertificateHasUnknownRoot) {
            try await session.data(for: Self.request(good, host: "127.0.0.1"))
        }
        #expect(try await bad.requestsByTLS().isEmpty)
    }

    // An accepted certificate turns libcurl's look at the name off, so the engine's own must not be lost with it.
    @Test func `a certificate that is accepted lets no other one pass for its host`() async throws {
        let authority = try await TestAuthority()
        let wrong = try await authority.issue("wrong", alternatives: "DNS:other.example")
        let server = try await LoopbackServer.nginxTLS(wrong)
        let session = Self.session(authority) {
            $0.tls.acceptedCertificates = [AcceptedCertificate(.all, Fingerprint(of: [1]))]
        }
        await expect(.serverCertificateUntrusted) { try await session.data(for: Self.request(server)) }
        #expect(try await server.requestsByTLS().isEmpty)
    }

    @Test func `a trusted server is asked about only when the delegate is to be asked about all`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("good"))
        let silent = ChallengeAnswerer { _ in .cancelAuthenticationChallenge }
        #expect(try await Self.status(Self.session(authority, silent), Self.request(server)) == 200)
        #expect(silent.challenges.isEmpty)
        for (answer, code) in [
            (Challenge.Disposition.performDefaultHandling, nil),
            (.rejectProtectionSpace, LoadError.Code.serverCertificateUntrusted),
        ] {
            let delegate = ChallengeAnswerer { _ in answer }
            let session = Self.session(authority, delegate) { $0.tls.asksAboutTrustedServers = true }
            if let code {
                await expect(code) { try await session.data(for: Self.request(server)) }
            } else {
                #expect(try await Self.status(session, Self.request(server)) == 200)
            }
            #expect(delegate.challenges.count == 1)
            #expect(delegate.challenges.first?.serverTrust?.verdict == .trusted)
        }
    }

    // Proves: BEY-19.
    @Test func `a server must have a key that is pinned for it`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("good")
        let server = try await LoopbackServer.nginxTLS(leaf)
        let identity = try ClientIdentity(certificateChain: leaf.certificate, privateKey: leaf.key)
        let trust = ServerTrust(
            host: "localhost", port: 1, certificates: identity.certificates, verdict: .trusted)
        let key = try #require(trust.publicKeyFingerprint)
        let (localhost, elsewhere) = (HostPattern("localhost")!, HostPattern("*.example")!)
        let (right, wrong) = (PublicKeyPin(localhost, key), PublicKeyPin(localhost, Fingerprint(of: [1])))
        let cases = [
            ("/right", [right], true), ("/wrong", [wrong], false), ("/either", [wrong, right], true),
            ("/elsewhere", [PublicKeyPin(elsewhere, Fingerprint(of: [1]))], true),
        ]
        for (path, pins, isGood) in cases {
            let session = Self.session(authority) { $0.tls.pins = pins }
            let request = Request(url: try URLRecord("https://localhost:\(server.port)\(path)"))
            if isGood {
                #expect(try await Self.status(session, request) == 200)
            } else {
                await expect(.serverCertificateUntrusted) { try await session.data(for: request) }
            }
        }
        // nginx writes them in their order: one that should not have come would be before the last.
        let paths = try await server.accessLog(3).map { $0.split(separator: " ")[4] }
        #expect(paths == ["/right", "/either", "/elsewhere"])
    }

    // Proves: BEY-19.
    @Test func `a revoked certificate is refused, another of the same authority is not`() async throws {
        let (authority, other) = (try await TestAuthority(), try await TestAuthority(name: "Other"))
        let (good, bad) = (try await authority.issue("good"), try await authority.issue("bad"))
        let lists = try RevocationLists(pem: try await authority.revoke(bad))
        let session = Self.session(authority) { $0.tls.revocationLists = lists }
        let (goodServer, badServer) = (
            try await LoopbackServer.nginxTLS(good), try await LoopbackServer.nginxTLS(bad)
        )
        #expect(try await Self.status(session, Self.request(goodServer)) == 200)
        await expect(.serverCertificateUntrusted) { try await session.data(for: Self.request(badServer)) }
        #expect(try await badServer.requestsByTLS().isEmpty)
        // Where there is no list of the issuer's nothing is known.
        let unrelated = try RevocationLists(pem: try await other.revocationList())
        let trusting = Self.session(authority) { $0.tls.revocationLists = unrelated }
        #expect(try await Self.status(trusting, Self.request(badServer)) == 200)
    }

    @Test(arguments: ["truncated", "damaged", "none"])
    func `lists are read whole or not at all`(_ fault: String) async throws {
        let list = String(decoding: try await TestAuthority().revocationList(), as: UTF8.self)
        let text =
            switch fault {
            case "truncated": list + list.dropLast(40)
            case "damaged": list + list.replacing("\nM", with: "\n!", maxReplacements: 1)
            default: "-----BEGIN CERTIFICATE-----"
            }
        #expect(throws: LoadError.self) { try RevocationLists(pem: Array(text.utf8)) }
        #expect(throws: Never.self) { try RevocationLists(pem: Array((list + list + "\n").utf8)) }
    }

    // Proves: BEY-19.
    @Test func `a stapled status is wanted when it is required`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("good")
        let status = try await authority.stapledStatus(of: leaf)
        // libcurl looks for the issuer among the certificates of the server.
        let stapling = try await LoopbackServer.nginxTLS(
            leaf, chain: authority.certificate, directives: ["ssl_stapling on", "ssl_stapling_file \(status)"])
        let silent = try await LoopbackServer.nginxTLS(leaf)
        let session = Self.session(authority) { $0.tls.requiresStapledStatus = true }
        #expect(try await Self.status(session, Self.request(stapling)) == 200)
        await expect(.serverCertificateUntrusted) { try await session.data(for: Self.request(silent)) }
        #expect(try await silent.requestsByTLS().isEmpty)
    }

    // Proves: SES-10, FN-16, SEC-23.
    @Test func `the oldest and the newest version are kept to`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("good")
        let old = try await LoopbackServer.nginxTLS(leaf, directives: ["ssl_protocols TLSv1.2"])
        let new = try await LoopbackServer.nginxTLS(leaf, directives: ["ssl_protocols TLSv1.3"])
        let onlyOld = Self.session(authority) { $0.tls.maximumVersion = .tls12 }
        let onlyNew = Self.session(authority) { $0.tls.minimumVersion = .tls13 }
        #expect(try await Self.status(onlyOld, Self.request(old)) == 200)
        #expect(try await Self.status(onlyNew, Self.request(new)) == 200)
        await expect(.secureConnectionFailed) { try await onlyOld.data(for: Self.request(new)) }
        await expect(.secureConnectionFailed) { try await onlyNew.data(for: Self.request(old)) }
    }
}
