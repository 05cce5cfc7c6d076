import FetchEngine
import Glibc
import Testing

@Suite struct IPAddressTests {
    // RFC 5952 §4
    @Test(arguments: [
        ("0:0:0:0:0:0:0:0", "::"), ("::1", "::1"), ("2001:0DB8::0001", "2001:db8::1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"), ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("1::", "1::"),
        ("::ffff:127.0.0.1", "::ffff:7f00:1"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("8.8.4.4", "8.8.4.4"),
    ])
    func `an address has one spelling`(text: String, expected: String) throws {
        #expect(try #require(IPAddress(text)).description == expected)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1.2.3.4 ", "1..2.3", ".1.2.3", "1.2.3.", ":", ":::",
        "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "12345::", "g::", "::1.2.3",
        "1.2.3.4::", "::1%eth0", "[::1]", "1:", ":1", "1:2:3:4:5:6:7:1.2.3.4", "0x1.2.3.4", "4294967296.1.1.1",
    ])
    func `text that is no address is none`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `a socket address gives its address`() throws {
        var ipv4 = sockaddr_in()
        ipv4.sin_family = sa_family_t(AF_INET)
        ipv4.sin_addr.s_addr = UInt32(0xC000_0221).bigEndian
        #expect(Self.address(of: ipv4)?.description == "192.0.2.33")
        var ipv6 = sockaddr_in6()
        ipv6.sin6_family = sa_family_t(AF_INET6)
        ipv6.sin6_addr = in6addr_loopback
        #expect(Self.address(of: ipv6)?.description == "::1")
        var local = sockaddr_un()
        local.sun_family = sa_family_t(AF_UNIX)
        #expect(Self.address(of: local) == nil)
    }

    private static func address<Value>(of value: Value) -> IPAddress? {
        withUnsafeBytes(of: value) { bytes in
            bytes.baseAddress.flatMap { IPAddress(sockaddr: $0.assumingMemoryBound(to: sockaddr.self)) }
        }
    }

    @Test func `the bytes are in network order`() throws {
        #expect(try #require(IPAddress("1.2.3.4")).bytes == [1, 2, 3, 4])
        #expect(try #require(IPAddress("102:304::f")).bytes == [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15])
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("0.0.0.0/0", "255.255.255.255", true),
        ("0.0.0.0/0", "::1", false), ("::/0", "ffff::", true), ("::/0", "1.2.3.4", false), ("1.2.3.4", "1.2.3.4", true),
        ("1.2.3.4/32", "1.2.3.5", false), ("2001:db8::/33", "2001:db8:7fff::", true),
        ("2001:db8::/33", "2001:db8:8000::", false), ("::1/128", "::1", true), ("::ffff:0:0/96", "1.2.3.4", false),
    ])
    func `a block has the addresses that share its leading bits`(prefix: String, address: String, expected: Bool) throws
    {
        #expect(try #require(IPPrefix(prefix)).contains(#require(IPAddress(address))) == expected)
    }
}
