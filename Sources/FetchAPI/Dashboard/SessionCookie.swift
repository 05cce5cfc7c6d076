import Crypto
import FetchJobs
import FoundationEssentials

/// What the browser keeps of a sign-in to the dashboard: its id and its times, signed (SEC-70).
///
/// Only who holds the service's secret can make one. It ends 8 hours after the sign-in, and after 30 minutes without use;
/// and, whatever it says, with the sign-in itself.
struct SessionCookie: Sendable, Equatable {
    static let lifetime: Int64 = 8 * 3600
    static let idleTime: Int64 = 1800
    /// How old the mark of last use may be before it is renewed.
    static let renewal: Int64 = 60

    let signIn: SignIn.ID
    /// Unix time in seconds.
    let signedInAt: Int64
    let usedAt: Int64

    init(of signIn: SignIn.ID, now: Int64) { self.init(signIn: signIn, signedInAt: now, usedAt: now) }

    private init(signIn: SignIn.ID, signedInAt: Int64, usedAt: Int64) {
        self.signIn = signIn
        self.signedInAt = signedInAt
        self.usedAt = usedAt
    }

    /// The cookie that a text is, or nil when it is not one of ours or has ended.
    init?(_ text: String, secret: SessionSecret, now: Int64) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, let signIn = UUIDv7(base32: parts[0].utf8), let signedInAt = Int64(parts[1]),
            let usedAt = Int64(parts[2]), let code = Data(base64Encoded: String(parts[3])),
            code.base64EncodedString() == parts[3]
        else { return nil }
        self.init(signIn: SignIn.ID(signIn), signedInAt: signedInAt, usedAt: usedAt)
        guard Self.isCode(code, of: "session.\(content)", secret) else { return nil }
        // Compared, as a difference of numbers that are far apart is none.
        guard signedInAt > now - Self.lifetime, usedAt > now - Self.idleTime else { return nil }
    }

    func text(_ secret: SessionSecret) -> String {
        "\(content).\(Self.code("session.\(content)", secret).base64EncodedString())"
    }

    /// The token of a form, so that only our own pages can send it (SEC-71).
    ///
    /// Each time it is another text, random bytes and the code combined with them, so that the length of a compressed
    /// page tells nothing of it.
    func formToken(_ secret: SessionSecret) -> String {
        let code = Self.code("form.\(signIn.uuid.base32)", secret)
        let mask = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        return Data(mask + zip(mask, code).map { $0 ^ $1 }).base64EncodedString()
    }

    func accepts(formToken: String, _ secret: SessionSecret) -> Bool {
        guard let token = Data(base64Encoded: formToken).map({ Array($0) }), token.count == 2 * SHA256.byteCount else {
            return false
        }
        let code = zip(token.prefix(SHA256.byteCount), token.suffix(SHA256.byteCount)).map { $0 ^ $1 }
        return Self.isCode(Data(code), of: "form.\(signIn.uuid.base32)", secret)
    }

    /// The cookie marked as used now, when it is time to mark it.
    func renewed(now: Int64) -> SessionCookie? {
        guard now - usedAt >= Self.renewal else { return nil }
        return SessionCookie(signIn: signIn, signedInAt: signedInAt, usedAt: now)
    }

    private var content: String { "\(signIn.uuid.base32).\(signedInAt).\(usedAt)" }

    private static func code(_ text: String, _ secret: SessionSecret) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: secret.bytes)))
    }

    private static func isCode(_ code: Data, of text: String, _ secret: SessionSecret) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: Array(text.utf8), using: SymmetricKey(data: secret.bytes))
    }
}
