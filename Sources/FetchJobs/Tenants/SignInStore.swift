/// The sign-ins to the dashboard, as all nodes know them (SEC-70).
///
/// Each change writes its entry in the audit log with it.
package protocol SignInStore: Sendable {
    /// What cookies and forms are signed with: the same on all nodes, and after their restarts.
    func secret() async throws(StoreError) -> SessionSecret

    /// Begins a sign-in with a key.
    ///
    /// - Parameters:
    ///   - id: A new one.
    ///   - lifetime: How long it lasts, unless the key ends before.
    /// - Returns: Nil when the key is not valid any more.
    func begin(
        _ id: SignIn.ID, with key: APIKey, as role: Role, for lifetime: Duration
    ) async throws(StoreError) -> SignIn?

    /// Begins a sign-in with a link, which is good for this one.
    ///
    /// - Returns: Nil when there is no such link, it was used, or its time is over.
    func begin(_ id: SignIn.ID, with link: SignInLink, for lifetime: Duration) async throws(StoreError) -> SignIn?

    /// Begins a sign-in of somebody whom an identity provider has signed in.
    ///
    /// - Parameters:
    ///   - tenant: The name of a tenant.
    ///   - lifetime: How long it lasts.
    /// - Returns: Nil when there is no such tenant.
    func begin(
        _ id: SignIn.ID, of subject: TokenSubject, as role: Role, forTenant tenant: String, for lifetime: Duration
    ) async throws(StoreError) -> SignIn?

    /// The sign-in of this id; nil when it is over: signed out or expired, or its key is revoked or has expired.
    func signIn(_ id: SignIn.ID) async throws(StoreError) -> SignIn?

    /// Ends a sign-in on all nodes.
    func end(_ id: SignIn.ID) async throws(StoreError)

    /// Makes a link that signs in once.
    ///
    /// - Parameters:
    ///   - tenant: The name of the tenant, which is made when there is none.
    ///   - lifetime: How long it waits for its use.
    func makeLink(
        as role: Role, forTenant tenant: String, lifetime: Duration
    ) async throws(StoreError) -> SignInLink
}
