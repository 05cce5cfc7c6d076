/// The jobs of tenants in numbers.
package protocol StatisticsStore: Sendable {
    /// How the jobs of a tenant are now, and how they went since some time.
    func statistics(of tenant: Tenant.ID, since time: Timestamp) async throws(StoreError) -> JobStatistics
}
