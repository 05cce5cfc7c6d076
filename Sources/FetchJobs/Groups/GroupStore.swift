/// The groups of jobs.
package protocol GroupStore: Sendable {
    func create(_ group: JobGroup, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<JobGroup>

    /// The group of this id, or nil when the tenant has no such group.
    func group(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup?

    /// The newest first.
    ///
    /// - Parameter group: The last one of the page before; nil for the first page.
    func groups(of tenant: Tenant.ID, after group: JobGroup.ID?, limit: Int) async throws(StoreError) -> [JobGroup]

    /// How many jobs of a group are in which state.
    func counts(of group: JobGroup.ID, tenant: Tenant.ID) async throws(StoreError) -> [JobState: Int64]

    /// Lets a group take no more jobs; it is finished as soon as none of its jobs waits or runs.
    ///
    /// - Returns: The group as it is then; nil when the tenant has no such group.
    func close(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup?

    /// Removes a finished group; its jobs stay. False when the tenant has no such group.
    func remove(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Finishes those of some groups that are closed and whose jobs are final, and has that told, once.
    func settle(_ groups: [JobGroup.Address]) async throws(StoreError)

    /// Does the same for a part of all groups that are closed and not finished, in an order of them.
    ///
    /// - Parameters:
    ///   - last: The last one of the part before; nil for the first part.
    ///   - limit: How many are looked at, whether or not they can be finished.
    /// - Returns: The last one of the part; nil when none is left.
    func settle(after last: JobGroup.Address?, limit: Int) async throws(StoreError) -> JobGroup.Address?
}
