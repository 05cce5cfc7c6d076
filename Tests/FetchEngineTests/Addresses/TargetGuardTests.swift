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

    // Proves: SEC-9.
    @Test(arguments: [0, 1, 22, 25, 445, 2375, 5432, 6379, 6667, 10080, 10250, 27017] as [UInt16])
    func `ports of other protocols are refused`(port: UInt16) throws {
        #expect(code("http://example.com:\(port)/") == .portForbidden)
        #expect(try code(address: "8.8.8.8", port: port) == .portForbidden)
    }

    // Proves: SEC-9.
    @Test(arguments: [2, 80, 443, 3000, 8000, 8080, 8443, 65535] as [UInt16])
    func `other ports are allowed`(port: UInt16) {
        #expect(code("http://example.com:\(port)/") == nil)
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
