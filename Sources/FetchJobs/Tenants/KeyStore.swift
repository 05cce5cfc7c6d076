/// Tenants and their API keys.
package protocol KeyStore: Sendable {
    /// The key that a token proves, or nil when it proves none that is valid.
    func authenticate(_ token: APIKeyToken) async throws(StoreError) -> APIKey?

    /// Makes a key, and the tenant of that name when there is none; the token is not kept.
    ///
    /// - Parameter isAdmin: It speaks for the operator too.
    func create(name: String, tenant: String, isAdmin: Bool) async throws(StoreError) -> (APIKey, APIKeyToken)

    func keys() async throws(StoreError) -> [(key: APIKey, tenant: Tenant)]

    /// Revokes a key; false when there is no such valid key.
    func revoke(_ id: APIKey.ID) async throws(StoreError) -> Bool

    /// Whether any valid key exists.
    func hasKeys() async throws(StoreError) -> Bool
}

extension KeyStore {
    /// Makes a key that speaks for its tenant alone.
    package func create(name: String, tenant: String) async throws(StoreError) -> (APIKey, APIKeyToken) {
        try await create(name: name, tenant: tenant, isAdmin: false)
    }
}
