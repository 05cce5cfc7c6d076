/// The cached answers of tenants, as those see them who list and purge them.
package protocol CacheStore: Sendable {
    /// What is stored, the latest first.
    func answers(
        _ filter: CacheFilter, of tenant: Tenant.ID, after position: CachePosition?, limit: Int
    ) async throws(StoreError) -> [CachedAnswer]

    /// Removes answers, from the memory of all nodes too; how many were stored.
    func purge(_ filter: CacheFilter, of tenant: Tenant.ID) async throws(StoreError) -> Int
}
