import Glibc
import Testing

@testable import FetchEngine

@Suite struct TargetPolicyTests {
    private func policy(_ rules: String...) throws -> TargetPolicy {
        var policy = TargetPolicy.publicOnly
        for rule in rules { try policy.allow(rule) }
        return policy
    }

    // Proves: SEC-7.
    @Test func `an address and port open nothing else`() throws {
        let policy = try policy("127.0.0.1:8081", "[::1]:6379")
        #expect(code("http://127.0.0.1:8081/", policy) == nil)
        #expect(code("http://127.0.0.1:8082/", policy) == .addressForbidden)
        #expect(code("http://127.0.0.2:8081/", policy) == .addressForbidden)
        #expect(code("http://localhost:8081/", policy) == .hostForbidden)
        #expect(code("http://[::1]:6379/", policy) == nil)
        #expect(code("http://[::1]/", policy) == .addressForbidden)
        #expect(code("http://[::ffff:127.0.0.1]:8081/", policy) == .addressForbidden)
        #expect(try code(address: "127.0.0.1", port: 8081, policy) == nil)
        #expect(try code(address: "::ffff:127.0.0.1", port: 8081, policy) == .addressForbidden)
    }

    // Proves: SEC-7.
    @Test func `a block opens its addresses on all ports but forbidden ones`() throws {
        let policy = try policy("10.0.0.0/8", "fd00::/8", "192.168.1.7")
        #expect(code("http://10.0.0.0/", policy) == nil)
        #expect(code("http://10.255.255.255:9999/", policy) == nil)
        #expect(code("http://10.0.0.1:6379/", policy) == .portForbidden)
        #expect(code("http://11.0.0.0/", policy) == nil)
        #expect(code("http://[fd12::1]/", policy) == nil)
        #expect(code("http://[fc00::1]/", policy) == .addressForbidden)
        #expect(code("http://192.168.1.7/", policy) == nil)
        #expect(code("http://192.168.1.8/", policy) == .addressForbidden)
        #expect(try code(address: "::ffff:10.0.0.1", policy) == .addressForbidden)
    }

    // Proves: SEC-7.
    @Test(arguments: [
        "127.0.0.1", "0.0.0.0", "::1", "::", "169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::",
    ])
    func `no block opens loopback, metadata or mapped addresses`(text: String) throws {
        let policy = try policy("0.0.0.0/0", "::/0")
        #expect(try code(address: text, policy) == .addressForbidden)
        #expect(try code(address: "10.0.0.1", policy) == nil)
        #expect(try code(address: "169.254.1.1", policy) == nil)
    }

    // Proves: SEC-7.
    @Test func `loopback and metadata have switches of their own`() throws {
        var policy = TargetPolicy.publicOnly
        policy.opensLoopback = true
        #expect(try code(address: "127.0.0.1", policy) == nil)
        #expect(try code(address: "::1", policy) == nil)
        #expect(try code(address: "169.254.169.254", policy) == .addressForbidden)
        policy.opensMetadata = true
        #expect(try code(address: "169.254.169.254", policy) == nil)
        #expect(try code(address: "169.254.169.253", policy) == .addressForbidden)
    }

    // Proves: SEC-7.
    @Test func `a name opens no address, and a pattern matches below only`() throws {
        let policy = try policy("localhost", "*.Svc", "bücher.test")
        #expect(code("http://localhost:8081/", policy) == nil)
        #expect(code("http://a.localhost:8081/", policy) == .hostForbidden)
        #expect(code("http://a.b.svc/", policy) == nil)
        #expect(code("http://svc/", policy) == .hostForbidden)
        #expect(code("http://xn--bcher-kva.test/", policy) == nil)
        #expect(code("http://localhost:6379/", policy) == .portForbidden)
        #expect(try code(address: "127.0.0.1", port: 8081, policy) == .addressForbidden)
    }

