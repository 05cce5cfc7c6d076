import FetchEngine
import Testing

/// The code of the refusal, or `nil` when the target is allowed.
func code(_ text: String, _ policy: TargetPolicy = .publicOnly) -> TargetRefusal.Code? {
    do throws(TargetRefusal) {
        _ = try TargetGuard(policy: policy).target(text)
        return nil
    } catch {
        return error.code
    }
}

/// The code of the refusal of an address, or `nil` when it is allowed.
func code(address: String, port: UInt16 = 80, _ policy: TargetPolicy = .publicOnly) throws -> TargetRefusal.Code? {
    let address = try #require(IPAddress(address))
    do throws(TargetRefusal) {
        try TargetGuard(policy: policy).judge(address, port: port)
        return nil
    } catch {
        return error.code
    }
}

@Suite struct TargetGuardTests {
    @Test(arguments: [
        "http://example.com", "https://example.com:8443/a%20b?q=\\#f", "HTTP://EXAMPLE.com/", "http://8.8.8.8/",
        "http://[2606:4700::1111]/", "https://user:secret@example.com/", "http://bücher.example/",
        "http://xn--bcher-kva.example/", "http://a_b.example.com", "http://example.com:", "http://1.example.com",
    ])
    func `public targets are allowed`(text: String) {
        #expect(code(text) == nil)
    }

    // Proves: SEC-2.
    @Test(arguments: [
        "http://example.com/a b", " http://example.com", "http://example.com/\t", "http://exa\nmple.com",
        "http://example.com/\u{7F}", "http://example.com\\@evil.example", "http:\\\\example.com", "http:/example.com",
        "http:example.com", "http:///example.com", "example.com", "//example.com", "", "http://",
        "http://a@b@c.example",
        "http://user@/", "http://example.com:x/", "http://example.com:65536/", "http://[::1", "http://[1::2::3]/",
        "http://?q", "http://a..b/", "http://.example.com/", "http://exa<mple.com/", "http://\u{AD}/",
    ])
    func `text that parsers read differently is refused`(text: String) {
        #expect(code(text) == .urlInvalid)
    }

    // Proves: SEC-2.
    @Test func `control characters, spaces and DEL are refused wherever they stand`() {
        for number in Array(0...0x20) + [0x7F] as [UInt8] {
            let character = Character(Unicode.Scalar(number))
            for text in [
                "\(character)http://example.com/", "http:\(character)//example.com/", "http://\(character)example.com/",
                "http://exa\(character)mple.com/", "http://example.com:8\(character)0/",
                "http://example.com/a\(character)",
                "http://example.com/?a\(character)b", "http://example.com/#a\(character)b",
            ] {
                #expect(code(text) == .urlInvalid, "\(number) in \(text)")
            }
        }
    }

    // Proves: SEC-2.
    @Test func `a URL longer than 16 KiB is refused`() {
        let prefix = "http://example.com/"
        let longest = prefix + String(repeating: "a", count: 16384 - prefix.utf8.count)
        #expect(code(longest) == nil)
        #expect(code(longest + "a") == .urlTooLong)
    }

    // Proves: SEC-3.
    @Test(arguments: [
        ("http://ex%61mple.com/", TargetRefusal.Code.hostPercentEncoded), ("http://example.com./", .hostTrailingDot),
        ("http://example。com。/", .hostTrailingDot), ("http://example.1a/", .urlInvalid),
        ("http://xn--a.com/", .urlInvalid),
        ("http://ex!ample.com/", .urlInvalid), ("http://" + String(repeating: "a", count: 64) + ".com", .urlInvalid),
        ("http://" + String(repeating: "a.", count: 126) + "com", .urlInvalid),
    ])
    func `a host that is not plain is refused`(text: String, expected: TargetRefusal.Code) {
        #expect(code(text) == expected)
    }

