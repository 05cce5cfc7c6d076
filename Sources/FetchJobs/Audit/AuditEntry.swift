import FetchEngine

/// An entry of the audit log, in its place.
package struct AuditEntry: Sendable, Equatable {
    package enum IDKind: IdentifierKind {
        package static let prefix = "aud"
    }

    package typealias ID = Identifier<IDKind>

    package let id: ID
    package let chain: Tenant.ID
    /// The name of its tenant; nil in the chain of the service, and when the tenant is gone.
    package let tenant: String?
    /// From 1, without gaps.
    package let sequence: Int64
    package let at: Timestamp
    /// When the last of several was; nil when there was one.
    package let until: Timestamp?
    /// How often it was done, or to how many things.
    package let count: Int64
    /// One of ``AuditActor/Kind``.
    package let actor: String
    package let key: String?
    package let signIn: String?
    package let client: String?
    package let request: String?
    /// One of ``AuditAction``, or one of another release.
    package let action: String
    package let object: String?
    package let details: RawJSON?
    package let hash: [UInt8]

    package init(
        id: ID, chain: Tenant.ID, tenant: String?, sequence: Int64, at: Timestamp, until: Timestamp?, count: Int64,
        actor: String, key: String?, signIn: String?, client: String?, request: String?, action: String,
        object: String?,
        details: RawJSON?, hash: [UInt8]
    ) {
        self.id = id
        self.chain = chain
        self.tenant = tenant
        self.sequence = sequence
        self.at = at
        self.until = until
        self.count = count
        self.actor = actor
        self.key = key
        self.signIn = signIn
        self.client = client
        self.request = request
        self.action = action
        self.object = object
        self.details = details
        self.hash = hash
    }

    /// - Parameter isForOperators: The reader sees entries of several tenants.
    package func write(_ writer: inout JSONWriter, isForOperators: Bool) {
        writer.member("id", id.description)
        if isForOperators {
            writer.member("tenant", tenant)
            writer.member("chain", chain.rawValue)
        }
        writer.member("sequence", sequence)
        writer.member("at", at.exact)
        writer.member("until", until?.exact)
        writer.member("count", count)
        writer.member(
            "actor",
            object: { writer in
                writer.member("kind", actor)
                writer.member("key", key)
                writer.member("signIn", signIn)
                writer.member("client", client)
                writer.member("request", request)
            })
        writer.member("action", action)
        writer.member("object", object)
        writer.member("details", details)
        writer.member("hash", Hexadecimal.text(hash))
    }
}

/// Which entries of the audit log are meant.
package struct AuditFilter: Sendable, Equatable {
    /// Nil for those of all chains.
    package var chain: Tenant.ID?
    /// The earliest time; nil for any.
    package var from: Timestamp?
    /// The time before which it was; nil for any.
    package var to: Timestamp?
    /// A kind of actor, the id of a key, or a sign-in; nil for any.
    package var actor: String?
    /// An action, or a subject with `.*` for all actions of that; nil for any.
    package var action: String?
    package var object: String?

    package init(chain: Tenant.ID? = nil) { self.chain = chain }
}