    // Proves: SEC-7.
    @Test func `an allow list refuses what no rule names`() throws {
        var policy = try policy("*.example.com", "8.8.8.8:80", "9.9.9.0/24")
        policy.isAllowList = true
        #expect(code("http://a.example.com/", policy) == nil)
        #expect(code("http://example.com/", policy) == .hostForbidden)
        #expect(code("http://8.8.8.8/", policy) == nil)
        #expect(code("http://8.8.8.8:81/", policy) == .hostForbidden)
        #expect(code("http://9.9.9.9/", policy) == nil)
        #expect(code("http://1.1.1.1/", policy) == .hostForbidden)
    }

    // Proves: SEC-7.
    @Test(arguments: [
        ("2001:db8::/32", "2001:db8:c000:221::"), ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"), ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"), ("64:ff9b::/96", "64:ff9b::c000:221"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
    ])
    func `a translated address is judged by the IPv4 address inside`(prefix: String, address: String) throws {
        // RFC 6052 §2.4: 192.0.2.33 in each prefix.
        var policy = TargetPolicy.publicOnly
        try policy.translate(nat64: prefix)
        #expect(try code(address: address, policy) == .addressForbidden)
        try policy.allow("192.0.2.33:80")
        #expect(try code(address: address, policy) == nil)
        #expect(try code(address: address, port: 81, policy) == .addressForbidden)
    }

