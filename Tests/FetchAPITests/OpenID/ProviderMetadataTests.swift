import FetchJobs
import Testing

@testable import FetchAPI

/// The configuration of a provider, and the answers that it sends browsers back with.
@Suite struct ProviderMetadataTests {
    /// A configuration that is right, with other members instead of some; nil leaves one out.
    static func configuration(_ changes: [String: String?] = [:]) -> String {
        var members: [String: String?] = [
            "issuer": "\"https://issuer.example/\"", "authorization_endpoint": "\"https://issuer.example/authorize\"",
            "token_endpoint": "\"https://issuer.example/token\"", "jwks_uri": "\"https://issuer.example/keys\"",
        ]
        members.merge(changes) { $1 }
        return "{\(members.compactMap { name, value in value.map { "\"\(name)\": \($0)" } }.joined(separator: ", "))}"
    }

    private static let issuer = "https://issuer.example/"

    @Test func `a configuration names the endpoints of its issuer`() throws {
        let text = Self.configuration(["authorization_response_iss_parameter_supported": "true"])
        let metadata = try ProviderMetadata(Array(text.utf8), of: Self.issuer)
        #expect(metadata.tokenEndpoint.description == "https://issuer.example/token" && metadata.answersNameIssuer)
        let local = Self.configuration(["token_endpoint": "\"http://127.0.0.1:8080/token\""])
        #expect(try ProviderMetadata(Array(local.utf8), of: Self.issuer).answersNameIssuer == false)
    }

    @Test(
        arguments: [
            (["issuer": "\"https://issuer.example\""], "issuer"), (["issuer": nil], "issuer"),
            (["issuer": "1"], "issuer"),
            (["token_endpoint": nil], "token_endpoint"), (["jwks_uri": "\"http://a.example/\""], "jwks_uri"),
            (["token_endpoint": "\"https://u:p@a.example/\""], "token_endpoint"),
            (["authorization_endpoint": "\"javascript:alert(1)\""], "authorization_endpoint"),
            (["authorization_endpoint": "\"https://a.example/#x\""], "authorization_endpoint"),
            (["authorization_endpoint": "[]"], "authorization_endpoint"),
        ] as [([String: String?], String)])
    func `a configuration with another issuer or without a safe endpoint is refused by name`(
        _ changes: [String: String?], _ name: String
    ) throws {
        let fault = #expect(throws: ProviderFault.self) {
            try ProviderMetadata(Array(Self.configuration(changes).utf8), of: Self.issuer)
        }
        #expect(fault?.description.contains(name) == true)
    }

    @Test(arguments: ["", "[]", "{", #"{"issuer": "https://issuer.example/", "issuer": "https://issuer.example/"}"#])
    func `what is no configuration is refused`(_ text: String) {
        #expect(throws: ProviderFault.self) { try ProviderMetadata(Array(text.utf8), of: Self.issuer) }
    }

    @Test(
        arguments: [
            ("code=a&state=s", .code("a")), ("code=a&state=s&session_state=x&scope=openid", .code("a")),
            ("error=access_denied&state=s", .error("access_denied")), ("error=%3Cb%3E&state=s", .error("<b>")),
            ("error=a%0Ab&state=s", .error("unknown")), ("error=&state=s", .error("unknown")),
            ("code=a", nil), ("state=s", nil), ("", nil), ("code=&state=s", nil), ("code=a&error=b&state=s", nil),
            ("code=a&code=b&state=s", nil), ("code=a&state=s&state=s", nil), ("code=%FF&state=s", nil),
        ] as [(String, OpenIDAnswer.Outcome?)])
    func `an answer has a state, and a code or an error`(_ query: String, _ outcome: OpenIDAnswer.Outcome?) {
        #expect(OpenIDAnswer(query)?.outcome == outcome)
    }

    @Test(arguments: [false, true])
    func `an answer that names its issuer names the right one, and one that has to does`(_ hasTo: Bool) throws {
        let text = Self.configuration(["authorization_response_iss_parameter_supported": "\(hasTo)"])
        let metadata = try ProviderMetadata(Array(text.utf8), of: Self.issuer)
        func isTaken(_ more: String) throws -> Bool {
            try #require(OpenIDAnswer("code=a&state=s\(more)")).isOf(Self.issuer, metadata)
        }
        #expect(try isTaken("&iss=https%3A%2F%2Fissuer.example%2F"))
        #expect(try !isTaken("&iss=https%3A%2F%2Fevil.example%2F") && !isTaken("&iss="))
        #expect(try isTaken("") == !hasTo)
    }
}
