/// Webhook endpoints, and what is or was on its way to them.
package protocol WebhookStore: Sendable {
    func add(_ endpoint: WebhookEndpoint) async throws(StoreError)
    func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint?
    func endpoints(of tenant: Tenant.ID) async throws(StoreError) -> [WebhookEndpoint]

    /// Stores what has changed of an endpoint, and gives up what is on its way to it if that disabled it.
    ///
    /// - Parameter rotation: What to know a repeat of this change by, when it gives the endpoint a new secret.
    /// - Returns: The endpoint as it is now; nil when it was changed since it was read, or removed.
    func update(_ endpoint: WebhookEndpoint, rotation: String?) async throws(StoreError) -> WebhookEndpoint?

    /// Removes an endpoint and what was on its way to it; false when the tenant has none such.
    func remove(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// The newest first, without their attempts.
    func deliveries(
        of tenant: Tenant.ID,
        matching filter: DeliveryFilter,
        page: DeliveryPage
    ) async throws(StoreError) -> [StoredDelivery]

    /// What endpoints are told of a session and its jobs, the earliest first; what is told later always comes behind.
    ///
    /// - Parameter page: Where to begin; from the start when that is nil.
    /// - Returns: nil when what it is to begin after is no event of the session that is kept.
    func events(
        of session: TenantSession.ID,
        _ tenant: Tenant.ID,
        page: DeliveryPage
    ) async throws(StoreError) -> [WebhookDelivery]?

    /// A delivery with its attempts.
    func delivery(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredDelivery?

    /// Sends a delivery again, under its id, whatever became of it; false when its endpoint gets no messages.
    func replay(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Sends again what an endpoint was not brought, if it was made since a time.
    ///
    /// - Returns: How many deliveries those are.
    func replayFailed(
        of endpoint: WebhookEndpoint.ID,
        _ tenant: Tenant.ID,
        since: Timestamp
    ) async throws(StoreError) -> Int
}

/// What the courier takes its work from.
package protocol DeliveryQueue: Sendable {
    func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint?

    /// Stores what happened to jobs, to be told to their endpoints in its order; what is stored already is left alone.
    ///
    /// Of endpoints that are gone or disabled nothing is stored.
    func add(_ events: [RunEvent]) async throws(StoreError)

    /// Takes due deliveries for a minute; what is not settled by then is due again.
    ///
    /// However many wait for one endpoint, those for others are found at the same cost and go before them. Of the
    /// slots that are free a tenant may take as many as would leave others as many, by its weight, and an endpoint
    /// fewer the more it has: there is always one left for whoever has none. The events of a job go one after the
    /// other.
    func claimDeliveries(_ room: DeliveryRoom) async throws(StoreError) -> [WebhookDelivery]

    /// Stores what came of a claimed delivery, with the attempt when there was one, unless it was claimed again since.
    ///
    /// An endpoint that has taken nothing for too long, or wants nothing more, is disabled.
    ///
    /// - Returns: Whether the endpoint was disabled.
    func settle(
        _ delivery: WebhookDelivery,
        _ verdict: DeliveryVerdict,
        _ attempt: DeliveryAttempt?
    ) async throws(StoreError) -> Bool

    /// Gives up what is on its way to an endpoint that is disabled.
    func abandonDeliveries(to endpoint: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError)

    /// When the next delivery is due.
    func nextDelivery() async throws(StoreError) -> Timestamp?
}

/// How many deliveries a node has slots for.
package struct DeliveryRoom: Sendable, Equatable {
    /// In all.
    package let slots: Int
    /// Those of them that endpoints may have whose last attempt failed, or which are slow.
    package let slotsForFailing: Int
    /// For each endpoint, with those that all nodes have under way; one that is failing or slow may have one.
    package let slotsPerEndpoint: Int
    package let underWayOfTenants: [Tenant.ID: Int]
    /// Endpoints that take their messages, but late.
    package let slow: Set<WebhookEndpoint.ID>

    package init(
        slots: Int,
        slotsForFailing: Int? = nil,
        slotsPerEndpoint: Int = 8,
        underWayOfTenants: [Tenant.ID: Int] = [:],
        slow: Set<WebhookEndpoint.ID> = []
    ) {
        self.slots = slots
        self.slotsForFailing = slotsForFailing ?? slots
        self.slotsPerEndpoint = slotsPerEndpoint
        self.underWayOfTenants = underWayOfTenants
        self.slow = slow
    }
}
