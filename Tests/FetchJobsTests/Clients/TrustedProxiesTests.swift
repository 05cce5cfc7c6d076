import FetchJobs
import Testing

/// The client of a request, when proxies are in between.
@Suite struct TrustedProxiesTests {
    private let proxies: TrustedProxies

    init() throws { proxies = try TrustedProxies(["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"]) }

    private func client(
        _ peer: String = "127.0.0.1", forwarded: [String] = [], forwardedFor: [String] = []
    ) -> ClientNetwork? {
        proxies.client(of: peer, forwarded: forwarded, forwardedFor: forwardedFor)
    }

    private func network(_ text: String) -> ClientNetwork? { ClientNetwork(of: text) }

    @Test func `only a trusted proxy is believed`() {
        #expect(client("192.0.2.1", forwardedFor: ["203.0.113.5"]) == network("192.0.2.1"))
        #expect(client(forwardedFor: ["203.0.113.5"]) == network("203.0.113.5"))
        #expect(client("::ffff:127.0.0.1", forwardedFor: ["203.0.113.5"]) == network("203.0.113.5"))
        #expect(client() == network("127.0.0.1"))
    }

    @Test(arguments: [
        (["203.0.113.5"], "203.0.113.5"), (["198.51.100.9, 203.0.113.5"], "203.0.113.5"),
        (["198.51.100.9, 203.0.113.5, 10.1.1.1"], "203.0.113.5"),
        (["203.0.113.5", "10.1.1.1,10.2.2.2"], "203.0.113.5"),
        (["203.0.113.5:4711"], "203.0.113.5"), (["[2001:db8:2::7]:4711"], "2001:db8:2::1"),
        (["2001:db8:2::7"], "2001:db8:2::1"), (["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
        (["::ffff:203.0.113.5"], "203.0.113.5"),
    ])
    func `X-Forwarded-For is read from its end, past the proxies that are trusted`(values: [String], expected: String) {
        #expect(client(forwardedFor: values) == network(expected))
    }

    @Test(arguments: [
        (["for=203.0.113.5"], "203.0.113.5"), (["For=\"203.0.113.5:80\";proto=https;by=10.0.0.1"], "203.0.113.5"),
        (["for=198.51.100.9, for=203.0.113.5;host=\"a,b;c\", for=10.1.1.1"], "203.0.113.5"),
        (["for=\"[2001:db8:2::7]:4711\""], "2001:db8:2::1"), (["for=198.51.100.9", "for=203.0.113.5"], "203.0.113.5"),
    ])
    func `Forwarded is read likewise`(values: [String], expected: String) {
        #expect(client(forwarded: values) == network(expected))
    }

    @Test(arguments: [
        "unknown", "_hidden", "203.0.113.5:x", "203.0.113.300", "0203.0.113.5", "", "[203.0.113.5]", "a, ", "[::1",
    ])
    func `what cannot be read counts for who passed it on`(value: String) {
        #expect(client(forwardedFor: [value]) == network("127.0.0.1"))
        #expect(client(forwarded: ["for=\(value)"]) == network("127.0.0.1"))
        #expect(client(forwardedFor: ["\(value), 10.1.1.1"]) == network("10.1.1.1"))
    }

    @Test func `a field that a client has broken or added itself names nobody`() {
        #expect(client(forwarded: ["for=\"198.51.100.9", "for=203.0.113.5"]) == network("127.0.0.1"))
        #expect(client(forwarded: ["for=198.51.100.9;for=203.0.113.5"]) == network("127.0.0.1"))
        #expect(client(forwarded: ["for=198.51.100.9"], forwardedFor: ["203.0.113.5"]) == network("127.0.0.1"))
        #expect(client(forwarded: ["for=203.0.113.5"], forwardedFor: ["203.0.113.5"]) == network("203.0.113.5"))
    }

    @Test(arguments: ["localhost", "10.0.0.1/8", "10.0.0.0/33", "10.0.0", "*", "[::1]", "127.0.0.1:80"])
    func `what is no address and no block is refused`(rule: String) {
        #expect(throws: TrustedProxies.RuleError.self) { try TrustedProxies([rule]) }
    }

    @Test func `who has one address of an IPv6 network has them all`() {
        #expect(network("2001:db8:2:3::7") == network("2001:db8:2:3:ffff::1"))
        #expect(network("2001:db8:2:3::7") != network("2001:db8:2:4::7"))
        #expect(network("192.0.2.1") != network("192.0.2.2"))
    }
}
