import Synchronization

/// The state that the loads of one session share, beside its configuration.
final class SessionState: Sendable {
    let identifier: UInt64
    /// The protection spaces of servers, as far as its loads have learned them.
    let spaces = Mutex(SpaceMemory())
    /// Where it keeps credentials when the configuration names no storage.
    let ownCredentials = MemoryCredentialStorage()

    init(identifier: UInt64) { self.identifier = identifier }
}