    // Proves: SEC-3.
    @Test func `a host becomes lower-case ASCII, as long as it may be`() throws {
        let judge = TargetGuard(policy: .publicOnly)
        for (host, plain) in [
            ("EXAMPLE.Com", "example.com"), ("b\u{FC}cher.example", "xn--bcher-kva.example"),
            // Not the transitional form, in which these would be other names.
            ("fa\u{DF}.example", "xn--fa-hia.example"),
            ("\u{3B2}\u{3CC}\u{3BB}\u{3BF}\u{3C2}.example", "xn--nxasmm1c.example"),
            ("a_b-c.example", "a_b-c.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ] {
            #expect(try judge.target("http://\(host)/").host == plain)
        }
        let label = String(repeating: "a", count: 63)
        let longest = "\(label).\(label).\(label).\(String(repeating: "a", count: 57)).com"
        #expect(longest.utf8.count == 253 && code("http://\(longest)/") == nil)
        #expect(code("http://a\(longest)/") == .urlInvalid)
        #expect(code("http://\(label)a.com/") == .urlInvalid)
    }

    // Proves: SEC-4.
    @Test(arguments: [
        "http://0x7f.0.0.1/", "http://127.1/", "http://2130706433/", "http://0177.0.0.1/", "http://08.8.8.8/",
        "http://134744072/", "http://8.8.8.8./", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://１２７.0.0.1/",
        "http://0xffffffffff/",
    ])
    func `an IPv4 address in another form is refused`(text: String) {
        #expect(code(text) == .hostNonCanonicalIP)
    }

    // Proves: SEC-4.
    @Test(arguments: ["http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/"])
    func `a zone is refused`(text: String) {
        #expect(code(text) == .hostZoneID)
    }

    // Proves: SEC-5.
    @Test(arguments: [
        "localhost", "a.localhost", "LOCALHOST", "printer.local", "x.internal", "metadata.google.internal",
        "metadata.goog", "a.home.arpa", "db.svc", "a.cluster.local", "x.onion", "x.alt", "x.test", "x.invalid",
        "1.in-addr.arpa", "x.ip6.arpa", "a.lan", "a.corp", "a.home", "a.intranet", "a.localdomain",
    ])
    func `names of private networks are refused`(host: String) {
        #expect(code("http://\(host)/") == .hostForbidden)
    }

    // Proves: SEC-5.
    @Test(arguments: [
        "localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa", "svc",
        "cluster.local", "onion", "alt", "test", "invalid", "in-addr.arpa", "ip6.arpa",
    ])
    func `a private name is refused with everything below it`(name: String) {
        for host in [name, "a.\(name)", "a.b.\(name.uppercased())"] {
            #expect(code("http://\(host)/") == .hostForbidden, "\(host)")
        }
        #expect(code("http://\(name).example/") == nil)
        #expect(code("http://a\(name).example/") == nil)
    }

    // Proves: SEC-5.
    @Test func `a name without a dot is refused`() {
        #expect(code("http://intra/") == .hostSingleLabel)
        #expect(code("http://notlocalhost.example/") == nil)
    }

    // Proves: SEC-8.
    @Test(arguments: [
        "ftp://example.com/", "file:///etc/passwd", "data:,x", "gopher://example.com/", "ws://example.com/",
    ])
    func `other schemes are refused`(text: String) {
        #expect(code(text) == .schemeForbidden)
    }

    /// Those of the Fetch standard (https://fetch.spec.whatwg.org/#port-blocking), port 0, and those of databases and
    /// control planes.
    private static let forbiddenPorts: Set<UInt16> = [
        1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110,
        111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
        532,
        540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
        5061,
        6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
        0, 445, 1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5900, 5984, 6379, 9200, 9300, 10250, 11211, 27017,
    ]

    // Proves: SEC-9.
    @Test func `ports of other protocols are refused, and no others`() throws {
        let judge = TargetGuard(policy: .publicOnly)
        let address = try #require(IPAddress("8.8.8.8"))
        var refused: Set<UInt16> = []
        for port in UInt16.min ... .max {
            do throws(TargetRefusal) { try judge.judge(address, port: port) } catch {
                #expect(error.code == .portForbidden)
                refused.insert(port)
            }
        }
        #expect(refused == Self.forbiddenPorts)
        for port in Self.forbiddenPorts { #expect(code("http://example.com:\(port)/") == .portForbidden) }
        for port in [2, 80, 443, 3000, 8000, 8080, 8443, 65535] { #expect(code("http://example.com:\(port)/") == nil) }
    }

    @Test func `an unrestricted policy refuses only what is no URL`() throws {
        #expect(code("http://localhost:22/", .unrestricted) == nil)
        #expect(code("http:\\\\127.1", .unrestricted) == nil)
        #expect(code("http://[::1", .unrestricted) == .urlInvalid)
        #expect(try code(address: "169.254.169.254", .unrestricted) == nil)
    }

    // Proves: SEC-30.
    @Test func `a reference is judged as a target is`() throws {
        let base = try URLRecord("https://example.com/a/b")
        let judge = TargetGuard(policy: .publicOnly)
        #expect(try judge.target("../c?d", from: base).description == "https://example.com/c?d")
        #expect(try judge.target("//other.example/x", from: base).description == "https://other.example/x")
        #expect(try judge.target("http://other.example", from: base).description == "http://other.example/")
        let refused = ["//127.0.0.1/", "//127.1/", "/\\evil.example", "http:evil.example", "file:///x", "/a b", "///x"]
        for reference in refused {
            #expect(throws: TargetRefusal.self) { try judge.target(reference, from: base) }
        }
    }
}
