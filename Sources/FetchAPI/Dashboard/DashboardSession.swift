import Crypto
import FetchJobs
import Foundation

/// One sign-in to the dashboard: a signed token that the browser keeps (SEC-70).
///
/// Only who holds the server's secret can make one. It ends 8 hours after sign-in, and after 30 minutes without use.
struct DashboardSession: Sendable, Equatable {
    static let lifetime: Int64 = 8 * 3600
    static let idleTime: Int64 = 1800
    /// How old the mark of last use may be before it is renewed.
    static let renewal: Int64 = 60

    let key: APIKey.ID
    let tenant: Tenant.ID
    /// Tells this sign-in from every other.
    let nonce: UUIDv7
    /// Unix time in seconds.
    let signedInAt: Int64
    let usedAt: Int64

    init(key: APIKey, now: Int64) {
        self.init(key: key.id, tenant: key.tenant, nonce: UUIDv7(), signedInAt: now, usedAt: now)
    }

    private init(key: APIKey.ID, tenant: Tenant.ID, nonce: UUIDv7, signedInAt: Int64, usedAt: Int64) {
        self.key = key
        self.tenant = tenant
        self.nonce = nonce
        self.signedInAt = signedInAt
        self.usedAt = usedAt
    }

    /// The session that a token is for, or nil when it is not one of ours or has ended.
    init?(token: String, secret: SessionSecret, now: Int64) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 6, let key = UUIDv7(base32: parts[0].utf8), let tenant = Int64(parts[1]),
            let nonce = UUIDv7(base32: parts[2].utf8), let signedInAt = Int64(parts[3]), let usedAt = Int64(parts[4]),
            let code = Data(base64Encoded: String(parts[5])), code.base64EncodedString() == parts[5]
        else { return nil }
        self.init(
            key: APIKey.ID(key),
            tenant: Tenant.ID(rawValue: tenant),
            nonce: nonce,
            signedInAt: signedInAt,
            usedAt: usedAt
        )
        let isOurs = HMAC<SHA256>.isValidAuthenticationCode(
            code,
            authenticating: Array("session.\(content)".utf8),
            using: SymmetricKey(data: secret.bytes)
        )
        guard isOurs, now - signedInAt < Self.lifetime, now - usedAt < Self.idleTime else { return nil }
    }

    func token(_ secret: SessionSecret) -> String { "\(content).\(Self.code("session.\(content)", secret))" }

    /// The token of a form, so that only our own pages can send it (SEC-71).
    func formToken(_ secret: SessionSecret) -> String { Self.code("form.\(nonce.base32)", secret) }

    func accepts(formToken: String, _ secret: SessionSecret) -> Bool {
        guard let code = Data(base64Encoded: formToken) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code,
            authenticating: Array("form.\(nonce.base32)".utf8),
            using: SymmetricKey(data: secret.bytes)
        )
    }

    /// The session marked as used now, when it is time to mark it.
    func renewed(now: Int64) -> DashboardSession? {
        guard now - usedAt >= Self.renewal else { return nil }
        return DashboardSession(key: key, tenant: tenant, nonce: nonce, signedInAt: signedInAt, usedAt: now)
    }

    private var content: String {
        "\(key.uuid.base32).\(tenant).\(nonce.base32).\(signedInAt).\(usedAt)"
    }

    private static func code(_ text: String, _ secret: SessionSecret) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: secret.bytes))
        return Data(code).base64EncodedString()
    }
}
