import Crypto
import FoundationEssentials

/// The key that a webhook's messages are signed with; it never prints itself.
package struct WebhookSecret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    package let bytes: [UInt8]

    /// A new secret of 256 random bits.
    package init() {
        var random = SystemRandomNumberGenerator()
        bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The secret that a text in the form `whsec_` + base64 holds.
    package init?(_ text: String) {
        guard text.hasPrefix("whsec_"), let data = Data(base64Encoded: String(text.dropFirst(6))), !data.isEmpty else {
            return nil
        }
        bytes = Array(data)
    }

    /// The text a receiver configures; shown once, when the endpoint is made.
    package var revealed: String { "whsec_" + Data(bytes).base64EncodedString() }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
}

/// Signs and verifies messages as the Standard Webhooks specification says (SEC-36).
///
/// The signature is HMAC-SHA-256 over `id.timestamp.body`, in base64 behind `v1,`.
package struct WebhookSignature: Sendable {
    /// How far a message's timestamp may lie from the receiver's clock, in seconds.
    package static let tolerance: Int64 = 300

    package let id: String
    /// Unix time in seconds.
    package let timestamp: Int64

    package init(id: String, timestamp: Int64) {
        self.id = id
        self.timestamp = timestamp
    }

    /// The value of `webhook-signature`.
    package func sign(_ body: [UInt8], with secret: WebhookSecret) -> String {
        "v1," + Data(code(for: body, with: secret)).base64EncodedString()
    }

    /// The result of verifying a message.
    package enum Verdict: Sendable, Equatable {
        case valid
        /// No signature was made with the secret, for this id, timestamp and body.
        case notSigned
        /// It is signed, but its timestamp lies further from now than ``tolerance``: it may be a repeat.
        case stale
    }

    /// Judges a message by its `webhook-signature` field, in which one right signature is enough.
    package func verdict(
        on signatures: String, of body: [UInt8], with secret: WebhookSecret, now: Int64
    ) -> Verdict {
        let key = SymmetricKey(data: secret.bytes)
        let message = message(body)
        let isSigned = signatures.split(separator: " ").contains { signature in
            guard signature.hasPrefix("v1,"), let code = Data(base64Encoded: String(signature.dropFirst(3))) else {
                return false
            }
            return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: message, using: key)
        }
        guard isSigned else { return .notSigned }
        return abs(now - timestamp) <= Self.tolerance ? .valid : .stale
    }

    /// Whether one of the signatures in a `webhook-signature` field is right and the message is fresh.
    package func verify(_ signatures: String, of body: [UInt8], with secret: WebhookSecret, now: Int64) -> Bool {
        verdict(on: signatures, of: body, with: secret, now: now) == .valid
    }

    private func code(for body: [UInt8], with secret: WebhookSecret) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: message(body), using: SymmetricKey(data: secret.bytes))
    }

    private func message(_ body: [UInt8]) -> [UInt8] {
        Array("\(id).\(timestamp).".utf8) + body
    }
}
