/// Tenants and their API keys.
package protocol KeyStore: Sendable {
    /// The key that a token proves, or nil when it proves none that is valid.
    func authenticate(_ token: APIKeyToken) async throws(StoreError) -> APIKey?

    /// Makes a key; its token is not kept.
    ///
    /// The jobs of a key with a maximum count for the key that it is made with too, if that one has a maximum.
    func create(_ spec: APIKeySpec, for owner: KeyOwner) async throws(StoreError) -> (APIKey, APIKeyToken)

    /// Up to `limit` keys after one, the oldest first; those that are not valid any more, too.
    ///
    /// - Parameter tenant: Nil for the keys of all tenants.
    func keys(
        of tenant: Tenant.ID?, after key: APIKey.ID?, limit: Int
    ) async throws(StoreError) -> [(key: APIKey, tenant: Tenant)]

    /// The key of this id, valid or not; nil when there is none, and when it is another tenant's.
    ///
    /// - Parameter tenant: Nil for a key of any tenant.
    func key(_ id: APIKey.ID, of tenant: Tenant.ID?) async throws(StoreError) -> (key: APIKey, tenant: Tenant)?

    /// Revokes a key; false when there is no such valid key.
    ///
    /// - Parameter tenant: Nil for a key of any tenant.
    func revoke(_ id: APIKey.ID, of tenant: Tenant.ID?) async throws(StoreError) -> Bool

    /// Makes a key of the same name, rights and bounds in place of one that is valid, which ends after a time.
    ///
    /// - Parameters:
    ///   - tenant: Nil for a key of any tenant.
    ///   - overlap: How long the old key stays valid, unless it expires before.
    ///   - maker: The key that this is asked with; nil for a command.
    /// - Returns: The new key; nil when the old one is not valid, was rotated before, or has replaced one that is
    ///   still valid: so there are never more than two.
    func rotate(
        _ id: APIKey.ID, of tenant: Tenant.ID?, overlap: Duration, by maker: APIKey.ID?
    ) async throws(StoreError) -> (APIKey, APIKeyToken)?

    /// Counts jobs of a key that has a maximum.
    ///
    /// - Parameter jobs: Negative for jobs that were not stored after all.
    /// - Returns: How many of the jobs there is room for; all of them when the key has no maximum.
    func count(_ jobs: Int, submittedBy key: APIKey) async throws(StoreError) -> Int

    /// Writes when keys were used last; earlier times than the known ones change nothing.
    func noteUses(_ uses: [APIKey.ID: Timestamp]) async throws(StoreError)

    /// Whether any valid key exists.
    func hasKeys() async throws(StoreError) -> Bool
}

/// Whose a new key is.
package enum KeyOwner: Sendable {
    /// The tenant of this name, which is made when there is none.
    ///
    /// - Parameter maker: The operator's key that it is made with; nil for a command.
    case tenant(named: String, by: APIKey.ID? = nil)
    /// The tenant of the key that it is made with.
    case tenantOf(APIKey)
}

extension KeyStore {
    /// Makes a key of a tenant by its name.
    package func create(
        name: String, tenant: String, scopes: Set<Scope> = .tenant
    ) async throws(StoreError) -> (APIKey, APIKeyToken) {
        try await create(APIKeySpec(name: name, scopes: scopes), for: .tenant(named: tenant))
    }
}
