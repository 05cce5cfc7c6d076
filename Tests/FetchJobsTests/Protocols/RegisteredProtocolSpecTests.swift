import FetchEngine
import FetchJobs
import Testing

@Suite struct RegisteredProtocolSpecTests {
    private static let url = #""url": "https://p.example/load""#

    @Test func `a protocol has a scheme and an address, and may have hosts, an order and tenants`() throws {
        let least = try RegisteredProtocolSpec(json: JSONParser.parse(#"{"scheme": "x-a.b+1", \#(Self.url)}"#.utf8))
        #expect(least.scheme == "x-a.b+1" && least.host == nil && least.order == 0 && least.tenants == nil)
        let text = #"{"scheme": "https", "host": "*.a.example", "order": -1000, "tenants": ["t"], \#(Self.url)}"#
        let most = try RegisteredProtocolSpec(json: JSONParser.parse(text.utf8))
        #expect(most.host == HostPattern("*.a.example") && most.order == -1000 && most.tenants == ["t"])
    }

    @Test(arguments: [
        (#"{\#(url)}"#, "/scheme"), (#"{"scheme": "a"}"#, "/url"), (#"{"scheme": "", \#(url)}"#, "/scheme"),
        (#"{"scheme": "Archive", \#(url)}"#, "/scheme"), (#"{"scheme": "1a", \#(url)}"#, "/scheme"),
        (#"{"scheme": "a:b", \#(url)}"#, "/scheme"), (#"{"scheme": "file", \#(url)}"#, "/scheme"),
        (#"{"scheme": "data", \#(url)}"#, "/scheme"), (#"{"scheme": "ftp", \#(url)}"#, "/scheme"),
        (#"{"scheme": "a", "url": "ftp://p.example/"}"#, "/url"),
        (#"{"scheme": "a", "url": "https://u:p@p.example/"}"#, "/url"),
        (#"{"scheme": "http", "tenants": ["t"], \#(url)}"#, "/host"),
        (#"{"scheme": "http", "host": "*", "tenants": ["t"], \#(url)}"#, "/host"),
        (#"{"scheme": "https", "host": "a.example", \#(url)}"#, "/tenants"),
        (#"{"scheme": "a", "host": "a b", \#(url)}"#, "/host"), (#"{"scheme": "a", "order": 1001, \#(url)}"#, "/order"),
        (#"{"scheme": "a", "tenants": [], \#(url)}"#, "/tenants"),
        (#"{"scheme": "a", "secret": "x", \#(url)}"#, "/secret"),
    ])
    func `what breaks a rule is refused by the name of its member`(_ text: String, _ pointer: String) throws {
        let error = #expect(throws: InvalidInput.self) {
            try RegisteredProtocolSpec(json: JSONParser.parse(text.utf8))
        }
        #expect(error?.violations.map(\.pointer) == [pointer])
    }

    // Proves: SEC-52.
    @Test func `the address and the secret of a protocol are not for tenants, and the secret is never printed`() throws
    {
        let one = RegisteredProtocol(name: "archive", scheme: "archive", url: try URLRecord("https://p.example/load"))
        let shown = String(decoding: JSONWriter.object(one.writeForTenant), as: UTF8.self)
        #expect(shown == #"{"scheme":"archive","name":"archive","builtIn":false}"#)
        #expect(!"\(one)".contains(one.secret.revealed))
    }
}
