/// The cached answers of tenants, as those see them who list and purge them.
package protocol CacheStore: Sendable {
    /// The stored responses, the latest first.
    func answers(
        _ filter: CacheFilter, of tenant: Tenant.ID, after position: CachePosition?, limit: Int
    ) async throws(StoreError) -> [CachedAnswer]

    /// Where the body of a response is, or nil when the tenant has no such response.
    func body(of answer: CachedAnswer, tenant: Tenant.ID) async throws(StoreError) -> StoredBody.Location?

    /// Puts an answer into the cache of a session, for all nodes, in place of those that the same requests select.
    func put(_ submission: CacheSubmission, of tenant: Tenant.ID) async throws(StoreError) -> CachePutting

    /// Removes answers, from the memory of all nodes too; how many were stored.
    ///
    /// Responses that are not complete yet are not stored any more.
    func purge(_ filter: CacheFilter, of tenant: Tenant.ID) async throws(StoreError) -> Int
}
