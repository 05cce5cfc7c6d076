import Crypto
import FoundationEssentials

/// The two keys of a tenant by which origins tell its requests from those of others; they never print themselves.
///
/// Requests are signed with the current key. Origins try the next one too, so that a rotation, which makes the next one
/// current, fails no request.
package struct SigningKeys: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    /// `sig_` and 43 characters; the text itself is the key.
    package let current: String
    package let next: String

    package init(current: String = newKey(), next: String = newKey()) {
        self.current = current
        self.next = next
    }

    /// A new key of 256 random bits.
    package static func newKey() -> String {
        var random = SystemRandomNumberGenerator()
        return "sig_" + Base64URL.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
}

/// The keys of tenants.
package protocol SigningKeyStore: Sendable {
    /// The keys of a tenant; the first call makes them.
    func signingKeys(of tenant: Tenant.ID) async throws(StoreError) -> SigningKeys

    /// Makes the next key current, and a new one the next.
    func rotateSigningKeys(of tenant: Tenant.ID) async throws(StoreError) -> SigningKeys
}

/// A JSON Web Token (RFC 7519, HS256) that says who sends a request, where to, when, and with which body.
package struct RequestSignature: Sendable {
    /// How long a token is good for, in seconds.
    package static let lifetime: Int64 = 300

    package let issuer: String
    /// The whole URL of the request.
    package let url: String
    package let body: [UInt8]

    package init(issuer: String, url: String, body: [UInt8]) {
        self.issuer = issuer
        self.url = url
        self.body = body
    }

    /// - Parameter id: Another one for each token.
    package func token(signedWith key: String, at time: Timestamp = .now, id: String = UUID().uuidString) -> String {
        let claims = JSONWriter.object { writer in
            writer.member("iss", issuer)
            writer.member("sub", url)
            writer.member("iat", time.seconds)
            writer.member("nbf", time.seconds)
            writer.member("exp", time.seconds + Self.lifetime)
            writer.member("jti", id)
            writer.member("body", Base64URL.text(SHA256Digest(of: body).bytes))
        }
        let signed = "\(Self.head).\(Base64URL.text(claims))"
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(signed.utf8), using: SymmetricKey(data: Array(key.utf8)))
        return "\(signed).\(Base64URL.text(Array(code)))"
    }

    private static let head = Base64URL.text(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
}

/// Base64 for URLs, without padding (RFC 4648 §5).
private enum Base64URL {
    static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
