/// A session of a tenant: a configuration and stores that its jobs share.
package enum TenantSession {
    package enum Kind: IdentifierKind {
        package static let prefix = "ses"
    }

    package typealias ID = Identifier<Kind>
}

extension TenantSession.ID {
    /// The session of every tenant that jobs belong to which name none.
    ///
    /// The same for all tenants, so that nobody has to look it up: rows are told apart by their tenant.
    package static let `default` = Self(UUIDv7(high: 0, low: 0))
}
