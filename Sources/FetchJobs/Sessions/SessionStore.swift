/// The sessions of tenants.
package protocol SessionStore: Sendable {
    func create(_ session: NewSession) async throws(StoreError) -> SessionCreation

    /// The session that was made by the same request before; nil when there is none, or the request has no key.
    func replay(_ session: NewSession) async throws(StoreError) -> TenantSession?

    /// The session of this id, or nil when the tenant has no such session.
    func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> TenantSession?

    /// A page of the tenant's sessions, the newest first.
    func sessions(
        of tenant: Tenant.ID, matching filter: SessionFilter, page: SessionPage
    ) async throws(StoreError) -> [TenantSession]

    /// The node with the ephemeral session that made the id of a job; nil when none of the tenant's did.
    func ephemeralOwner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> Node.ID?

    /// Lets a session take no more jobs; the session as it is then, or nil when the tenant has no such session.
    ///
    /// A session that finishes can still be cancelled; beyond that, asking again changes nothing.
    func invalidate(
        _ id: TenantSession.ID, of tenant: Tenant.ID, _ mode: Invalidation
    ) async throws(StoreError) -> TenantSession?

    /// Notes that the client knows that the events of a background session are finished (BKG-10), once for each time
    /// that they are.
    func acknowledge(
        _ id: TenantSession.ID, of tenant: Tenant.ID
    ) async throws(StoreError) -> EventsAcknowledgement

    /// Removes an invalidated session; false when there is no such session.
    func remove(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Ends those of some sessions whose last job has ended, and lets their clients be told.
    func settle(_ sessions: [SessionAddress]) async throws(StoreError)

    /// Does the same for a part of all sessions that are ending or have events to tell, in an order of them.
    ///
    /// - Parameters:
    ///   - last: The last one of the part before; nil for the first part.
    ///   - limit: How many are looked at, whether or not they can end.
    /// - Returns: The last one of the part; nil when none is left.
    func settle(after last: SessionAddress?, limit: Int) async throws(StoreError) -> SessionAddress?
}

/// A session about to be made.
package struct NewSession: Sendable {
    package let id: TenantSession.ID
    package let tenant: Tenant.ID
    package let spec: SessionSpec
    package let idempotency: Idempotency?

    package init(
        id: TenantSession.ID = TenantSession.ID(),
        tenant: Tenant.ID,
        spec: SessionSpec,
        idempotency: Idempotency? = nil
    ) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.idempotency = idempotency
    }
}

/// The result of creating a session.
package enum SessionCreation: Sendable {
    case made(Creation<TenantSession>)
    /// A live session of the tenant has the identifier (BKG-2).
    case identifierInUse
    /// The node has no room for more ephemeral sessions of the tenant.
    case full(EphemeralRoom)
    /// The tenant has as many sessions that have not ended as it may.
    case tooMany(maximum: Int)
}

/// The result of an acknowledgement.
package enum EventsAcknowledgement: Sendable {
    case acknowledged
    /// The end was acknowledged before.
    case repeated
    /// The session has jobs, messages about some are on their way, or it never had any to tell of.
    case tooEarly
    /// The tenant has no such session.
    case unknown
}

/// Which sessions of a list are asked for.
package struct SessionFilter: Sendable, Equatable {
    package var kind: SessionSpec.Kind?
    package var identifier: String?
    /// Only those that have jobs which are not final, or events that were not delivered (BKG-9).
    package var isOutstanding: Bool

    package init(kind: SessionSpec.Kind? = nil, identifier: String? = nil, isOutstanding: Bool = false) {
        self.kind = kind
        self.identifier = identifier
        self.isOutstanding = isOutstanding
    }
}

/// Which part of a list of sessions is asked for.
package struct SessionPage: Sendable {
    package let limit: Int
    /// The list goes on after this session.
    package let after: TenantSession.ID?

    package init(limit: Int, after: TenantSession.ID? = nil) {
        self.limit = limit
        self.after = after
    }
}
