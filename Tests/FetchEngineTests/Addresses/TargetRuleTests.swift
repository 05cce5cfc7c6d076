import Testing

@testable import FetchEngine

/// The lists of an operator, over what a policy opens and refuses by itself.
@Suite struct TargetRuleTests {
    private static func rule(
        _ name: String? = nil, hosts: [String] = [], addresses: [String] = [], ports: [UInt16] = [],
        schemes: [String] = []
    ) throws -> TargetRule {
        TargetRule(
            name: name, hosts: try hosts.map { try #require(TargetRule.host($0), "\($0)") },
            addresses: try addresses.map { try #require(IPPrefix($0), "\($0)") }, ports: ports, schemes: schemes)
    }

    private static func policy(_ lists: TargetRules..., opening rules: String...) throws -> TargetPolicy {
        var policy = TargetPolicy.publicOnly
        policy.rules = lists
        for rule in rules { try policy.allow(rule) }
        return policy
    }

    private static func refusal(_ policy: TargetPolicy, _ address: String, _ port: UInt16 = 80) throws -> TargetRefusal?
    {
        let address = try #require(IPAddress(address))
        do throws(TargetRefusal) { try TargetGuard(policy: policy).judge(address, port: port) } catch { return error }
        return nil
    }

    // MARK: Names

    @Test(arguments: [
        ("https://a.example/", true), ("https://A.EXAMPLE/", true), ("https://b.a.example/", false),
        ("https://aa.example/", false), ("https://sub.b.example/", true), ("https://x.sub.b.example/", true),
        ("https://b.example/", false), ("https://xb.example/", false), ("https://BÜCHER.example/", true),
        ("https://xn--bcher-kva.example/", true), ("https://c.example/", false), ("https://c.example:8443/", true),
    ])
    func `a name is denied in every spelling, and no name beside it`(_ url: String, _ isDenied: Bool) throws {
        let policy = try Self.policy(
            TargetRules(deny: [
                Self.rule(hosts: ["a.example.", "*.b.example", "bücher.example"]),
                Self.rule(hosts: ["c.example"], ports: [8443]),
            ]))
        #expect(code(url, policy) == (isDenied ? .egressDenied : nil))
    }

    @Test func `a name with the dot of the root is denied too`() throws {
        let policy = try Self.policy(TargetRules(deny: [Self.rule(hosts: ["a.example"])]))
        let url = try URLRecord("https://a.example./")
        var refused: TargetRefusal.Code?
        do throws(TargetRefusal) { try TargetGuard(policy: policy).judge(url) } catch { refused = error.code }
        #expect(refused == .egressDenied)
        var open = TargetPolicy.unrestricted
        open.rules = policy.rules
        #expect(code("https://a.example./", open) == .egressDenied)
    }

    @Test(arguments: ["*", "", "a.example:80", "10.0.0.1", "10.0.0.0/8", "[::1]", "<local>", "http://a.example", "a/b"])
    func `a text that is no name is no host of a rule`(_ text: String) { #expect(TargetRule.host(text) == nil) }

    // MARK: Addresses

    // The first, the last, and their neighbours.
    @Test(arguments: [
        ("8.8.7.255", false), ("8.8.8.0", true), ("8.8.8.255", true), ("8.8.9.0", false), ("9.9.9.9", true),
        ("9.9.9.8", false), ("2600:1::", true), ("2600:1:ffff:ffff:ffff:ffff:ffff:ffff", true), ("2600:2::", false),
        ("2600:0:ffff:ffff:ffff:ffff:ffff:ffff", false),
    ])
    func `a block is denied from its first address to its last`(_ address: String, _ isDenied: Bool) throws {
        let policy = try Self.policy(
            TargetRules(deny: [Self.rule("blocks", addresses: ["8.8.8.0/24", "9.9.9.9", "2600:1::/32"])]))
        let host = address.contains(":") ? "[\(address)]" : address
        #expect(code("http://\(host)/", policy) == (isDenied ? .egressDenied : nil))
        let refusal = try Self.refusal(policy, address)
        #expect(refusal?.code == (isDenied ? .egressDenied : nil))
        #expect(refusal?.rule == (isDenied ? "blocks" : nil))
    }

    @Test func `a block of everything denies everything`() throws {
        let policy = try Self.policy(TargetRules(deny: [Self.rule(addresses: ["0.0.0.0/0", "::/0"])]))
        #expect(try Self.refusal(policy, "8.8.8.8")?.code == .egressDenied)
        #expect(try Self.refusal(policy, "2600::1")?.code == .egressDenied)
        // By its name it is not known yet.
        #expect(code("http://a.example/", policy) == nil)
    }

    @Test func `deny comes before everything that opens`() throws {
        let policy = try Self.policy(
            TargetRules(deny: [Self.rule(addresses: ["127.0.0.0/8", "10.1.0.0/16"])]),
            opening: "127.0.0.1:8080", "10.0.0.0/8")
        #expect(code("http://127.0.0.1:8080/", policy) == .egressDenied)
        #expect(code("http://10.1.2.3/", policy) == .egressDenied)
        #expect(code("http://10.2.2.3/", policy) == nil)
    }

    @Test func `a rule for IPv4 allows no mapped form, and a denied address is denied where a network translates it`()
        throws
    {
        var policy = try Self.policy(
            TargetRules(
                mode: .allowListOnly, allow: [Self.rule(addresses: ["8.8.8.0/24", "9.9.9.0/24"])],
                deny: [Self.rule(addresses: ["9.9.9.9"])]))
        #expect(code("http://8.8.8.8/", policy) == nil)
        #expect(code("http://[::ffff:8.8.8.8]/", policy) == .egressNotAllowed)
        #expect(try Self.refusal(policy, "::ffff:8.8.8.8")?.code == .addressForbidden)
        try policy.translate(nat64: "2600:64::/96")
        #expect(code("http://[2600:64::808:808]/", policy) == nil)
        #expect(code("http://[2600:64::909:909]/", policy) == .egressDenied)
        #expect(try Self.refusal(policy, "2600:64::909:909")?.code == .egressDenied)
        #expect(code("http://[2600:64::a00:1]/", policy) == .egressNotAllowed)
        // A tunnel (ISATAP) leads to the IPv4 address at its end.
        #expect(try Self.refusal(policy, "2600::5efe:909:909")?.code == .egressDenied)
    }

    // MARK: Allow-list only

    @Test func `only what is listed is allowed, and what the guard refuses stays refused`() throws {
        let policy = try Self.policy(
            TargetRules(
                mode: .allowListOnly,
                allow: [
                    Self.rule(hosts: ["a.example", "*.b.example", "db.internal"], schemes: ["https"]),
                    Self.rule(addresses: ["8.8.8.0/24", "10.0.0.0/8"], ports: [443, 8443]),
                ],
                deny: [Self.rule(hosts: ["bad.b.example"])]))
        for (url, expected) in [
            ("https://a.example/", nil), ("http://a.example/", .egressNotAllowed), ("https://x.b.example/", nil),
            ("https://bad.b.example/", .egressDenied), ("https://c.example/", .egressNotAllowed),
            ("https://8.8.8.8/", nil), ("https://8.8.8.8:8443/", nil), ("http://8.8.8.8/", .egressNotAllowed),
            ("https://8.8.9.8/", .egressNotAllowed), ("https://10.0.0.1/", .addressForbidden),
            ("https://db.internal/", .hostForbidden),
        ] as [(String, TargetRefusal.Code?)] {
            #expect(code(url, policy) == expected, "\(url)")
        }
        // A rule for a name opens no address, and leaves public ones as they are.
        #expect(try Self.refusal(policy, "10.0.0.1", 443)?.code == .addressForbidden)
        #expect(try Self.refusal(policy, "1.1.1.1", 443) == nil)
    }

    @Test func `an empty list allows nothing, and waits in the other mode`() throws {
        let nothing = try Self.policy(TargetRules(mode: .allowListOnly))
        #expect(code("https://a.example/", nothing) == .egressNotAllowed)
        let waiting = try Self.policy(TargetRules(allow: [Self.rule(hosts: ["a.example"])]))
        #expect(code("https://b.example/", waiting) == nil)
    }

    @Test func `each list narrows the others`() throws {
        let policy = try Self.policy(
            TargetRules(deny: [Self.rule(hosts: ["a.example"])]),
            TargetRules(mode: .allowListOnly, allow: [Self.rule(hosts: ["a.example", "b.example"])]))
        #expect(code("https://a.example/", policy) == .egressDenied)
        #expect(code("https://b.example/", policy) == nil)
        #expect(code("https://c.example/", policy) == .egressNotAllowed)
    }

    // MARK: Which rule

    @Test func `of several rules the first is named`() throws {
        let policy = try Self.policy(
            TargetRules(deny: [
                Self.rule("port", ports: [8443]), Self.rule("all of b", hosts: ["*.b.example"]),
                Self.rule("one of b", hosts: ["a.b.example"]), Self.rule(schemes: ["ftp"]),
            ]))
        func rule(_ url: String) throws -> String? {
            let url = try URLRecord(url)
            do throws(TargetRefusal) { try TargetGuard(policy: policy).judge(url) } catch { return error.message }
            return nil
        }
        #expect(try rule("https://a.b.example/") == "The operator's rule \"all of b\" denies this target.")
        #expect(try rule("https://a.b.example:8443/") == "The operator's rule \"port\" denies this target.")
        #expect(try rule("ftp://a.example/") == "The operator's rule denies this target.")
        #expect(try rule("https://a.example/") == nil)
    }

    @Test func `an FTP server's data goes to no denied address and port`() throws {
        var policy = try Self.policy(
            TargetRules(deny: [
                Self.rule(addresses: ["8.8.8.8"], ports: [21]), Self.rule(ports: [40_001]),
                Self.rule(addresses: ["9.9.9.9"], schemes: ["http"]),
            ]))
        policy.opensFTP = true
        func isRefused(_ address: String, _ port: UInt16) throws -> Bool {
            let address = try #require(IPAddress(address))
            do throws(TargetRefusal) {
                try TargetGuard(policy: policy).judge(dataConnectionTo: address, port: port, of: 21)
            } catch { return error.code == .egressDenied }
            return false
        }
        #expect(try isRefused("8.8.8.8", 40_000))
        #expect(try isRefused("1.1.1.1", 40_001))
        #expect(try !isRefused("1.1.1.1", 40_000))
        #expect(try !isRefused("9.9.9.9", 40_000))
    }

    // MARK: Cost

    @Test func `lists with the same rules are equal, and others are not`() throws {
        func lists(_ host: String) throws -> TargetRules { TargetRules(deny: [try Self.rule("a", hosts: [host])]) }
        #expect(try lists("a.example") == lists("A.EXAMPLE."))
        #expect(try lists("a.example").hashValue == lists("a.example").hashValue)
        #expect(try lists("a.example") != lists("b.example"))
    }

    @Test func `the index finds the rule that a look at all of them finds`() throws {
        var generator = SeededGenerator(state: 7)
        let labels = ["a", "b", "c", "aa", "example", "com"]
        func host() -> String {
            (0..<Int.random(in: 1...4, using: &generator)).map { _ in labels.randomElement(using: &generator) ?? "a" }
                .joined(separator: ".")
        }
        func address() -> IPAddress {
            Bool.random(using: &generator)
                ? IPAddress(ipv4: UInt32.random(in: 0...1 << 12, using: &generator) << 12)
                : IPAddress(ipv6: UInt128(UInt32.random(in: 0...1 << 12, using: &generator)) << 100)
        }
        func block() -> IPPrefix {
            let base = address()
            let length = Int.random(in: 0...base.bitWidth, using: &generator)
            let rest = UInt128(base.bitWidth - length)
            let kept = (base.value >> rest) << rest
            return IPPrefix(
                base: base.isIPv6
                    ? IPAddress(ipv6: kept) : IPAddress(ipv4: UInt32(truncatingIfNeeded: kept)), length: length)
        }
        let rules = try (0..<300).map { number in
            // Every hundredth is for all hosts.
            let isAnywhere = number % 100 == 99
            return TargetRule(
                hosts: isAnywhere
                    ? []
                    : try (0..<2).map { _ in
                        try #require(TargetRule.host((Bool.random(using: &generator) ? "*." : "") + host()))
                    },
                addresses: isAnywhere ? [] : [block()], ports: Bool.random(using: &generator) ? [] : [80],
                schemes: isAnywhere || Bool.random(using: &generator) ? ["http"] : [])
        }
        let index = TargetRuleIndex(rules)
        for _ in 0..<2000 {
            let (name, address) = (host(), address())
            let port: UInt16 = Bool.random(using: &generator) ? 80 : 443
            let scheme = Bool.random(using: &generator) ? "http" : "https"
            let byName = rules.first { rule in
                rule.covers(port, scheme)
                    && (rule.isAnywhere || rule.hosts.contains { $0.matches(host: name, port: port) })
            }
            #expect(index.rule(name: name, port, scheme) == byName)
            let byAddress = rules.first { rule in
                rule.covers(port, scheme) && (rule.isAnywhere || rule.addresses.contains { $0.contains(address) })
            }
            #expect(index.rule(addresses: [address], port, scheme) == byAddress)
        }
    }
}
