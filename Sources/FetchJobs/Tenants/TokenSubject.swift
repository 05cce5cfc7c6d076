import FetchEngine

/// Whom a JSON Web Token is about: who has issued it, and whom that means (RFC 7519 §4.1).
package struct TokenSubject: Sendable, Equatable, CustomStringConvertible {
    package let issuer: String
    package let subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    /// Whether a subject may be named in logs: it has a character, 256 bytes at most, and none that controls.
    package static func allows(_ subject: String) -> Bool {
        1...256 ~= subject.utf8.count && subject.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Both, with a space between them: the audit log names the holder of a token so.
    package var description: String { "\(issuer) \(subject)" }
}

extension APIKey {
    /// The rights that a token proves, as those of a key that is stored nowhere.
    package init(of subject: TokenSubject, tenant: Tenant.ID, spec: APIKeySpec, createdAt: Timestamp) {
        // The same for all tokens of a subject, so that what goes by it knows them again.
        let digest = SHA256Digest(of: Array(subject.description.utf8)).bytes
        let (high, low) = (Self.number(digest[..<8]), Self.number(digest[8..<16]))
        self.init(
            id: ID(UUIDv7(high: high, low: low)), tenant: tenant, spec: spec, createdAt: createdAt, subject: subject)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// The id of a key that is stored; nil for that of a token.
    package var storedID: ID? { subject == nil ? id : nil }

    /// What the audit log calls its holder.
    package var auditName: String { subject?.description ?? id.description }
}
