import FetchEngine
import Testing

@Suite struct HostPatternTests {
    /// A pattern, a host with its port, and whether they fit.
    static let cases: [(String, String, UInt16?, Bool)] = [
        ("*", "a.example", 80, true), ("*:443", "a.example", 80, false),
        ("a.example", "a.example", 80, true), ("A.Example", "a.example", 80, true),
        ("a.example", "a.example.", 80, true), ("a.example", "b.a.example", 80, false),
        ("a.example:80", "a.example", 80, true), ("a.example:80", "a.example", 81, false),
        ("a.example:80", "a.example", nil, false),
        ("*.example", "a.example", 80, true), ("*.example", "b.a.example", 80, true),
        ("*.example", "example", 80, false), ("*.example", "badexample", 80, false),
        ("bücher.example", "xn--bcher-kva.example", 80, true),
        ("<local>", "intranet", 80, true), ("<local>", "a.example", 80, false), ("<local>", "127.0.0.1", 80, false),
        ("<local>", "[::1]", 80, false),
        ("10.0.0.0/8", "10.1.2.3", 80, true), ("10.0.0.0/8", "11.0.0.1", 80, false),
        ("10.0.0.0/8", "10.example", 80, false), ("127.0.0.1", "127.0.0.1", 9, true),
        ("127.0.0.1:8080", "127.0.0.1", 8080, true), ("127.0.0.1:8080", "127.0.0.1", 80, false),
        ("::1", "[::1]", 80, true), ("[::1]", "[::1]", 80, true), ("[::1]:8080", "[::1]", 8080, true),
        ("[::1]:8080", "[::1]", 80, false), ("fd00::/8", "[fd12::1]", 80, true), ("fd00::/8", "[fe80::1]", 80, false),
    ]

    @Test(arguments: cases)
    func `a pattern fits the hosts it names`(_ text: String, _ host: String, _ port: UInt16?, _ fits: Bool) throws {
        #expect(try #require(HostPattern(text)).matches(host: host, port: port) == fits)
    }

    @Test(arguments: ["", "*.", "a b", "a.example:", "a.example:x", "a.example:70000", "10.0.0.1/8", "[", "a/b", "a@b"])
    func `a text that names no hosts is none`(_ text: String) { #expect(HostPattern(text) == nil) }

    @Test(arguments: ["*", "<local>", "a.example", "*.a.example:80", "10.0.0.0/8", "127.0.0.1:80", "[::1]:80"])
    func `a pattern prints as it is written`(_ text: String) { #expect(HostPattern(text)?.description == text) }
}
