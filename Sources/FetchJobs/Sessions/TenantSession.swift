/// A session of a tenant: a configuration and stores that its jobs share.
package struct TenantSession: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "ses"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let tenant: Tenant.ID
    package let spec: SessionSpec
    package var state: SessionState
    /// Nil of a default session: it is there with its tenant.
    package let createdAt: Timestamp?
    /// When it was asked to take no more jobs.
    package var invalidatedAt: Timestamp?
    /// When its last job had ended after that.
    package var endedAt: Timestamp?
    /// When its events were finished last (BKG-10); nil as long as they never were.
    package var eventsFinishedAt: Timestamp?
    /// When the client acknowledged that; nil until it does.
    package var eventsAcknowledgedAt: Timestamp?
    /// The node that has an ephemeral session in memory; nil for others.
    package let node: Node.ID?

    package init(
        id: ID,
        tenant: Tenant.ID,
        spec: SessionSpec,
        state: SessionState = .active,
        createdAt: Timestamp?,
        node: Node.ID? = nil
    ) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.state = state
        self.createdAt = createdAt
        self.node = node
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("state", state.rawValue)
        spec.write(&writer)
        writer.member("node", node?.description)
        writer.member("createdAt", createdAt?.description)
        writer.member("invalidatedAt", invalidatedAt?.description)
        writer.member("endedAt", endedAt?.description)
        writer.member("eventsFinishedAt", eventsFinishedAt?.description)
        writer.member("eventsAcknowledgedAt", eventsAcknowledgedAt?.description)
    }
}

/// Where a session is in its life; it goes forward only.
package enum SessionState: String, Sendable, CaseIterable {
    /// It takes jobs.
    case active
    /// It takes none; those there are go on.
    case finishing
    /// It takes none; those there are are being cancelled.
    case cancelling
    /// It takes none, and has none.
    case invalidated
}

/// How the jobs of a session that is invalidated end.
package enum Invalidation: String, Sendable, CaseIterable {
    /// They go on (`finishTasksAndInvalidate`).
    case finish
    /// They are cancelled (`invalidateAndCancel`).
    case cancel

    package var state: SessionState {
        switch self {
        case .finish: .finishing
        case .cancel: .cancelling
        }
    }
}

extension TenantSession.ID {
    /// The session of every tenant that jobs belong to which name none.
    ///
    /// The same for all tenants, so that it needs no lookup; the tenant distinguishes the rows.
    package static let `default` = Self(UUIDv7(high: 0, low: 0))
}

extension TenantSession.ID {
    /// The session that a client means: by its id, or `default`.
    package init?(naming text: some StringProtocol) {
        if text == "default" {
            self = .default
        } else {
            self.init(text)
        }
    }

    /// As ``init(naming:)`` reads it.
    package var name: String { self == .default ? "default" : description }
}

extension JSONReader {
    /// The id of a session, or `default`.
    package func session() -> TenantSession.ID? {
        guard let text = string(maximumLength: 64) else { return nil }
        guard let session = TenantSession.ID(naming: text) else {
            refuse("is not the id of a session (ses_…) and not \"default\"")
            return nil
        }
        return session
    }
}
