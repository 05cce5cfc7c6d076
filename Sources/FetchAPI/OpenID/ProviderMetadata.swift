import FetchJobs
import Synchronization

/// A request to an identity provider: a GET, or a POST of a form.
package struct ProviderRequest: Sendable {
    package let url: String
    /// What a POST sends, as `application/x-www-form-urlencoded`; nil for a GET.
    package let form: String?
    /// The field `Authorization`; nil for none.
    package let authorization: String?

    init(_ url: IssuerURL, form: String? = nil, authorization: String? = nil) {
        self.url = url.description
        self.form = form
        self.authorization = authorization
    }
}

/// What a provider has answered.
package struct ProviderAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Asks an identity provider, within seconds and without following redirects.
package typealias ProviderClient = @Sendable (ProviderRequest) async throws -> ProviderAnswer

/// Why a provider is of no use, for the log of the operator; it quotes no token, code or secret.
struct ProviderFault: Error, CustomStringConvertible {
    let description: String
    /// The code was used before, is too old, or was never one (RFC 6749 §5.2).
    var refusesCode = false
}

/// What a provider says of itself, as far as it is needed (OpenID Connect Discovery 1.0 §3).
struct ProviderMetadata: Sendable, Equatable {
    let authorizationEndpoint: IssuerURL
    let tokenEndpoint: IssuerURL
    let keys: IssuerURL
    /// Whether its answers name it, so that one without its name is another's (RFC 9207 §2.3).
    let answersNameIssuer: Bool

    /// - Throws: ``ProviderFault`` that names the member and the rule.
    init(_ text: [UInt8], of issuer: String) throws {
        guard case .object(let members)? = try? JSONParser.parse(text) else {
            throw ProviderFault(description: "its configuration is no JSON object")
        }
        guard case .string(let named)? = members["issuer"], named.utf8.elementsEqual(issuer.utf8) else {
            throw ProviderFault(description: "its configuration has another issuer than OIDC_ISSUER")
        }
        func url(_ name: String) throws -> IssuerURL {
            guard case .string(let text)? = members[name], let url = IssuerURL(text) else {
                throw ProviderFault(
                    description: "its configuration has no https URL, or http URL of this machine, as \(name)")
            }
            return url
        }
        authorizationEndpoint = try url("authorization_endpoint")
        tokenEndpoint = try url("token_endpoint")
        keys = try url("jwks_uri")
        answersNameIssuer = members["authorization_response_iss_parameter_supported"] == .bool(true)
    }
}

/// Reads the configuration of a provider and then its keys, and remembers the configuration that it read last.
final class ProviderDiscovery: Sendable {
    private let issuer: String
    private let ask: ProviderClient
    private let known = Mutex<ProviderMetadata?>(nil)

    init(issuer: String, ask: @escaping ProviderClient) {
        self.issuer = issuer
        self.ask = ask
    }

    /// Nil until it was read once.
    var metadata: ProviderMetadata? { known.withLock { $0 } }

    /// Reads both.
    ///
    /// - Returns: The text of the JSON Web Key Set.
    @Sendable func load() async throws -> [UInt8] {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let metadata = try ProviderMetadata(
            try await body("\(base)/.well-known/openid-configuration"), of: issuer)
        let keys = try await body(metadata.keys.description)
        known.withLock { $0 = metadata }
        return keys
    }

    private func body(_ text: String) async throws -> [UInt8] {
        guard let url = IssuerURL(text) else { throw ProviderFault(description: "\(text) is no URL of an issuer") }
        let answer = try await ask(ProviderRequest(url))
        guard answer.status == 200 else { throw ProviderFault(description: "\(url) answers \(answer.status)") }
        return answer.body
    }
}
