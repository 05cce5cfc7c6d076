import Testing

@testable import FetchEngine

@Suite struct ProxyTests {
    /// A text, and the proxy that it names: kind, host and port.
    static let texts: [(String, String)] = [
        ("proxy.example:3128", "http://proxy.example:3128"), ("proxy.example", "http://proxy.example:80"),
        ("http://proxy.example:80", "http://proxy.example:80"), ("https://proxy.example", "https://proxy.example:443"),
        ("https://proxy.example:80", "https://proxy.example:80"),
        ("socks://proxy.example", "socks5://proxy.example:1080"),
        ("SOCKS5H://Proxy.Example:9", "socks5h://proxy.example:9"),
        ("socks4://127.0.0.1", "socks4://127.0.0.1:1080"), ("socks4a://[::1]:1", "socks4a://[::1]:1"),
        ("http://u:p@proxy.example:3128/", "http://proxy.example:3128"),
        ("socks5://u@[::1]", "socks5://[::1]:1080"), ("socks5://[::1]:80", "socks5://[::1]:80"),
    ]

    // Proves: NET-6, NET-7.
    @Test(arguments: texts)
    func `a proxy is read from a text`(_ text: String, _ description: String) throws {
        #expect(try #require(Proxy(text)).description == description)
    }

    @Test(arguments: ["", "http://", "ftp://proxy.example", "proxy.example/path", "proxy.example?q", "a b", "a:99999"])
    func `a text that names no proxy is none`(_ text: String) { #expect(Proxy(text) == nil) }

    @Test func `a credential in a text is one of a language`() {
        let mark = "%CC%95"
        #expect(Proxy("u:\(String(repeating: mark, count: 30))@proxy.example") != nil)
        #expect(Proxy("u:\(String(repeating: mark, count: 31))@proxy.example") == nil)
        #expect(Proxy("\(String(repeating: mark, count: 31)):p@proxy.example") == nil)
    }

    @Test func `the credential in a text is decoded and does not print`() throws {
        let proxy = try #require(Proxy("http://us%65r:p%40ss@proxy.example:1"))
        #expect(proxy.credential == Credential(user: "user", password: "p@ss", persistence: .forSession))
        var dumped = ""
        dump(proxy, to: &dumped)
        #expect(!dumped.contains("p@ss"))
        #expect(!"\(proxy)".contains("user"))
    }

    @Test(arguments: ["", "a b", "a/b", "u@a", "a:80"])
    func `a host that is none makes no proxy`(_ host: String) { #expect(Proxy(.http, host: host) == nil) }
}

/// Which proxies a load goes through.
@Suite struct ProxyConfigurationTests {
    private static let (http, socks) = (Proxy("http://web.example:3128")!, Proxy("socks5h://socks.example")!)

    private static func routes(_ configuration: ProxyConfiguration, _ url: String) throws -> [ProxyConfiguration.Route]
    {
        configuration.routes(to: try URLRecord(url))
    }

    @Test func `without rules everything goes direct`() throws {
        #expect(try Self.routes(.none, "http://a.example/") == [.direct])
    }

    // squid for http, dante for https in one session.
    // Proves: NET-7.
    @Test func `each scheme has its proxy, and SOCKS is for the rest`() throws {
        let configuration = ProxyConfiguration(http: Self.http, socks: Self.socks)
        #expect(try Self.routes(configuration, "http://a.example/") == [.proxy(Self.http)])
        #expect(try Self.routes(configuration, "https://a.example/") == [.proxy(Self.socks)])
        #expect(try Self.routes(configuration, "ftp://a.example/") == [.proxy(Self.socks)])
        #expect(try Self.routes(ProxyConfiguration(ftp: Self.http), "ftps://a.example/") == [.proxy(Self.http)])
        #expect(try Self.routes(ProxyConfiguration(https: Self.http), "http://a.example/") == [.direct])
    }

    @Test func `excluded hosts go direct`() throws {
        let exclusions = ["<local>", "*.inside.example", "127.0.0.0/8"].compactMap(HostPattern.init)
        let configuration = ProxyConfiguration(socks: Self.socks, exclusions: exclusions)
        for url in ["http://printer/", "http://a.inside.example/", "https://127.0.0.1:8443/"] {
            #expect(try Self.routes(configuration, url) == [.direct])
        }
        #expect(try Self.routes(configuration, "http://inside.example/") == [.proxy(Self.socks)])
    }

    // Proves: BEY-18.
    @Test func `the first rule for a host counts, with its routes in their order`() throws {
        let configuration = ProxyConfiguration(rules: [
            .init(
                hosts: [HostPattern("*.a.example")!], excludedHosts: [HostPattern("c.a.example")!],
                routes: [.proxy(Self.http), .proxy(Self.socks), .direct]),
            .init(schemes: ["https"], routes: [.proxy(Self.socks)]),
        ])
        #expect(
            try Self.routes(configuration, "https://b.a.example/") == [.proxy(Self.http), .proxy(Self.socks), .direct])
        #expect(try Self.routes(configuration, "https://c.a.example/") == [.proxy(Self.socks)])
        #expect(try Self.routes(configuration, "http://c.a.example/") == [.direct])
    }

    // Proves: NET-5.
    @Test func `the environment names proxies and what goes without them`() throws {
        let configuration = try ProxyConfiguration.environment([
            "http_proxy": "web.example:3128", "ALL_PROXY": "socks5h://socks.example", "https_proxy": "",
            "no_proxy": "inside.example, .dotted.example,10.0.0.0/8", "NO_PROXY": "a.example",
        ])
        #expect(try Self.routes(configuration, "http://a.example/") == [.proxy(Self.http)])
        #expect(try Self.routes(configuration, "https://a.example/") == [.proxy(Self.socks)])
        for host in ["inside.example", "b.inside.example", "dotted.example", "b.dotted.example", "10.1.1.1"] {
            #expect(try Self.routes(configuration, "http://\(host)/") == [.direct], "\(host)")
        }
    }

    // A request header Proxy: becomes HTTP_PROXY in a CGI program.
    // Proves: NET-5, SEC-22.
    @Test func `HTTP_PROXY in upper case is not trusted`() throws {
        let configuration = try ProxyConfiguration.environment(["HTTP_PROXY": "evil.example:1"])
        #expect(configuration == .none)
    }

    @Test(arguments: [["http_proxy": "a b"], ["no_proxy": "a b/c"], ["all_proxy": "gopher://a.example"]])
    func `an environment that cannot be read is an error, not a load without the proxy`(_ variables: [String: String]) {
        do throws(LoadError) {
            _ = try ProxyConfiguration.environment(variables)
            if variables["no_proxy"] == nil { Issue.record("it was read") }
        } catch {
            #expect(error.code == .proxyInvalid)
        }
    }
}

/// Proxies under a restricting target policy.
@Suite struct ProxyGuardTests {
    private static func verdict(
        _ proxy: String, _ url: String, allowing rules: [String] = [], opensProxies: Bool = false,
        nat64 prefix: String? = nil
    ) throws -> TargetRefusal.Code? {
        var policy = TargetPolicy.publicOnly
        policy.opensProxies = opensProxies
        if let prefix { try policy.translate(nat64: prefix) }
        for rule in rules { try policy.allow(rule) }
        let (relay, target) = (try #require(Proxy(proxy)), try URLRecord(url))
        do throws(TargetRefusal) {
            try TargetGuard(policy: policy).judge(relay, for: target)
            return nil
        } catch {
            return error.code
        }
    }

    // Proves: SEC-34.
    @Test func `a proxy is judged as a target is`() throws {
        #expect(try Self.verdict("http://127.0.0.1:3128", "http://a.example/") == .proxyForbidden)
        #expect(try Self.verdict("http://127.0.0.1:3128", "http://a.example/", allowing: ["127.0.0.1:3128"]) == nil)
        #expect(try Self.verdict("http://proxy", "http://a.example/") == .proxyForbidden)
        #expect(try Self.verdict("socks5h://proxy.example", "http://a.example/", opensProxies: true) == nil)
        #expect(try Self.verdict("http://127.0.0.1:3128", "http://a.example/", opensProxies: true) == .proxyForbidden)
        #expect(try Self.verdict("http://proxy", "http://a.example/", opensProxies: true) == .proxyForbidden)
    }

    // Proves: SEC-34.
    @Test(arguments: ["http", "https", "socks4a", "socks5h"])
    func `a public proxy is used where the operator allows proxies, or this one`(_ kind: String) throws {
        let rules = [
            "proxy.example": ["proxy.example", "*.example"], "8.8.8.8": ["8.8.8.8:3128", "8.8.8.0/24"],
            "[2600::1]": ["[2600::1]:3128", "2600::/64"],
        ]
        for (host, rules) in rules {
            let proxy = "\(kind)://\(host):3128"
            #expect(try Self.verdict(proxy, "http://a.example/") == .proxyForbidden, "\(proxy)")
            #expect(try Self.verdict(proxy, "http://a.example/", opensProxies: true) == nil, "\(proxy)")
            for rule in rules {
                #expect(try Self.verdict(proxy, "http://a.example/", allowing: [rule]) == nil, "\(proxy) \(rule)")
            }
            for rule in ["other.example", "8.8.8.8:3129", "8.8.4.0/24", "[2600::1]:1"] {
                #expect(
                    try Self.verdict(proxy, "http://a.example/", allowing: [rule]) == .proxyForbidden,
                    "\(proxy) \(rule)")
            }
        }
        // What a network translates to a public address is that.
        let translated = "\(kind)://[64:ff9b::808:808]:3128"
        #expect(try Self.verdict(translated, "http://a.example/", nat64: "64:ff9b::/96") == .proxyForbidden)
        #expect(
            try Self.verdict(translated, "http://a.example/", opensProxies: true, nat64: "64:ff9b::/96") == nil)
    }

    // Proves: SEC-34.
    @Test func `a name may not be resolved here and handed on, where no address of it is judged`() throws {
        for kind in ["socks4", "socks5"] {
            let proxy = "\(kind)://proxy.example"
            #expect(try Self.verdict(proxy, "http://a.example/", opensProxies: true) == .proxyForbidden)
            #expect(try Self.verdict(proxy, "http://192.0.2.1/", opensProxies: true) == nil)
        }
    }

    @Test func `without a restriction every proxy will do`() throws {
        let guardian = TargetGuard(policy: .unrestricted)
        try guardian.judge(#require(Proxy("socks4://127.0.0.1")), for: URLRecord("http://a.example/"))
    }
}
