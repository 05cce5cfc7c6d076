import CGSSAPI
import COpenSSL
import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Negotiate with Kerberos beneath it, between MIT's key distribution centre and httpd.
@Suite(
    .serialized, .enabled(if: KerberosRealm.isInstalled && LoopbackServer.hasApache(modules: "auth_gssapi")))
struct KerberosTests {
    private static let aladdin = Credential(user: "aladdin@CAVE.TEST", password: Cave.password)

    private static func get(
        _ server: LoopbackServer, _ path: String = "/kerberos/page", _ delegate: ChallengeLog? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> Int {
        var configuration = SessionConfiguration()
        change(&configuration)
        let request = Request(url: try URLRecord(server.url(path, host: "localhost")))
        return try await Session(configuration: configuration, delegate: delegate).data(for: request).1.status.code
    }

    /// Keeps the realm and the server until the body is done.
    private static func inCave(
        asJafar: Bool = false, _ body: (KerberosRealm, LoopbackServer) async throws -> Void
    ) async throws {
        let realm = try await KerberosRealm()
        realm.enter(asJafar: asJafar)
        try await body(realm, try await LoopbackServer.apache(realm: realm))
    }

    // Proves: AUT-1, AUT-9, AUT-25, FN-15.
    @Test func `a password gets the ticket, and the session's delegate is asked for it`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(session: { _ in .useCredential(Self.aladdin) })
            #expect(try await Self.get(server, "/kerberos/page", log) == 200)
            #expect(log.events == ["session negotiate", "response 200", "completed"])
            #expect(log.challenges.first?.protectionSpace.realm == nil)
        }
    }

    // Proves: AUT-4, AUT-25.
    @Test func `a wrong password is counted, and nothing is sent with it`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(task: { challenge in
                challenge.previousFailureCount == 0
                    ? .useCredential(Credential(user: "aladdin@CAVE.TEST", password: "wrong"))
                    : .useCredential(Self.aladdin)
            })
            #expect(try await Self.get(server, "/kerberos/page", log) == 200)
            #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
            #expect(try await server.accessLog(2).map { $0.split(separator: " ")[2] } == ["401", "200"])
        }
    }

    // Proves: AUT-13.
    @Test func `with a valid ticket nobody is asked`() async throws {
        try await Self.inCave(asJafar: true) { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(session: { _ in .continueWithoutCredential })
            let status = try await Self.get(server, "/kerberos/page", log) {
                $0.authentication.usesKerberosTickets = true
            }
            #expect(status == 200 && log.challenges.isEmpty)
            #expect(try await server.accessLog(2).last == "GET /kerberos/page 200 jafar@CAVE.TEST")
        }
    }

    // The tickets of the process are used for those alone who say so, and a missing one is no failure.
    // Proves: AUT-13.
    @Test func `without permission or without a ticket the delegate is asked`() async throws {
        try await Self.inCave(asJafar: true) { (realm: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(session: { _ in .continueWithoutCredential })
            #expect(try await Self.get(server, "/kerberos/page", log) == 401)
            #expect(log.challenges.count == 1)
            realm.enter()
            let other = ChallengeLog(session: { _ in .continueWithoutCredential })
            let status = try await Self.get(server, "/kerberos/page", other) {
                $0.authentication.usesKerberosTickets = true
            }
            #expect(status == 401 && other.challenges.map(\.previousFailureCount) == [0])
        }
    }

    // Proves: AUT-13.
    @Test func `two principals in parallel do not mix`() async throws {
        try await Self.inCave { (realm: KerberosRealm, server: LoopbackServer) async throws in
            try server.directory.write(Cave.treasure, to: "www/kerberos/page")
            try server.directory.write(Cave.treasure, to: "www/kerberos/lamp")
            let jafar = Credential(kerberosPrincipal: "jafar@CAVE.TEST", keytab: realm.keytabOfJafar)
            let session = Session()
            let urls = [
                server.url("/kerberos/page", host: "localhost"), server.url("/kerberos/lamp", host: "localhost"),
            ]
            try await withThrowingTaskGroup { group in
                for number in 0..<40 {
                    group.addTask {
                        let credential = number % 2 == 0 ? Self.aladdin : jafar
                        let log = ChallengeLog(task: { challenge in
                            challenge.previousFailureCount == 0
                                ? .useCredential(credential) : .continueWithoutCredential
                        })
                        let request = Request(url: try URLRecord(urls[number % 2]))
                        let (_, response) = try await session.data(for: request, delegate: log)
                        #expect(response.status.code == 200)
                    }
                }
                try await group.waitForAll()
            }
            let served = try await server.accessLog(80).filter { $0.contains(" 200 ") }
            #expect(served.count == 40)
            #expect(
                Set(served) == [
                    "GET /kerberos/page 200 aladdin@CAVE.TEST", "GET /kerberos/lamp 200 jafar@CAVE.TEST",
                ])
        }
    }

    // Proves: AUT-13, AUT-25.
    @Test func `keys in memory are as good as those in a file`() async throws {
        try await Self.inCave { (realm: KerberosRealm, server: LoopbackServer) async throws in
            let keys = Array(try Data(contentsOf: URL(filePath: realm.keytabOfJafar)))
            for (keys, status) in [(keys, 200), (Array(keys.prefix(20)), 401), ([], 401)] {
                let log = ChallengeLog(task: { challenge in
                    challenge.previousFailureCount == 0
                        ? .useCredential(Credential(kerberosPrincipal: "jafar@CAVE.TEST", keys: keys))
                        : .continueWithoutCredential
                })
                #expect(try await Self.get(server, "/kerberos/page", log) == status)
            }
            #expect(try await server.accessLog(2).contains("GET /kerberos/page 200 jafar@CAVE.TEST"))
        }
    }

    // The body arrives whole, and the ticket goes to its service alone.
    // Proves: AUT-24, UPL-7, RED-11.
    @Test func `an upload arrives whole`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(task: { _ in .useCredential(Self.aladdin) })
            let request = Request(
                url: try URLRecord(server.url("/kerberos/file", host: "localhost")), method: .put,
                body: .bytes(pattern(300_000)))
            let (_, response) = try await Session(delegate: log).data(for: request)
            #expect(response.status.code == 201)
            let isWhole = server.directory.contents(of: "www/kerberos/file") == pattern(300_000)
            #expect(isWhole)
        }
    }

    // A service that has no key gets no ticket; another service name is asked for.
    // Proves: AUT-25.
    @Test func `the service name can be another`() async throws {
        try await Self.inCave { (_: KerberosRealm, server: LoopbackServer) async throws in
            let log = ChallengeLog(task: { challenge in
                challenge.previousFailureCount == 0 ? .useCredential(Self.aladdin) : .continueWithoutCredential
            })
            let status = try await Self.get(server, "/kerberos/page", log) { $0.authentication.kerberosService = "nfs" }
            #expect(status == 401)
        }
    }

    /// A session whose requests go through a proxy that wants tickets.
    private static func session(
        through squid: LoopbackServer, _ delegate: ChallengeLog, trusting server: TLSOrigin? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        let proxy = Proxy(.http, host: "localhost", port: squid.port)
        configuration.proxies = ProxyConfiguration(http: proxy, https: proxy)
        if let server { configuration.tls.anchors = .pem(server.certificate) }
        return Session(configuration: configuration, delegate: delegate)
    }

    // The ticket is for the proxy, and shown to nobody else.
    // Proves: AUT-30.
    @Test(.enabled(if: LoopbackServer.installed("negotiate_kerberos_auth") != nil), arguments: [false, true])
    func `squid lets requests and tunnels through for a ticket`(_ isTunnel: Bool) async throws {
        let realm = try await KerberosRealm()
        realm.enter()
        let squid = try await LoopbackServer.squid(realm: realm)
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let server = isTunnel ? try TLSOrigin() : nil
        let url = try URLRecord(server.map { "https://localhost:\($0.port)/" } ?? origin.url())
        let log = ChallengeLog(task: { challenge in
            challenge.previousFailureCount == 0 ? .useCredential(Self.aladdin) : .continueWithoutCredential
        })
        let (_, response) = try await Self.session(through: squid, log, trusting: server).data(for: Request(url: url))
        #expect(response.status.code == 200)
        let space = ProtectionSpace(
            host: "localhost", port: squid.port, scheme: "http", method: .negotiate, isProxy: true)
        #expect(log.challenges.map(\.protectionSpace) == [space])
        #expect(log.events.first == "task negotiate")
        #expect(!origin.received().contains("uthorization"))
        #expect(try await squid.accessLog(2).contains { $0.contains(" aladdin@CAVE.TEST ") })
        let wrong = ChallengeLog(task: { challenge in
            challenge.previousFailureCount == 0
                ? .useCredential(Credential(user: "aladdin@CAVE.TEST", password: "wrong")) : .continueWithoutCredential
        })
        let refused = Self.session(through: squid, wrong, trusting: server)
        if isTunnel {
            await expect(.proxyAuthenticationRequired) { try await refused.data(for: Request(url: url)) }
        } else {
            #expect(try await refused.data(for: Request(url: url)).1.status.code == 407)
        }
        #expect(wrong.challenges.map(\.previousFailureCount) == [0, 1])
    }

    // RFC 5929 §4: the digest of the certificate. One in the middle has another than the service.
    // Proves: AUT-25.
    @Test(arguments: [true, false])
    func `a service that binds the channel takes what is bound to its own certificate, and nothing else`(
        _ isOwn: Bool
    ) async throws {
        let realm = try await KerberosRealm()
        realm.enter()
        let keytab = try TemporaryFile(realm.serviceKeys)
        setenv("KRB5_KTNAME", "FILE:" + keytab.path, 1)
        defer { withExtendedLifetime(keytab) { _ = unsetenv("KRB5_KTNAME") } }
        let authority = try await TestAuthority()
        let (leaf, other) = (try await authority.issue("server"), try await authority.issue("other"))
        let own = isOwn ? leaf : other
        let identity = try ClientIdentity(certificateChain: own.certificate, privateKey: own.key)
        let certificate = try #require(identity.certificates.first)
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(certificate, certificate.count, &digest)
        let endPoint = digest
        let origin = try WireOrigin { connection in
            let wire = try TLSWire(connection, leaf, .tls13)
            while let head = wire.receiveHead() {
                let fields = head.split(separator: "\r\n").filter { $0.hasPrefix("Authorization: Negotiate ") }
                let token = fields.first.flatMap { Data(base64Encoded: String($0.dropFirst(25))) }
                let reply = token.flatMap { Self.accept(Array($0), boundTo: endPoint) }
                let offer = reply.map { " " + Data($0).base64EncodedString() } ?? ""
                try wire.send(
                    "HTTP/1.1 \(reply == nil ? 401 : 200) X\r\nWWW-Authenticate: Negotiate\(offer)\r\n"
                        + "Content-Length: 0\r\n\r\n")
            }
        }
        let log = ChallengeLog(task: { challenge in
            challenge.previousFailureCount == 0 ? .useCredential(Self.aladdin) : .continueWithoutCredential
        })
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        let session = Session(configuration: configuration, delegate: log)
        let request = Request(url: try URLRecord("https://localhost:\(origin.port)/"))
        #expect(try await session.data(for: request).1.status.code == (isOwn ? 200 : 401))
        #expect(log.challenges.map(\.previousFailureCount) == (isOwn ? [0] : [0, 1]))
    }

    /// The reply of a service that wants the channel to be bound; nil when it refuses the token.
    private static func accept(_ token: [UInt8], boundTo endPoint: [UInt8]) -> [UInt8]? {
        var (token, binding) = (token, Array("tls-server-end-point:".utf8) + endPoint)
        var (minor, flags, context) = (OM_uint32(0), OM_uint32(0), gss_ctx_id_t?.none)
        var output = gss_buffer_desc()
        let major = token.withUnsafeMutableBytes { token in
            binding.withUnsafeMutableBytes { binding in
                var input = gss_buffer_desc(length: token.count, value: token.baseAddress)
                var channel = gss_channel_bindings_struct()
                channel.application_data = gss_buffer_desc(length: binding.count, value: binding.baseAddress)
                return gss_accept_sec_context(
                    &minor, &context, nil, &input, &channel, nil, nil, &output, &flags, nil, nil)
            }
        }
        defer {
            var ignored: OM_uint32 = 0
            gss_release_buffer(&ignored, &output)
            gss_delete_sec_context(&ignored, &context, nil)
        }
        guard major == 0, flags & OM_uint32(GSS_C_CHANNEL_BOUND_FLAG) != 0 else { return nil }
        return Array(UnsafeRawBufferPointer(start: output.value, count: output.length))
    }

    // RFC 4559 §5.
    // Proves: AUT-25.
    @Test func `a server that cannot prove itself is not believed`() async throws {
        try await Self.inCave { (_: KerberosRealm, _: LoopbackServer) async throws in
            let impostor = try WireOrigin { connection in
                while let head = try connection.receiveHead() {
                    let isAuthenticated = head.contains("Authorization: Negotiate ")
                    let line = isAuthenticated ? "200 OK" : "401 Unauthorized"
                    let field = isAuthenticated ? "Negotiate oYG3MIG0oAMKAQCh" : "Negotiate"
                    try connection.send("HTTP/1.1 \(line)\r\nWWW-Authenticate: \(field)\r\nContent-Length: 0\r\n\r\n")
                }
            }
            let log = ChallengeLog(task: { _ in .useCredential(Self.aladdin) })
            let request = Request(url: try URLRecord("http://localhost:\(impostor.port)/"))
            await expect(.badServerResponse) { try await Session(delegate: log).data(for: request) }
        }
    }
}
