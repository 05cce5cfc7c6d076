/// The URL groups of tenants: each is there as long as it has an endpoint.
package protocol URLGroupStore: Sendable {
    func urlGroup(_ name: String, of tenant: Tenant.ID) async throws(StoreError) -> URLGroup?

    /// All of a tenant, by their names.
    func urlGroups(of tenant: Tenant.ID) async throws(StoreError) -> [URLGroup]

    /// Adds endpoints to a group; one takes the place of that with its URL, and of that with its name.
    ///
    /// - Returns: false when there is no room for them: nothing is changed.
    func add(
        _ endpoints: [URLGroup.Endpoint], toURLGroup name: String, of tenant: Tenant.ID
    ) async throws(StoreError) -> Bool

    /// Removes the endpoints with these URLs, and those with these names.
    ///
    /// - Returns: How many there were.
    func remove(
        urls: [String], names: [String], fromURLGroup name: String, of tenant: Tenant.ID
    ) async throws(StoreError) -> Int

    /// Removes a group with its endpoints, when it is there.
    func removeURLGroup(_ name: String, of tenant: Tenant.ID) async throws(StoreError)
}
