package import FetchEngine

/// Webhook endpoints and their deliveries.
package protocol WebhookStore: Sendable {
    /// Adds an endpoint.
    ///
    /// - Returns: false when the tenant has ``WebhookEndpoint/maximumCount`` of them; those that are added at the same
    ///   time may be a few more.
    @discardableResult
    func add(_ endpoint: WebhookEndpoint) async throws(StoreError) -> Bool

    /// Whether a tenant may add another endpoint.
    func hasRoom(of tenant: Tenant.ID) async throws(StoreError) -> Bool

    func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint?

    /// The oldest endpoint of a tenant that matches.
    func endpointID(_ search: EndpointSearch, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint.ID?

    /// A page of the tenant's endpoints, the oldest first.
    ///
    /// - Parameter last: The last one of the page before; nil for the start.
    func endpoints(
        of tenant: Tenant.ID, after last: WebhookEndpoint.ID?, limit: Int
    ) async throws(StoreError) -> [WebhookEndpoint]

    /// Stores the changes of an endpoint, and gives up its pending deliveries when the change disabled it.
    ///
    /// - Parameter rotation: The key by which a repeat of this change is known, when it gives the endpoint a new
    ///   secret.
    /// - Returns: The endpoint as it is now; nil when it was changed since it was read, or removed.
    func update(_ endpoint: WebhookEndpoint, rotation: String?) async throws(StoreError) -> WebhookEndpoint?

    /// Removes an endpoint and its deliveries; false when the tenant has no such endpoint.
    func remove(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// The newest first, without their attempts.
    func deliveries(
        of tenant: Tenant.ID,
        matching filter: DeliveryFilter,
        page: DeliveryPage
    ) async throws(StoreError) -> [StoredDelivery]

    /// The events of a session and its jobs, or of an endpoint that is polled, the earliest first; later events always
    /// follow earlier ones.
    ///
    /// - Parameter page: Where to begin; from the start when that is nil.
    /// - Returns: nil when the page begins after an event that is not there.
    func events(
        of source: EventSource,
        _ tenant: Tenant.ID,
        page: DeliveryPage
    ) async throws(StoreError) -> [WebhookDelivery]?

    /// A delivery with its attempts.
    func delivery(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredDelivery?

    /// Sends an endpoint a message of its own, `endpoint.test`; nil when it is disabled, or not there.
    func test(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookDelivery.ID?

    /// Sends a delivery again, under its id, in any state; false when its endpoint is disabled or removed.
    func replay(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Sends the abandoned deliveries of an endpoint again that were made since a time.
    ///
    /// - Returns: How many deliveries those are.
    func replayFailed(
        of endpoint: WebhookEndpoint.ID,
        _ tenant: Tenant.ID,
        since: Timestamp
    ) async throws(StoreError) -> Int
}

/// An endpoint that is looked for by something else than its id.
package enum EndpointSearch: Sendable {
    /// Messages are sent to this address, and it is enabled.
    case url(URLRecord)
    /// It is the default one, and polled.
    case polledDefault
    /// The lower half of its id is this, and it was added after a time.
    case lowerHalf(UInt64, since: Timestamp)
}

/// Whose events are read one after the other.
package enum EventSource: Sendable, Hashable {
    case session(TenantSession.ID)
    case endpoint(WebhookEndpoint.ID)
}

/// The queue that the courier takes deliveries from.
package protocol DeliveryQueue: Sendable {
    func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint?

    /// The events that an endpoint lists; none when the tenant has no such endpoint.
    func events(of endpoint: WebhookEndpoint.ID, _ tenant: Tenant.ID) async throws(StoreError) -> [WebhookEvent]

    /// Stores events of jobs as deliveries, in their order; events that are stored already stay as they are.
    ///
    /// Nothing is stored for endpoints that were removed or disabled.
    func add(_ events: [RunEvent]) async throws(StoreError)

    /// Takes due deliveries for a minute; a delivery that is not settled by then is due again.
    ///
    /// A long queue of one endpoint neither delays the deliveries of others nor makes them more costly to find. The
    /// free slots are shared by tenants, by their weights. An endpoint gets fewer slots the more it has, and one slot
    /// is always left for an endpoint that has none. The events of a job are sent one after the other. An endpoint is
    /// left to the node that has half of what it may have under way.
    func claimDeliveries(_ room: DeliveryRoom) async throws(StoreError) -> [WebhookDelivery]

    /// Stores the result of a claimed delivery, and its attempt if there was one, unless it was claimed again since.
    ///
    /// What is delivered without an attempt is there for the readers of its endpoint, which has no URL.
    ///
    /// Disables an endpoint that has accepted nothing for too long, or has answered 410.
    ///
    /// - Returns: Whether the endpoint was disabled.
    func settle(
        _ delivery: WebhookDelivery,
        _ verdict: DeliveryVerdict,
        _ attempt: DeliveryAttempt?
    ) async throws(StoreError) -> Bool

    /// Gives claimed deliveries back, of which nothing was sent: they are due at once, and their attempts do not count.
    func release(_ deliveries: [WebhookDelivery]) async throws(StoreError)

    /// Gives up the deliveries to an endpoint that is disabled.
    func abandonDeliveries(to endpoint: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError)

    /// When the next delivery is due.
    func nextDelivery() async throws(StoreError) -> Timestamp?
}

/// How many deliveries a node has slots for.
package struct DeliveryRoom: Sendable, Equatable {
    /// What a node has of one endpoint.
    package struct Holding: Sendable, Equatable {
        package let count: Int
        /// How many it may have, as long as no other node has any.
        package let limit: Int

        package init(count: Int, limit: Int) {
            self.count = count
            self.limit = limit
        }
    }

    /// In all.
    package let slots: Int
    /// The slots of them for endpoints whose last attempt failed, or which are slow.
    package let slotsForFailing: Int
    /// For each endpoint, with those that all nodes have under way; one that is failing or slow may have one.
    package let slotsPerEndpoint: Int
    package let underWayOfTenants: [Tenant.ID: Int]
    /// What the node has of endpoints, of those too that it has none of and that may get more than others.
    package let endpoints: [WebhookEndpoint.ID: Holding]
    /// Endpoints that take their messages, but late.
    package let slow: Set<WebhookEndpoint.ID>

    package init(
        slots: Int,
        slotsForFailing: Int? = nil,
        slotsPerEndpoint: Int = 8,
        underWayOfTenants: [Tenant.ID: Int] = [:],
        endpoints: [WebhookEndpoint.ID: Holding] = [:],
        slow: Set<WebhookEndpoint.ID> = []
    ) {
        self.slots = slots
        self.slotsForFailing = slotsForFailing ?? slots
        self.slotsPerEndpoint = slotsPerEndpoint
        self.underWayOfTenants = underWayOfTenants
        self.endpoints = endpoints
        self.slow = slow
    }
}
