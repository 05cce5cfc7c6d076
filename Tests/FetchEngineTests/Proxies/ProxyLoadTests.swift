import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Loads through real proxies.
@Suite struct ProxyLoadTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    private static func session(
        _ proxies: ProxyConfiguration, trusting authority: TestAuthority? = nil,
        _ delegate: ChallengeAnswerer? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxies = proxies
        if let authority { configuration.tls.anchors = .pem(authority.certificate) }
        return Session(configuration: configuration, delegate: delegate)
    }

    private static func proxy(
        _ kind: Proxy.Kind, _ server: LoopbackServer, host: String = "127.0.0.1", _ credential: Credential? = nil
    ) -> Proxy {
        Proxy(kind, host: host, port: server.port, credential: credential)!
    }

    private static func body(_ session: Session, _ url: String) async throws -> String {
        String(decoding: try await session.data(for: Request(url: try URLRecord(url))).0, as: UTF8.self)
    }

    private static func log(_ squid: LoopbackServer) -> String { squid.directory.text(of: "access.log") }

    /// Waits until a proxy has written something: it does so after it has answered.
    private static func wait(for text: String, in log: String, of proxy: LoopbackServer) async throws {
        try await until { proxy.directory.text(of: log).contains(text) }
    }

    // The proxy's log is the witness.
    // Proves: NET-5, SES-11, FN-17.
    @Test func `an http URL is asked of the proxy, in absolute form`() async throws {
        let (squid, origin) = (try await LoopbackServer.squid(), try WireOrigin(playing: Self.ok))
        let task = Self.session(.init(http: Self.proxy(.http, squid))).dataTask(
            with: Request(url: try URLRecord(origin.url("/a?b"))))
        #expect(try await task.response(bufferingUpTo: 100).status.code == 200)
        try await Self.wait(for: " GET \(origin.url("/a?")) ", in: "access.log", of: squid)
        #expect(origin.received().contains("Via: 1.1 proxy.test"))
        #expect(task.metrics.transactions.first?.isProxyConnection == true)
        #expect(task.metrics.transactions.first?.remotePort == Int(squid.port))
    }

    // Proves: BEY-18.
    @Test func `an https URL goes through a tunnel, and TLS is with the server`() async throws {
        let (squid, authority) = (try await LoopbackServer.squid(), try await TestAuthority())
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let session = Self.session(.init(https: Self.proxy(.http, squid)), trusting: authority)
        #expect(try await Self.body(session, "https://localhost:\(server.port)/").hasPrefix("NONE"))
        let strict = Self.session(.init(https: Self.proxy(.http, squid)))
        await expect(.serverCertificateHasUnknownRoot) {
            try await Self.body(strict, "https://localhost:\(server.port)/")
        }
    }

    // An HTTP proxy speaks FTP for us, and its response is HTTP.
    // Proves: NET-2, NET-7.
    @Test func `an ftp URL is asked of an HTTP proxy as it is, without its password`() async throws {
        let relay = try WireOrigin(playing: Self.ok)
        let proxy = Proxy(.http, host: "127.0.0.1", port: relay.port)
        let task = Self.session(.init(ftp: proxy)).dataTask(
            with: Request(url: try URLRecord("ftp://user:secret@files.example/folder/a%20b.txt")))
        let response = try await task.response(bufferingUpTo: 100)
        #expect(response.status.code == 200 && response.httpVersion == "http/1.1")
        #expect(relay.received().hasPrefix("GET ftp://files.example/folder/a%20b.txt HTTP/1.1\r\n"))
        #expect(!relay.received().contains("secret"))
    }

    @Test(arguments: ["/x?", "/x", "/?", "/x?#f", "/x?a"])
    func `a proxy is asked for the very URL, an empty query included`(_ path: String) async throws {
        let relay = try WireOrigin(playing: Self.ok)
        let session = Self.session(.init(http: Proxy(.http, host: "127.0.0.1", port: relay.port)))
        _ = try await Self.body(session, "http://origin.example" + path)
        let sent = path.prefix { $0 != "#" }
        #expect(relay.received().hasPrefix("GET http://origin.example\(sent) HTTP/1.1\r\nHost: origin.example\r\n"))
    }

    @Test(arguments: [
        (403, LoadError.Code.proxyRefusedConnection), (500, .proxyCouldNotConnect), (502, .proxyCouldNotConnect),
        (503, .proxyCouldNotConnect), (504, .timedOut),
    ])
    func `what a proxy cannot do now it may do later`(_ status: Int, _ code: LoadError.Code) async throws {
        let relay = try WireOrigin(playing: "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
        let session = Self.session(.init(https: Proxy(.http, host: "127.0.0.1", port: relay.port)))
        await expect(code) { try await Self.body(session, "https://origin.example/") }
        #expect(code.isTransient == (status >= 500))
    }

    // The bytes that a proxy sees before the tunnel is there.
    // Proves: NET-8.
    @Test func `CONNECT shows the proxy nothing of the request`() async throws {
        let relay = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }
        let session = Self.session(.init(https: Proxy(.http, host: "127.0.0.1", port: relay.port)))
        var request = Request(url: try URLRecord("https://user:secret@origin.example/path?query"))
        request.headerFields[.authorization] = "Bearer secret"
        request.headerFields[.cookie] = "a=secret"
        await expect(.proxyRefusedConnection) { try await session.data(for: request) }
        #expect(
            relay.received()
                == "CONNECT origin.example:443 HTTP/1.1\r\nHost: origin.example:443\r\nProxy-Connection: Keep-Alive\r\n\r\n"
        )
    }

    // Proves: NET-8.
    @Test func `what a proxy does not do has its own error`() async throws {
        let squid = try await LoopbackServer.squid()
        let session = Self.session(.init(https: Self.proxy(.http, squid)))
        await expect(.proxyRefusedConnection) { try await Self.body(session, "https://127.0.0.1:9/") }
        let closed = try WireOrigin(playing: "").port
        await expect(.cannotConnectToProxy) {
            try await Self.body(
                Self.session(.init(socks: Proxy(.http, host: "127.0.0.1", port: closed))), "http://a.example/")
        }
        await expect(.cannotFindProxy) {
            try await Self.body(Self.session(.init(http: Proxy(.http, host: "proxy.invalid"))), "http://a.example/")
        }
        let silent = try WireOrigin { try $0.receiveHead() }
        await expect(.cannotConnectToProxy) {
            try await Self.body(
                Self.session(.init(https: Proxy(.http, host: "127.0.0.1", port: silent.port))), "https://a.example/")
        }
    }

    // A refusal of the proxy's in answer to a plain request is an answer.
    @Test func `a proxy that answers for the server gives a response`() async throws {
        let squid = try await LoopbackServer.squid()
        let session = Self.session(.init(http: Self.proxy(.http, squid)))
        let (_, response) = try await session.data(for: Request(url: try URLRecord("http://127.0.0.1:9/")))
        #expect(response.status.code == 403)
    }

    @Test func `an https proxy is spoken to in TLS, for http and for https URLs`() async throws {
        let authority = try await TestAuthority()
        let squid = try await LoopbackServer.squid(certificate: try await authority.issue("proxy"))
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let origin = try WireOrigin(playing: Self.ok)
        let proxies = ProxyConfiguration(socks: Self.proxy(.https, squid, host: "localhost"))
        let session = Self.session(proxies, trusting: authority)
        #expect(try await Self.body(session, origin.url()) == "hi")
        #expect(try await Self.body(session, "https://localhost:\(server.port)/").hasPrefix("NONE"))
        await expect(.cannotConnectToProxy) { try await Self.body(Self.session(proxies), origin.url()) }
    }

    // The rules and questions about servers are not for the proxy's certificate.
    @Test func `the server behind an https proxy is the one that the delegate is asked about`() async throws {
        let (authority, stranger) = (try await TestAuthority(), try await TestAuthority(name: "Stranger"))
        let squid = try await LoopbackServer.squid(certificate: try await authority.issue("proxy"))
        let leaf = try await stranger.issue("server")
        let server = try await LoopbackServer.nginxTLS(leaf)
        let delegate = ChallengeAnswerer { .useCredential(Credential(trust: $0.serverTrust!)) }
        let session = Self.session(
            .init(https: Self.proxy(.https, squid, host: "localhost")), trusting: authority, delegate)
        #expect(try await Self.body(session, "https://localhost:\(server.port)/").hasPrefix("NONE"))
        #expect(delegate.challenges.count == 1)
        #expect(delegate.challenges.first?.serverTrust?.port == server.port)
    }

    @Test func `tinyproxy relays as well`() async throws {
        let (tinyproxy, authority) = (try await LoopbackServer.tinyproxy(), try await TestAuthority())
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let origin = try WireOrigin(playing: Self.ok)
        let session = Self.session(.init(socks: Self.proxy(.http, tinyproxy)), trusting: authority)
        #expect(try await Self.body(session, origin.url()) == "hi")
        #expect(try await Self.body(session, "https://localhost:\(server.port)/").hasPrefix("NONE"))
    }

    // Proves: NET-6, FN-17.
    @Test(arguments: [Proxy.Kind.socks4, .socks5, .socks5h])
    func `Dante relays each kind of SOCKS`(_ kind: Proxy.Kind) async throws {
        let (dante, origin) = (try await LoopbackServer.dante(), try WireOrigin(playing: Self.ok))
        let session = Self.session(.init(socks: Self.proxy(kind, dante)))
        #expect(try await Self.body(session, origin.url()) == "hi")
        try await Self.wait(for: "127.0.0.1.\(origin.port)", in: "dante.log", of: dante)
        await expect(.proxyRefusedConnection) { try await Self.body(session, "http://127.0.0.1:9/") }
    }

    // With remote DNS the proxy gets the name; nothing is looked up here, or .invalid would end it.
    // Proves: NET-6.
    @Test(arguments: [Proxy.Kind.socks4a, .socks5h])
    func `a name is resolved by the proxy`(_ kind: Proxy.Kind) async throws {
        let relay = try WireOrigin { connection in
            if kind == .socks4a {
                // 0.0.0.1, an empty user, and the name.
                let request = try connection.receive(9 + "no-such-host.invalid".utf8.count + 1)
                #expect(Array(request[..<9]) == [4, 1, 0, 80, 0, 0, 0, 1, 0])
                #expect(Array(request[9...]) == Array("no-such-host.invalid\0".utf8))
                try connection.send([0, 90, 0, 0, 0, 0, 0, 0])
            } else {
                let greeting = try connection.receive(2)
                _ = try connection.receive(Int(greeting[1]))
                try connection.send([5, 0])
                let request = try connection.receive(5 + "no-such-host.invalid".utf8.count + 2)
                #expect(Array(request[..<4]) == [5, 1, 0, 3])
                #expect(Array(request[5...].dropLast(2)) == Array("no-such-host.invalid".utf8))
                try connection.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
            }
            try connection.receiveHead()
            try connection.send(Self.ok)
        }
        let session = Self.session(.init(socks: Proxy(kind, host: "127.0.0.1", port: relay.port)))
        #expect(try await Self.body(session, "http://no-such-host.invalid/") == "hi")
    }

    // RFC 1929.
    // Proves: NET-6.
    @Test(arguments: [Proxy.Kind.socks5, .socks5h])
    func `a SOCKS proxy with a password is convinced by the right one`(_ kind: Proxy.Kind) async throws {
        let microsocks = try await LoopbackServer.microsocks(user: "user", password: "secret")
        let origin = try WireOrigin(playing: Self.ok)
        let right = Self.proxy(kind, microsocks, Credential(user: "user", password: "secret"))
        #expect(try await Self.body(Self.session(.init(socks: right)), origin.url()) == "hi")
        for wrong in [nil, Credential(user: "user", password: "wrong")] {
            let session = Self.session(.init(socks: Self.proxy(kind, microsocks, wrong)))
            await expect(.proxyAuthenticationRequired) { try await Self.body(session, origin.url()) }
        }
    }

    // The dictionary's point.
    // Proves: NET-7.
    @Test func `squid serves http and Dante https in one session`() async throws {
        let (squid, dante) = (try await LoopbackServer.squid(), try await LoopbackServer.dante())
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let origin = try WireOrigin(playing: Self.ok)
        let session = Self.session(
            .init(http: Self.proxy(.http, squid), https: Self.proxy(.socks5, dante)), trusting: authority)
        #expect(try await Self.body(session, origin.url()) == "hi")
        #expect(try await Self.body(session, "https://127.0.0.1:\(server.port)/").hasPrefix("NONE"))
        try await Self.wait(for: ":\(origin.port)/", in: "access.log", of: squid)
        #expect(!Self.log(squid).contains(":\(server.port)"))
        try await Self.wait(for: "127.0.0.1.\(server.port)", in: "dante.log", of: dante)
    }

    // Proves: NET-7.
    @Test func `an excluded host is reached without the proxy`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let closed = try WireOrigin(playing: "").port
        let session = Self.session(
            .init(http: Proxy(.http, host: "127.0.0.1", port: closed), exclusions: [HostPattern("127.0.0.0/8")!]))
        #expect(try await Self.body(session, origin.url()) == "hi")
    }

    // Proves: BEY-18.
    @Test func `the next route is taken when a proxy cannot be reached, and only then`() async throws {
        let (squid, origin) = (try await LoopbackServer.squid(), try WireOrigin(playing: Self.ok))
        let dead = Proxy(.http, host: "127.0.0.1", port: try WireOrigin(playing: "").port)!
        let missing = Proxy(.socks5h, host: "proxy.invalid")!
        let failover = Self.session(
            ProxyConfiguration(rules: [
                .init(routes: [.proxy(dead), .proxy(missing), .proxy(Self.proxy(.http, squid))])
            ]))
        #expect(try await Self.body(failover, origin.url()) == "hi")
        try await Self.wait(for: ":\(origin.port)/", in: "access.log", of: squid)
        let direct = Self.session(ProxyConfiguration(rules: [.init(routes: [.proxy(dead), .direct])]))
        #expect(try await Self.body(direct, origin.url()) == "hi")
        // A refusal is final.
        let refusing = Self.session(
            ProxyConfiguration(rules: [.init(routes: [.proxy(Self.proxy(.http, squid)), .direct])]))
        await expect(.proxyRefusedConnection) { try await Self.body(refusing, "https://127.0.0.1:9/") }
    }

    // Proves: NET-9, SEC-21.
    @Test func `connections with another proxy, or another user of it, are not shared`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let dante = try await LoopbackServer.dante()
        let session = Session()
        for _ in 0..<2 {
            for proxies in [
                ProxyConfiguration.none, .init(socks: Self.proxy(.socks5, dante)),
                .init(socks: Self.proxy(.socks5, dante, Credential(user: "a", password: ""))),
                .init(socks: Self.proxy(.socks5, dante, Credential(user: "b", password: ""))),
            ] {
                var configuration = session.configuration
                configuration.proxies = proxies
                _ = try await session.data(
                    for: Request(url: try URLRecord(origin.url())), configuration: configuration)
            }
        }
        #expect(origin.connections.count == 4)
    }

    // Proves: SEC-34.
    @Test func `a proxy that the policy does not allow is not dialled`() async throws {
        let relay = try WireOrigin(playing: Self.ok)
        var configuration = SessionConfiguration()
        configuration.targetPolicy = .publicOnly
        configuration.proxies = .init(socks: Proxy(.http, host: "127.0.0.1", port: relay.port))
        await expect(.proxyForbidden) {
            try await Self.body(Session(configuration: configuration), "http://a.example/")
        }
        // A name that resolves to where it may not.
        try configuration.targetPolicy.allow("localhost")
        configuration.proxies = .init(socks: Proxy(.http, host: "localhost", port: relay.port))
        await expect(.proxyForbidden) {
            try await Self.body(Session(configuration: configuration), "http://a.example/")
        }
        #expect(relay.connections.isEmpty)
        // The proxy allowed, the target is still judged.
        try configuration.targetPolicy.allow("127.0.0.1:\(relay.port)")
        let session = Session(configuration: configuration)
        #expect(try await Self.body(session, "http://a.example/") == "hi")
        await expect(.addressForbidden) { try await Self.body(session, "http://10.0.0.1/") }
        #expect(relay.connections.count == 1)
    }
}
