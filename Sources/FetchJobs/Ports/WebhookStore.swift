/// Webhook endpoints and what is on its way to them.
package protocol WebhookStore: Sendable {
    func add(_ endpoint: WebhookEndpoint) async throws(StoreError)
    func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint?
    func endpoints(of tenant: Tenant.ID) async throws(StoreError) -> [WebhookEndpoint]

    /// Removes an endpoint and what was on its way to it; false when the tenant has none such.
    func remove(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Claims deliveries that are due, for a minute.
    func claimDeliveries(limit: Int) async throws(StoreError) -> [WebhookDelivery]

    /// Commits how a try ended.
    func settle(_ delivery: WebhookDelivery, _ verdict: DeliveryVerdict, status: Int?) async throws(StoreError)

    /// When the next delivery falls due, or nil when none waits.
    func nextDelivery() async throws(StoreError) -> Timestamp?
}
