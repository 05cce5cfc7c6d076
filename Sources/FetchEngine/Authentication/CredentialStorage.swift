/// Keeps credentials, by protection space and user, with one default per space.
///
/// Its methods run where their caller does, on the loop of the transfers: a form that has to wait for something waits
/// without holding up that thread. A form that cannot reach its storage gives nothing and writes nothing, and reports
/// that itself, for no load fails because of its store.
public protocol CredentialStorage: AnyObject, Sendable {
    /// The credentials of a space, by user name.
    nonisolated(nonsending) func credentials(for space: ProtectionSpace) async -> [String: Credential]

    /// All credentials.
    nonisolated(nonsending) func allCredentials() async -> [ProtectionSpace: [String: Credential]]

    /// The credential that loads use without asking.
    nonisolated(nonsending) func defaultCredential(for space: ProtectionSpace) async -> Credential?

    /// The default credential of a space, for the task with this description; loads call this form.
    ///
    /// A storage may choose by the task, or record which task used a credential. The default implementation gives all
    /// tasks the same credential.
    ///
    /// - Parameters:
    ///   - space: The protection space of the credential.
    ///   - taskDescription: The task's ``SessionTask/taskDescription``; nil when it has none.
    nonisolated(nonsending) func defaultCredential(
        for space: ProtectionSpace, taskDescription: String?
    ) async -> Credential?

    /// Keeps a credential, in place of one of the same user.
    ///
    /// The first of a space becomes its default. One whose persistence is `none` is not kept.
    nonisolated(nonsending) func set(_ credential: Credential, for space: ProtectionSpace) async

    /// Keeps a credential and makes it the default of the space.
    ///
    /// One whose persistence is `none` is not kept.
    nonisolated(nonsending) func setDefault(_ credential: Credential, for space: ProtectionSpace) async

    /// Removes the credential of this user; if it was the default, the space has none then.
    nonisolated(nonsending) func remove(_ credential: Credential, for space: ProtectionSpace) async

    /// Removes everything.
    nonisolated(nonsending) func removeAll() async

    /// A stored credential was refused; it stays until it is removed or replaced.
    nonisolated(nonsending) func noteFailure(of credential: Credential, for space: ProtectionSpace) async

    /// Tells each space whose credentials have changed since the call.
    ///
    /// Removing everything tells every space there was. A reader that falls far behind misses the oldest ones.
    func changes() -> AsyncStream<ProtectionSpace>
}

extension CredentialStorage {
    /// The same for every task.
    public nonisolated(nonsending) func defaultCredential(
        for space: ProtectionSpace, taskDescription: String?
    ) async -> Credential? {
        await defaultCredential(for: space)
    }

    /// Ignores it.
    public nonisolated(nonsending) func noteFailure(of credential: Credential, for space: ProtectionSpace) async {}
}
