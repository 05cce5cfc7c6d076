import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Challenges of proxies: their own spaces, apart from those of servers.
@Suite(.serialized, .enabled(if: LoopbackServer.installed("squid") != nil))
struct ProxyAuthenticationTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    private static let credential = Credential(user: "user", password: "secret", persistence: .forSession)

    private static func session(
        _ squid: LoopbackServer, _ delegate: ChallengeLog, _ credential: Credential? = nil
    ) throws -> Session {
        var configuration = SessionConfiguration()
        let proxy = Proxy(.http, host: "127.0.0.1", port: squid.port, credential: credential)
        configuration.proxies = ProxyConfiguration(http: proxy, https: proxy)
        return Session(configuration: configuration, delegate: delegate)
    }

    private static func squid(_ scheme: String) async throws -> LoopbackServer {
        try await .squid(users: ["user:secret"], scheme: scheme)
    }

    private static func method(_ scheme: String) -> ProtectionSpace.Method {
        scheme == "basic" ? .httpBasic : scheme == "digest" ? .httpDigest : .ntlm
    }

    // It asks for itself, and its credential stays with it.
    // Proves: AUT-30, FN-18.
    @Test(arguments: ["basic", "digest", "ntlm"])
    func `squid lets requests through when it is answered`(_ scheme: String) async throws {
        let (squid, origin) = (try await Self.squid(scheme), try WireOrigin(playing: Self.ok))
        let log = ChallengeLog(task: { challenge in
            challenge.previousFailureCount == 0 ? .useCredential(Self.credential) : .cancelAuthenticationChallenge
        })
        let session = try Self.session(squid, log)
        for _ in 0..<2 {
            let (body, _) = try await session.data(for: Request(url: try URLRecord(origin.url())))
            #expect(body == Array("hi".utf8))
        }
        #expect(log.challenges.count == 1)
        let space = log.challenges.first?.protectionSpace
        #expect(space?.isProxy == true && space?.host == "127.0.0.1" && space?.port == squid.port)
        #expect(space?.scheme == "http" && space?.method == Self.method(scheme))
        for index in origin.connections.indices { #expect(!origin.received(on: index).contains("uthorization")) }
    }

    // Proves: AUT-30, AUT-5.
    @Test(arguments: ["basic", "digest"])
    func `a wrong credential is counted and proposed`(_ scheme: String) async throws {
        let (squid, origin) = (try await Self.squid(scheme), try WireOrigin(playing: Self.ok))
        let wrong = Credential(user: "user", password: "wrong")
        let log = ChallengeLog(using: wrong, Self.credential)
        let (_, response) = try await Self.session(squid, log).data(for: Request(url: try URLRecord(origin.url())))
        #expect(response.status.code == 200)
        #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
        #expect(log.challenges.last?.proposedCredential == wrong)
    }

    // The proxy's own credential goes before the delegate; without one the 407 is the result.
    // Proves: AUT-30, AUT-7.
    @Test func `the credential of the proxy's settings is used, and without any the refusal is the result`()
        async throws
    {
        let (squid, origin) = (try await Self.squid("basic"), try WireOrigin(playing: Self.ok))
        let log = ChallengeLog(task: { _ in .continueWithoutCredential })
        let request = Request(url: try URLRecord(origin.url()))
        #expect(try await Self.session(squid, log, Self.credential).data(for: request).1.status.code == 200)
        #expect(log.challenges.isEmpty)
        #expect(try await Self.session(squid, log).data(for: request).1.status.code == 407)
        #expect(origin.connections.count == 1)
    }

    // CONNECT is refused before anything reaches the server, and then let through.
    // Proves: AUT-30.
    @Test(arguments: ["basic", "digest", "ntlm"])
    func `a tunnel is opened when the proxy is answered`(_ scheme: String) async throws {
        let (squid, server) = (try await Self.squid(scheme), try TLSOrigin())
        let log = ChallengeLog(task: { challenge in
            challenge.previousFailureCount == 0 ? .useCredential(Self.credential) : .cancelAuthenticationChallenge
        })
        var configuration = SessionConfiguration()
        let proxy = Proxy(.http, host: "127.0.0.1", port: squid.port)
        configuration.proxies = ProxyConfiguration(https: proxy)
        configuration.tls.anchors = .pem(server.certificate)
        let session = Session(configuration: configuration, delegate: log)
        let url = "https://localhost:\(server.port)/"
        for _ in 0..<2 {
            #expect(try await session.data(for: Request(url: try URLRecord(url))).1.status.code == 200)
        }
        #expect(log.challenges.map(\.protectionSpace.method) == [Self.method(scheme)])
        let refused = ChallengeLog(task: { _ in .continueWithoutCredential })
        let other = Session(configuration: configuration, delegate: refused)
        await expect(.proxyAuthenticationRequired) { try await other.data(for: Request(url: try URLRecord(url))) }
    }

    // Two parties, two credentials, neither sees the other's.
    // Proves: AUT-30.
    @Test func `proxy and server each get what is meant for them`() async throws {
        let squid = try await Self.squid("basic")
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.contains("Authorization: Basic YTpi\r\n")
                        ? Self.ok
                        : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let log = ChallengeLog(task: { challenge in
            .useCredential(
                challenge.protectionSpace.isProxy ? Self.credential : Credential(user: "a", password: "b"))
        })
        let request = Request(url: try URLRecord(origin.url()))
        #expect(try await Self.session(squid, log).data(for: request).1.status.code == 200)
        #expect(log.challenges.map(\.protectionSpace.isProxy) == [true, false])
        #expect(log.challenges.map(\.previousFailureCount) == [0, 0])
        for index in origin.connections.indices { #expect(!origin.received(on: index).contains("dXNlcjpzZWNyZXQ=")) }
    }
}
