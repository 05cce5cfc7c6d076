/// The tenants, as operators see them.
package protocol TenantStore: Sendable {
    /// Up to `limit` of them after one, the oldest first.
    func tenants(after tenant: Tenant.ID?, limit: Int) async throws(StoreError) -> [TenantShare]

    /// The tenant of this name, or nil when there is none.
    func tenant(named name: String) async throws(StoreError) -> TenantShare?

    /// The limits that tenants have of their own.
    func ownLimits() async throws(StoreError) -> [Tenant.ID: TenantLimits]

    /// What a tenant has of the service now.
    func usage(of tenant: Tenant.ID) async throws(StoreError) -> TenantUsage

    /// Changes a tenant's share, and notifies the running nodes.
    ///
    /// - Returns: The tenant as it is then, or nil when there is none of this name.
    func change(_ change: TenantChange, ofTenant name: String) async throws(StoreError) -> TenantShare?
}
