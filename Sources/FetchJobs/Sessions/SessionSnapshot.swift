/// The contents of a session's stores at one time, from which any number of sessions can be made.
package struct SessionSnapshot: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "snp"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let session: TenantSession.ID
    /// The session's configuration, which those made from the snapshot inherit.
    package let configuration: Configuration
    package let createdAt: Timestamp

    package init(id: ID, session: TenantSession.ID, configuration: Configuration, createdAt: Timestamp) {
        self.id = id
        self.session = session
        self.configuration = configuration
        self.createdAt = createdAt
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("session", session.description)
        writer.member("createdAt", createdAt.description)
    }
}

/// The result of creating a snapshot.
package enum SnapshotCreation: Sendable {
    case created(SessionSnapshot)
    /// The tenant has no such session, or it is one without stored layers.
    case unknown
    /// The session lies on as many layers as it may.
    case tooManyLayers
}

/// The snapshots of tenants' sessions.
package protocol SnapshotStore: Sendable {
    /// Takes a snapshot of a session's stores, at a cost that does not depend on their size.
    func take(of session: TenantSession.ID, tenant: Tenant.ID) async throws(StoreError) -> SnapshotCreation

    func snapshot(_ id: SessionSnapshot.ID, of tenant: Tenant.ID) async throws(StoreError) -> SessionSnapshot?

    /// Removes a snapshot, not the sessions made from it; false when the tenant has no such snapshot.
    func remove(snapshot id: SessionSnapshot.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool
}

extension SessionSnapshot.ID {
    init?(reader: JSONReader) {
        guard let text = reader.string(maximumLength: 64) else { return nil }
        guard let id = Self(text) else {
            reader.refuse("is not the id of a snapshot (snp_…)")
            return nil
        }
        self = id
    }
}
