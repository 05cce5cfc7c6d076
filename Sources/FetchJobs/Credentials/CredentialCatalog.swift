/// The credentials of sessions, as those see them who query and change them.
package protocol CredentialCatalog: Sendable {
    /// The credentials that jobs of a session use: its own and those that are kept for all, the oldest first.
    func credentials(of session: SessionAddress) async throws(StoreError) -> [StoredCredential]

    /// The credential of this id, or nil when the tenant has no such credential.
    func credential(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredCredential?

    /// Keeps a credential, in place of one of the same user for the same space.
    func add(
        _ submission: CredentialSubmission, to tenant: Tenant.ID
    ) async throws(StoreError) -> StoredCredential

    /// Removes a credential; false when the tenant has no such credential.
    func remove(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Removes all credentials of a session; how many there were.
    func removeCredentials(of session: SessionAddress) async throws(StoreError) -> Int

    /// The uses of credentials by jobs, the newest first.
    ///
    /// - Parameters:
    ///   - credential: Nil for all of the tenant's.
    ///   - use: The last one of the page before; nil for the first page.
    func uses(
        of credential: StoredCredential.ID?, tenant: Tenant.ID, after use: CredentialUse.ID?, limit: Int
    ) async throws(StoreError) -> [CredentialUse]
}
