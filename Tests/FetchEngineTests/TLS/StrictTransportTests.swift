import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Hosts that want https alone (RFC 6797).
@Suite(.timeLimit(.minutes(1))) struct StrictTransportTests {
    private static let now = UnixTime(seconds: 1_700_000_000)

    // RFC 6797 §6.2 has the first five.
    @Test(
        arguments: [
            ("max-age=31536000", 31_536_000, false), ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
            ("max-age=\"31536000\"", 31_536_000, false), ("max-age=0", 0, false),
            ("max-age=0; includeSubDomains", 0, true), ("Max-Age=1;INCLUDESUBDOMAINS;", 1, true),
            ("; max-age=1; new=\"a;b\"; preload", 1, false), ("max-age=99999999999999999999", 2_147_483_648, false),
        ] as [(String, Int64, Bool)])
    func `a field is read`(_ field: String, _ seconds: Int64, _ includesSubdomains: Bool) {
        let wish = StrictTransport(field: field)
        #expect(wish == StrictTransport(maximumAge: .seconds(seconds), includesSubdomains: includesSubdomains))
    }

    @Test(arguments: [
        "", "includeSubDomains", "max-age", "max-age=", "max-age=-1", "max-age=1x", "max-age=1; max-age=2",
        "max-age=1 2", "max-age=1; =x", "max-age=\"1", "max-age=1; a b",
    ])
    func `a field that breaks the grammar says nothing`(_ field: String) {
        #expect(StrictTransport(field: field) == nil)
    }

    @Test func `hosts are known for their time, with those below them if they said so`() {
        let store = StrictTransportStore()
        store.insert("a.example", for: .seconds(10), includesSubdomains: true, at: Self.now)
        store.insert("b.example", for: .seconds(10), at: Self.now)
        store.insert("127.0.0.1", for: .seconds(10), at: Self.now)
        func known(_ host: String, after seconds: Int = 0) -> Bool { store.includes(host, at: Self.now + seconds) }
        #expect(known("a.example") && known("x.y.a.example", after: 9) && known("b.example"))
        #expect(!known("x.b.example") && !known("xa.example") && !known("example") && !known("127.0.0.1"))
        #expect(!known("a.example", after: 10) && !known("x.a.example", after: 10))
        store.insert("a.example", for: .zero, at: Self.now)
        #expect(!known("x.a.example"))
        for number in 0...StrictTransportStore.maximumCount {
            store.insert("h\(number).example", for: .seconds(20 + number), at: Self.now)
        }
        #expect(!known("b.example") && !known("h0.example") && known("h1.example"))
        store.removeAll()
        #expect(!known("h1.example"))
    }

    @Test(arguments: [
        ("http://h.example/a?b#c", "https://h.example/a?b#c"), ("http://h.example:80/", "https://h.example/"),
        ("http://h.example:8080/", "https://h.example:8080/"), ("http://u:p@h.example/", "https://u:p@h.example/"),
        ("http://h.example:443/", "https://h.example/"), ("https://h.example/", "https://h.example/"),
        ("http://other.example/", "http://other.example/"), ("ftp://h.example/", "ftp://h.example/"),
    ])
    func `a URL keeps everything but its scheme`(_ url: String, _ expected: String) throws {
        let store = StrictTransportStore()
        store.insert("h.example", for: .seconds(10))
        #expect(store.secured(try URLRecord(url)).description == expected)
    }

    // The host of a policy is found by every spelling that leads to it: libcurl's own store was not always.
    @Test(arguments: [
        "http://bücher.example/", "http://BÜCHER.Example/", "http://xn--bcher-kva.example/",
        "http://b\u{75}\u{308}cher.example/", "http://bücher\u{3002}example/", "http://b%C3%BCcher.example/",
        "http://bücher.example./", "http://ｂücher.example/",
    ])
    func `no spelling of a host gets around its policy`(_ url: String) throws {
        let store = StrictTransportStore()
        store.insert("xn--bcher-kva.example", for: .seconds(10))
        let learned = StrictTransportStore()
        learned.insert("xn--bcher-kva.example.", for: .seconds(10))
        for store in [store, learned] { #expect(store.secured(try URLRecord(url)).scheme == "https") }
    }

    @Test func `a fixed list goes by its patterns, and learns nothing`() throws {
        let store = StrictTransportStore(listing: ["a.example", "*.b.example"].compactMap { HostPattern($0) })
        func secured(_ url: String) throws -> String { store.secured(try URLRecord(url)).scheme }
        #expect(try secured("http://a.example:8080/") == "https" && secured("http://x.b.example/") == "https")
        #expect(try secured("http://x.a.example/") == "http" && secured("http://c.example/") == "http")
        #expect(!store.learns && StrictTransportStore().learns)
        #expect(StrictTransportStore(listing: [.all]).secured(try URLRecord("http://127.0.0.1/")).scheme == "https")
    }

    private static func configuration(_ authority: TestAuthority) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        configuration.strictTransport = StrictTransportStore()
        return configuration
    }

    private static func server(_ leaf: TestAuthority.Leaf) async throws -> LoopbackServer {
        try await .nginxTLS(leaf, directives: ["add_header Strict-Transport-Security max-age=600"])
    }

    // Proves: BEY-19.
    @Test func `after one https answer, http is https, and the delegate hears of it`() async throws {
        let authority = try await TestAuthority()
        let server = try await Self.server(try await authority.issue("good"))
        let log = DelegateLog()
        let session = Session(configuration: Self.configuration(authority), delegate: log)
        for scheme in ["https", "http"] {
            let task = session.dataTask(with: Request(url: try URLRecord("\(scheme)://localhost:\(server.port)/")))
            #expect(try await task.response().status.code == 200)
            #expect(task.response?.url.scheme == "https")
            #expect(task.redirects.map(\.cause) == (scheme == "https" ? [] : [.strictTransport]))
        }
        #expect(log.events.contains { $0.hasPrefix("canonical") || $0.hasPrefix("redirect") })
        // The policy is withdrawn.
        session.configuration.strictTransport?.insert("localhost", for: .zero)
        let task = session.dataTask(with: Request(url: try URLRecord("http://localhost:\(server.port)/")))
        #expect(try await task.response().status.code == 400)
    }

    // Proves: RED-12.
    @Test func `a redirect to http of such a host is no downgrade`() async throws {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("good")
        let server = try await LoopbackServer.nginxTLS(
            leaf,
            directives: [
                "add_header Strict-Transport-Security 'max-age=600' always",
                "location /from { return 302 http://$host:$server_port/to; }",
            ])
        let session = Session(configuration: Self.configuration(authority))
        let request = Request(url: try URLRecord("https://localhost:\(server.port)/from"))
        let (_, response) = try await session.data(for: request)
        #expect(response.status.code == 200 && response.url.description == "https://localhost:\(server.port)/to")
        var plain = session.configuration
        plain.strictTransport = nil
        await expect(.redirectDowngrade) { try await Session(configuration: plain).data(for: request) }
    }

    @Test func `a host is not believed whose certificate was accepted in spite of the rules`() async throws {
        let authority = try await TestAuthority()
        let server = try await Self.server(try await authority.issue("past", valid: .past))
        let answerer = ChallengeAnswerer { challenge in
            challenge.serverTrust.map { .useCredential(Credential(trust: $0)) } ?? .performDefaultHandling
        }
        let session = Session(configuration: Self.configuration(authority), delegate: answerer)
        let request = Request(url: try URLRecord("https://localhost:\(server.port)/"))
        #expect(try await session.data(for: request).1.status.code == 200)
        #expect(session.configuration.strictTransport?.includes("localhost") == false)
        // And once it is known to be strict, nobody may accept it any more (§8.4).
        session.configuration.strictTransport?.insert("localhost", for: .seconds(60))
        await expect(.serverCertificateHasBadDate) { try await session.data(for: request) }
    }

    @Test func `plain http says nothing about https`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=600\r\nContent-Length: 0\r\n\r\n")
        var configuration = SessionConfiguration()
        configuration.strictTransport = StrictTransportStore()
        let session = Session(configuration: configuration)
        _ = try await session.data(for: Request(url: try URLRecord("http://localhost:\(origin.port)/")))
        #expect(configuration.strictTransport?.includes("localhost") == false)
    }
}
