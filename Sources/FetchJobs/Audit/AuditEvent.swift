/// Something that was done, for the audit log.
package struct AuditEvent: Sendable, Hashable {
    /// The longest ``object``; what is longer is cut.
    package static let maximumObject = 512

    /// Whose chain it belongs in.
    package let chain: Tenant.ID
    package let action: AuditAction
    /// What it was done to; nil when the action says it.
    package let object: String?
    /// What else is known, a JSON object without secrets; nil for nothing.
    package let details: RawJSON?
    package var actor: AuditActor

    package init(
        _ action: AuditAction, _ object: String? = nil, of chain: Tenant.ID = .service, details: RawJSON? = nil,
        by actor: AuditActor = .current
    ) {
        self.chain = chain
        self.action = action
        self.object = object.map(Self.storable)
        self.details = details
        self.actor = actor
        // An operator's network is no business of the tenants that it looks after.
        if actor.kind == .operator, chain != .service { self.actor.client = nil }
    }

    /// A text that a column takes, and no longer than it may be.
    private static func storable(_ text: String) -> String {
        let clean = text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
        guard clean.utf8.count > maximumObject else { return clean }
        return String(decoding: clean.utf8.prefix(maximumObject), as: UTF8.self)
    }
}

extension Tenant.ID {
    /// The chain of what belongs to no tenant.
    package static let service = Self(rawValue: 0)
}
