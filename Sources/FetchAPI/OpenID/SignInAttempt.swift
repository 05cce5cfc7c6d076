import Crypto
import FetchJobs
import FoundationEssentials

/// A sign-in that somebody has begun at an identity provider, as his browser keeps it: sealed, for ten minutes.
///
/// Any node can finish it, as all have the key. Who can read the browser's cookies learns nothing that another could
/// use without them; who sends somebody else the answer of a sign-in of his own lacks the cookie for it.
struct SignInAttempt: Sendable, Equatable {
    /// In seconds.
    static let lifetime: Int64 = 600
    private static let randomBytes = 32

    /// Comes back with the answer, and ties that to this browser (RFC 6749 §10.12).
    let state: String
    /// Comes back in the ID token, and ties that to this sign-in (OpenID Connect Core 1.0 §15.5.2).
    let nonce: String
    /// What only the one who began it can show (RFC 7636 §4.1).
    let verifier: String
    /// Where to go once signed in.
    let next: String
    /// Unix time in seconds.
    let begunAt: Int64

    /// A new one.
    init(leadingTo next: String, now: Int64) {
        var random = SystemRandomNumberGenerator()
        func text() -> String {
            OpaqueText.write((0..<Self.randomBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        }
        (state, nonce, verifier) = (text(), text(), text())
        self.next = next
        begunAt = now
    }

    /// The one that a text is; nil when it is not one of ours, or too old.
    init?(_ text: String, secret: SessionSecret, now: Int64) {
        guard text.utf8.count <= 4096, let sealed = SignedToken.bytes(Array(text.utf8)[...]),
            let box = try? AES.GCM.SealedBox(combined: sealed),
            let plain = try? AES.GCM.open(box, using: Self.key(secret))
        else { return nil }
        let parts = String(decoding: plain, as: UTF8.self).split(
            separator: " ", maxSplits: 4, omittingEmptySubsequences: false
        ).map { String($0) }
        guard parts.count == 5, let begunAt = Int64(parts[0]), begunAt > now - Self.lifetime else { return nil }
        (state, nonce, verifier, next) = (parts[1], parts[2], parts[3], parts[4])
        self.begunAt = begunAt
    }

    func text(_ secret: SessionSecret) throws -> String {
        let plain = Data("\(begunAt) \(state) \(nonce) \(verifier) \(next)".utf8)
        // With a nonce of 96 bits the combined form is always there.
        return OpaqueText.write(Array(try AES.GCM.seal(plain, using: Self.key(secret)).combined ?? Data()))
    }

    /// What is shown of ``verifier`` before its time, by S256 (RFC 7636 §4.2).
    var challenge: String { OpaqueText.write(Array(SHA256.hash(data: Data(verifier.utf8)))) }

    /// Whether an answer belongs to it, in a time that says nothing of how much of it is right.
    func isAnswered(by state: String) -> Bool {
        // Digests are compared in constant time.
        SHA256.hash(data: Data(state.utf8)) == SHA256.hash(data: Data(self.state.utf8))
    }

    private static func key(_ secret: SessionSecret) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret.bytes), info: Data("dashboard sign-in attempts".utf8),
            outputByteCount: 32)
    }
}
