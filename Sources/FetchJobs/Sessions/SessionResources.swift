package import FetchEngine

/// The stores that the jobs of a session share, as the worker sees them.
package protocol SessionResources: Sendable {
    /// The cookies of a session; callers share one object while any of them has it.
    func cookieStorage(of session: SessionAddress) -> any CookieStorage

    /// The credentials of a session and of its tenant; callers share one object while any of them has it.
    func credentialStorage(of session: SessionAddress) -> any CredentialStorage

    /// Whether a server may get a certificate that it asks jobs of the session for.
    nonisolated(nonsending) func holdsIdentities(of session: SessionAddress) async -> Bool

    /// The id of the stored credential that jobs of the session were given for a protection space; nil when it is none
    /// of those.
    nonisolated(nonsending) func id(
        of credential: Credential, for space: ProtectionSpace, in session: SessionAddress
    ) async -> StoredCredential.ID?

    /// A stored credential with its secret and its protection space, or nil when the tenant has no such credential.
    ///
    /// - Parameter job: The job that gets it, which is noted; nil for a job of which nothing is stored.
    func openCredential(
        _ id: StoredCredential.ID, of tenant: Tenant.ID, for job: Job.ID?
    ) async throws(StoreError) -> (credential: Credential, space: ProtectionSpace)?

    /// The cached responses of a session; callers share one object while any of them has it.
    func cache(of session: SessionAddress) -> any ResponseCache

    /// The answers that a session remembers; the same object for as long as anyone has it.
    func answerMemory(of session: SessionAddress) -> AnswerMemory

    /// Answers later requests for the stores from this version, or a newer one.
    func require(_ version: StoresVersion, of session: SessionAddress)
}
