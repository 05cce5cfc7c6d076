import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct OfferedChallengeTests {
    private static func read(_ lines: String...) -> [String] {
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .wwwAuthenticate, value: line)) }
        return OfferedChallenge.all(of: .wwwAuthenticate, in: fields).map { challenge in
            let token = challenge.token.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
            let parameters = challenge.parameters.map { " \($0.name)=<\(String(decoding: $0.value, as: UTF8.self))>" }
            return challenge.scheme + token + parameters.joined()
        }
    }

    // Proves: AUT-26, FN-10.
    @Test(arguments: [
        ("Basic realm=\"a\"", ["basic realm=<a>"]),
        ("BASIC Realm=\"a, b\\\" c\"", ["basic realm=<a, b\" c>"]),
        ("Basic realm=plain", ["basic realm=<plain>"]),
        ("Basic realm = \"a\" , charset=\"UTF-8\"", ["basic realm=<a> charset=<UTF-8>"]),
        ("Negotiate", ["negotiate"]),
        ("Negotiate YII/+_~.-a==", ["negotiate YII/+_~.-a=="]),
        ("NTLM, Negotiate", ["ntlm", "negotiate"]),
        ("NTLM TlRM , Basic realm=\"x\"", ["ntlm TlRM", "basic realm=<x>"]),
        ("Negotiate abc=, Basic realm=\"a\"", ["negotiate abc=", "basic realm=<a>"]),
        (
            "Digest realm=\"a\", nonce=\"b==\", qop=\"auth,auth-int\", Basic realm=\"c\"",
            ["digest realm=<a> nonce=<b==> qop=<auth,auth-int>", "basic realm=<c>"]
        ),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            ["newauth realm=<apps> type=<1> title=<Login to \"apps\">", "basic realm=<simple>"]
        ),
        (",, ,Basic realm=\"a\",,", ["basic realm=<a>"]),
        ("Basic realm=\"a\" Digest realm=\"b\"", ["basic realm=<a>", "digest realm=<b>"]),
        ("Basic realm=\"not closed, Digest realm=x", ["basic realm=<not closed, Digest realm=x>"]),
        ("Basic realm=\"a\\", ["basic realm=<a\\>"]),
        ("Basic", ["basic"]), ("Basic realm=", ["basic realm="]), ("Basic realm=\"\"", ["basic realm=<>"]),
        ("=\"x\", Basic realm=\"a\"", ["basic realm=<a>"]),
        ("\"Digest realm=x\" Basic realm=\"a\"", ["basic realm=<a>"]),
        ("realm=\"orphan\"", []), ("", []), ("\"", []), ("@@@", []), ("\\", []), (" \t ", []),
    ])
    func `a field is taken apart as it is meant`(line: String, expected: [String]) {
        #expect(Self.read(line) == expected)
    }

    // Proves: AUT-26.
    @Test func `the challenges of several lines come in order, and one may go on in the next line`() {
        #expect(Self.read("Negotiate", "Basic realm=\"a\"") == ["negotiate", "basic realm=<a>"])
        #expect(Self.read("Digest realm=\"a\"", "nonce=\"b\"") == ["digest realm=<a> nonce=<b>"])
        #expect(Self.read("Basic realm=\"a", "Digest realm=\"b\"") == ["basic realm=<a>", "digest realm=<b>"])
    }

    // Proves: AUT-26, SEC-28.
    @Test func `no bytes trap or take long`() {
        let alphabet = Array("\"\\=, \tBasic%\u{80}realm0/+~".utf8)
        var random = SystemRandomNumberGenerator()
        for length in 0..<400 {
            var parser = AuthenticationFieldParser()
            parser.read((0..<length).map { _ in alphabet.randomElement(using: &random) ?? 0 })
            for challenge in parser.challenges { _ = DigestChallenge(challenge) }
        }
        for piece in ["a ", "a=", "a b,", "\"", "\\\"", "Basic a=\"", "Negotiate a=,"] {
            var parser = AuthenticationFieldParser()
            parser.read(Array(String(repeating: piece, count: 100_000).utf8))
        }
    }

    private static func offers(_ lines: [String], status: Int = 401) throws -> [AuthenticationOffer] {
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .wwwAuthenticate, value: line)) }
        fields.append(HTTPField(name: .proxyAuthenticate, value: "Basic realm=\"gate\""))
        let url = try URLRecord("https://Host.example/p")
        return AuthenticationOffer.all(
            in: fields, status: status, server: .init(server: url),
            proxy: .init(host: "proxy.example", port: 3128, scheme: "http", isProxy: true))
    }

    // Proves: AUT-26, FN-8.
    @Test func `known schemes are offered, strongest first, and unknown ones passed over`() throws {
        let offers = try Self.offers([
            "Basic realm=\"b\", Hoba x=1", "Bearer realm=\"t\", NTLM", "Digest realm=\"d\", nonce=\"1\"",
            "Digest realm=\"e\", nonce=\"2\", algorithm=SHA-256, Negotiate",
        ])
        #expect(
            offers.map(\.space.method) == [.negotiate, .httpDigest, .httpDigest, .ntlm, .httpBearer, .httpBasic])
        #expect(offers.map(\.space.realm) == [nil, "e", "d", nil, "t", "b"])
    }

    // Proves: AUT-26, SEC-28.
    @Test func `a challenge with a long parameter, or one that is no text of any language, is passed over`() throws {
        func marks(_ count: Int) -> String { String(repeating: "\u{315}", count: count) }
        let offers = try Self.offers([
            "Digest realm=\"\(marks(48_000))a\", nonce=\"1\"", "Digest realm=\"\(marks(48_000))b\", nonce=\"1\"",
            "Basic realm=\"\(marks(31))\"", "Basic realm=\"\(String(repeating: "\\\u{315}", count: 31))\"",
            "Basic realm=\"\(String(repeating: "r", count: 1025))\"",
            "Digest realm=\"r\", nonce=\"1\", algorithm=\"\(marks(31))\"",
            "Bearer realm=\"\(String(repeating: "r", count: 1024))\"", "Digest realm=\"\(marks(30))\", nonce=\"1\"",
        ])
        #expect(offers.map(\.space.method) == [.httpDigest, .httpBearer])
    }

    // Proves: AUT-23.
    @Test func `of several algorithms for one realm the strongest that is known is taken`() throws {
        let offers = try Self.offers([
            "Digest realm=\"r\", nonce=\"1\", algorithm=MD5, Digest realm=\"r\", nonce=\"2\", algorithm=SHA-9",
            "Digest realm=\"r\", nonce=\"3\", algorithm=SHA-512-256-sess, Digest realm=\"r\", nonce=\"4\", algorithm=SHA-256",
        ])
        #expect(offers.map(\.digest?.algorithm) == [.sha512Half])
        #expect(offers.first?.digest?.isSession == true)
    }

    @Test(arguments: [
        "Digest nonce=\"1\"", "Digest realm=\"r\"", "Digest realm=\"r\", nonce=\"1\", algorithm=MD6",
        "Digest realm=\"r\", nonce=\"1\", qop=\"other\"", "Digest realm=\"r\", nonce=\"\u{1}\"",
    ])
    func `a Digest that nobody can answer is no offer`(line: String) {
        var parser = AuthenticationFieldParser()
        parser.read(Array(line.utf8))
        #expect(parser.challenges.compactMap(DigestChallenge.init) == [])
    }

    // Proves: AUT-2, AUT-6, AUT-30.
    @Test func `a 401 speaks for the server, a 407 for the proxy, and others for nobody`() throws {
        let server = try Self.offers(["Basic realm=\"b\""])
        #expect(
            server.map(\.space) == [
                ProtectionSpace(host: "host.example", port: 443, scheme: "https", realm: "b", method: .httpBasic)
            ])
        let proxy = try Self.offers(["Basic realm=\"b\""], status: 407)
        #expect(
            proxy.map(\.space) == [
                ProtectionSpace(
                    host: "proxy.example", port: 3128, scheme: "http", realm: "gate", method: .httpBasic,
                    isProxy: true)
            ])
        #expect(try Self.offers(["Basic realm=\"b\""], status: 403) == [])
        #expect(try Self.offers([]) == [])
    }
}
