import Crypto
import FoundationEssentials

/// Lets a node ask another one for the bytes of one blob, or for their removal, within a minute.
///
/// The node that asks has checked whose they are. Signed with the service's secret, so only nodes make it; a key of a
/// client is never passed on for it.
package struct BlobPass: Sendable {
    package enum Purpose: String, Sendable {
        case read, delete
    }

    /// In seconds.
    static let lifetime: Int64 = 60
    private static let maximumLength = 256

    let purpose: Purpose
    let blob: Blob.ID
    /// Unix time in seconds.
    let expiresAt: Int64

    package init(to purpose: Purpose, _ blob: Blob.ID, now: Timestamp = .now) {
        self.purpose = purpose
        self.blob = blob
        expiresAt = now.seconds + Self.lifetime
    }

    /// Whether a text is a pass for this, from a node with the same secret, and not over.
    package static func isValid(
        _ text: String, to purpose: Purpose, _ blob: Blob.ID, secret: SessionSecret, now: Timestamp = .now
    ) -> Bool {
        guard text.utf8.count <= maximumLength else { return false }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let expiresAt = Int64(parts[0]), expiresAt > now.seconds,
            // One that is good for longer was not made here.
            expiresAt <= now.seconds + 2 * lifetime,
            let code = Data(base64Encoded: String(parts[1]))
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: content(purpose, blob, expiresAt), using: SymmetricKey(data: secret.bytes))
    }

    package func text(_ secret: SessionSecret) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Self.content(purpose, blob, expiresAt), using: SymmetricKey(data: secret.bytes))
        return "\(expiresAt).\(Data(code).base64EncodedString())"
    }

    /// What is signed; the secret signs other things too, which begin with other words.
    private static func content(_ purpose: Purpose, _ blob: Blob.ID, _ expiresAt: Int64) -> [UInt8] {
        Array("blob.\(purpose.rawValue).\(blob).\(expiresAt)".utf8)
    }
}
