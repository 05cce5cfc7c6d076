import FetchEngine

/// A person's sign-in to the dashboard: what it may do, and until when.
package struct SignIn: Sendable, Equatable {
    package enum Kind: IdentifierKind {
        package static let prefix = "sgn"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let tenant: Tenant.ID
    package let role: Role
    /// The key that it began with, and ends with; nil when it began with a link, or at an identity provider.
    package let key: APIKey.ID?
    /// Whom an identity provider has signed in, as ``TokenSubject/description``; nil when none has.
    package let subject: String?
    package let expiresAt: Timestamp

    package init(id: ID, tenant: Tenant.ID, role: Role, key: APIKey.ID?, subject: String? = nil, expiresAt: Timestamp) {
        self.id = id
        self.tenant = tenant
        self.role = role
        self.key = key
        self.subject = subject
        self.expiresAt = expiresAt
    }
}

/// The text in a link that signs in to the dashboard once: `fl_`, the link's id and 256 random bits.
///
/// It is no API key, and opens nothing but the dashboard.
package struct SignInLink: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    package enum Kind: IdentifierKind {
        package static let prefix = "lnk"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let secret: [UInt8]

    /// A new link with a secret of its own.
    package init() {
        id = ID()
        var random = SystemRandomNumberGenerator()
        secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// The link that a text is, or nil when it is none.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 3 + 26 + 64, text.hasPrefix("fl_") else { return nil }
        let body = Array(text.utf8.dropFirst(3))
        guard let uuid = UUIDv7(base32: body[..<26]), let secret = Hexadecimal.decode(body[26...]) else { return nil }
        id = ID(uuid)
        self.secret = secret
    }

    /// The whole text, secret included; shown once, when the link is made.
    package var revealed: String { "fl_" + id.uuid.base32 + Hexadecimal.text(secret) }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
}
