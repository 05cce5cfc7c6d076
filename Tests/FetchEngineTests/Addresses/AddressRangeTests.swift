import FetchEngine
import Testing

// The first and the last address of each range, and their peers.
@Suite struct AddressRangeTests {
    // Proves: SEC-6.
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0",
        "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254", "169.254.255.255",
        "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.0",
        "192.88.99.255", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.0",
        "198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.0", "239.255.255.255", "240.0.0.0",
        "255.255.255.255",
    ])
    func `special IPv4 addresses are refused, and so are all their IPv6 forms`(text: String) throws {
        #expect(try code(address: text) == .addressForbidden)
        #expect(code("http://\(text)/") == .addressForbidden)
        for form in ["::", "::ffff:", "::ffff:0:", "64:ff9b::", "2001:db8::5efe:", "2600::5efe:", "2600::200:5efe:"] {
            #expect(try code(address: form + text) == .addressForbidden)
        }
    }

    // Proves: SEC-6.
    @Test(arguments: [
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0", "192.88.98.255", "192.88.100.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
        "203.0.112.255", "203.0.114.0", "223.255.255.255",
    ])
    func `their public peers are allowed, but not as IPv6`(text: String) throws {
        #expect(try code(address: text) == nil)
        #expect(code("http://\(text)/") == nil)
        for form in ["::", "::ffff:", "::ffff:0:", "64:ff9b::"] {
            #expect(try code(address: form + text) == .addressForbidden)
        }
        #expect(try code(address: "2600::5efe:" + text) == nil)
    }

    // Proves: SEC-6.
    @Test(arguments: [
        "::", "::1", "::2", "64:ff9b::", "64:ff9b::ffff:ffff", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
        "100::", "100::ffff:ffff:ffff:ffff", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2002::",
        "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::",
        "5f00::", "fc00::", "fd00:ec2::254", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::1",
        "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::", "ff00::", "ff02::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ])
    func `special IPv6 addresses are refused`(text: String) throws {
        #expect(try code(address: text) == .addressForbidden)
        #expect(code("http://[\(text)]/") == .addressForbidden)
    }

    // Proves: SEC-6.
    @Test(arguments: [
        "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::",
        "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ])
    func `their public peers are allowed`(text: String) throws {
        #expect(try code(address: text) == nil)
        #expect(code("http://[\(text)]/") == nil)
    }
}
