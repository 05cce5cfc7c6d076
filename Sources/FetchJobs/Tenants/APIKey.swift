import FetchEngine

/// The key of a tenant, by which a client authenticates, without its secret.
package struct APIKey: Sendable, Equatable {
    package enum Kind: IdentifierKind {
        package static let prefix = "key"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let tenant: Tenant.ID
    package let spec: APIKeySpec
    /// How many jobs were submitted with it, and with the keys that are counted with it; counted only with a maximum.
    package let submittedJobs: Int64
    /// The key whose row counts its jobs.
    package let countedBy: ID
    package let createdAt: Timestamp
    /// The key that it was made with; nil when a command made it.
    package let createdBy: ID?
    /// As of a minute ago; nil when it was never used.
    package let lastUsedAt: Timestamp?
    /// The key that it was rotated to.
    package let replacedBy: ID?
    package let revokedAt: Timestamp?
    /// Whose token stands for it; nil for a key that is stored.
    package let subject: TokenSubject?

    package init(
        id: ID, tenant: Tenant.ID, spec: APIKeySpec, submittedJobs: Int64 = 0, countedBy: ID? = nil,
        createdAt: Timestamp, createdBy: ID? = nil, lastUsedAt: Timestamp? = nil, replacedBy: ID? = nil,
        revokedAt: Timestamp? = nil, subject: TokenSubject? = nil
    ) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.submittedJobs = submittedJobs
        self.countedBy = countedBy ?? id
        self.createdAt = createdAt
        self.createdBy = createdBy
        self.lastUsedAt = lastUsedAt
        self.replacedBy = replacedBy
        self.revokedAt = revokedAt
        self.subject = subject
    }

    package func isValid(at time: Timestamp) -> Bool {
        revokedAt == nil && spec.expiresAt.map { time < $0 } ?? true
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        spec.write(&writer)
        writer.member("submittedJobs", spec.maximumJobs.map { _ in submittedJobs })
        writer.member("createdAt", createdAt.description)
        writer.member("createdBy", createdBy?.description)
        writer.member("lastUsedAt", lastUsedAt?.description)
        writer.member("replacedBy", replacedBy?.description)
        writer.member("revokedAt", revokedAt?.description)
    }
}

/// The text a client sends as its bearer token: `fk_`, the key's id, 256 random bits and a checksum.
///
/// The checksum lets a mistyped key be told from a wrong one without asking the database, and lets scanners find
/// keys that leaked (SEC-40).
package struct APIKeyToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    package let id: APIKey.ID
    package let secret: [UInt8]

    /// A new token with a secret of its own.
    package init(id: APIKey.ID) {
        self.id = id
        var random = SystemRandomNumberGenerator()
        secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// The token a text holds, or nil when it is not one or a character of it is wrong.
    package init?(_ text: some StringProtocol) {
        // By bytes: a long run of combining marks would make the comparing of texts slow, for anyone who asks.
        guard text.utf8.starts(with: "fk_".utf8) else { return nil }
        let body = Array(text.utf8.dropFirst(3))
        guard body.count == 26 + 64 + 8, let uuid = UUIDv7(base32: body[..<26]),
            let secret = Hexadecimal.decode(body[26..<90]),
            let checksum = Hexadecimal.decode(body[90...])
        else { return nil }
        id = APIKey.ID(uuid)
        self.secret = secret
        guard checksum == Self.checksum(body[..<90]) else { return nil }
    }

    /// The whole token, secret included; shown once, when the key is made.
    package var revealed: String {
        let body = id.uuid.base32 + Hexadecimal.text(secret)
        return "fk_" + body + Hexadecimal.text(Self.checksum(body.utf8))
    }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }

    /// FNV-1a, 32 bits.
    private static func checksum(_ text: some Sequence<UInt8>) -> [UInt8] {
        let hash = text.reduce(UInt32(0x811C_9DC5)) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: hash >> $0) }
    }
}