    // Proves: SEC-6, SEC-7.
    @Test func `the node's own public address is refused`() throws {
        var policy = TargetPolicy.publicOnly
        policy.nodeAddresses = [try #require(IPAddress("8.8.4.4"))]
        #expect(try code(address: "8.8.4.4", policy) == .addressForbidden)
        #expect(try code(address: "8.8.8.8", policy) == nil)
    }

    // Proves: SEC-7.
    @Test(arguments: [
        "", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/-1", "http://x", "a b", "*.", "*", "a.*", "127.1", "[::1", "::1/129",
        "127.0.0.1:65536", "x:80", "[::1]", "10.0.0.0/8/8", "1.2.3.4.",
    ])
    func `a rule that means nothing is refused`(rule: String) {
        var policy = TargetPolicy.publicOnly
        #expect(throws: TargetPolicy.RuleError.self) { try policy.allow(rule) }
        #expect(policy == .publicOnly)
    }

    // A rule that opens nothing is a misunderstanding.
    // Proves: SEC-7.
    @Test(arguments: [
        ("127.0.0.0/8", "127.0.0.1:8080"), ("127.0.0.1", "127.0.0.1:8080"), ("0.0.0.0", "127.0.0.1:8080"),
        ("::1", "127.0.0.1:8080"), ("169.254.169.254", "169.254.169.254:80"), ("fd00:ec2::254", "169.254.169.254:80"),
        ("::ffff:10.0.0.0/104", "IPv4 addresses"), ("64:ff9b::/96", "IPv4 addresses"),
    ])
    func `a block that would open nothing is refused, with what to write instead`(rule: String, advice: String) {
        var policy = TargetPolicy.publicOnly
        let refusal = #expect(throws: TargetPolicy.RuleError.self) { try policy.allow(rule) }
        #expect(refusal?.message.contains(advice) == true)
        #expect(policy == .publicOnly)
    }

    // Proves: SEC-7.
    @Test func `localhost is refused without an address of this machine`() throws {
        for name in ["localhost", "a.localhost"] {
            #expect(throws: TargetPolicy.RuleError.self) { try self.policy(name).check() }
            #expect(throws: TargetPolicy.RuleError.self) { try self.policy(name, "10.0.0.1:80").check() }
            try self.policy(name, "127.0.0.1:80").check()
            try self.policy("[::1]:80", name).check()
        }
        try self.policy("a.internal", "*.corp").check()
        var policy = try self.policy("localhost")
        policy.opensLoopback = true
        try policy.check()
    }

    // Proves: SEC-6, SEC-7.
    @Test func `the addresses of this machine's interfaces are its own`() throws {
        var first: UnsafeMutablePointer<ifaddrs>?
        try #require(getifaddrs(&first) == 0)
        defer { freeifaddrs(first) }
        var next = first
        var count = 0
        while let interface = next?.pointee {
            next = interface.ifa_next
            guard let address = interface.ifa_addr.flatMap({ IPAddress(sockaddr: $0) }) else { continue }
            count += 1
            #expect(TargetPolicy.publicOnly.isOfNode(address))
            var policy = try policy("0.0.0.0/0", "::/0")
            #expect(try code(address: "\(address)", policy) == .addressForbidden)
            try policy.allow(address.isIPv6 ? "[\(address)]:80" : "\(address):80")
            #expect(try code(address: "\(address)", policy) == nil)
        }
        #expect(count > 0)
        #expect(!TargetPolicy.publicOnly.isOfNode(try #require(IPAddress("9.9.9.9"))))
    }

    @Test func `a refusal names what stands in the URL, and the rule that would open it`() throws {
        let judge = TargetGuard(policy: .publicOnly)
        let cases = [
            ("http://127.0.0.1:9000/", "GUARD_ALLOW=127.0.0.1:9000"), ("http://[fd00::7]/", "GUARD_ALLOW=[fd00::7]:80"),
            ("https://db.internal/", "GUARD_ALLOW=db.internal"), ("http://intra/", "GUARD_ALLOW=intra"),
        ]
        for (text, rule) in cases {
            let refusal = #expect(throws: TargetRefusal.self) { try judge.target(text) }
            #expect(refusal?.message.contains(rule) == true, "\(text)")
        }
    }

    // Ftp is an opening of its own, and opens nothing else.
    // Proves: SEC-8.
    @Test func `ftp is judged like http where it is opened`() throws {
        #expect(code("ftp://example.com/f") == .schemeForbidden)
        var policy = try policy("127.0.0.1:2121")
        policy.opensFTP = true
        #expect(code("ftp://example.com/f", policy) == nil)
        #expect(code("ftps://example.com/f", policy) == nil)
        #expect(code("ftp://example.com:990/f", policy) == .portForbidden)
        #expect(code("http://example.com:21/f", policy) == .portForbidden)
        #expect(code("ftp://example.com:22/f", policy) == .portForbidden)
        #expect(code("ftp://127.0.0.1/f", policy) == .addressForbidden)
        #expect(code("ftp://127.0.0.1:2121/f", policy) == nil)
        #expect(code("ftp://localhost/f", policy) == .hostForbidden)
        #expect(code("gopher://example.com/f", policy) == .schemeForbidden)
    }

    // A server may name the port for data, and no other address.
    // Proves: SEC-8, SEC-11.
    @Test(
        arguments: [
            ("127.0.0.1", UInt16(40_000), UInt16(2121), nil), ("127.0.0.1", 40_000, 2122, .addressForbidden),
            ("127.0.0.1", 80, 2121, .addressForbidden), ("127.0.0.1", 5432, 2121, .portForbidden),
            ("127.0.0.2", 40_000, 2121, .addressForbidden), ("10.0.0.1", 40_000, 21, .addressForbidden),
            ("8.8.8.8", 40_000, 21, nil), ("8.8.8.8", 22, 21, .portForbidden),
        ] as [(String, UInt16, UInt16, TargetRefusal.Code?)])
    func `a connection for data goes where control goes`(
        _ address: String, _ port: UInt16, _ control: UInt16, _ expected: TargetRefusal.Code?
    ) throws {
        var policy = try policy("127.0.0.1:2121")
        policy.opensFTP = true
        let (address, judge) = (try #require(IPAddress(address)), TargetGuard(policy: policy))
        let refusal = Result { () throws(TargetRefusal) in
            try judge.judge(dataConnectionTo: address, port: port, of: control)
        }
        switch refusal {
        case .success: #expect(expected == nil)
        case .failure(let refusal): #expect(refusal.code == expected)
        }
    }
}
