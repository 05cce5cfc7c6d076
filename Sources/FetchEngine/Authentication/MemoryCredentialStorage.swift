import Synchronization

/// Keeps credentials in memory, as long as it lives itself.
public final class MemoryCredentialStorage: CredentialStorage {
    /// The credentials of one space.
    private struct Entry {
        var credentials: [String: Credential] = [:]
        var defaultUser: String?
    }

    private struct State {
        var entries: [ProtectionSpace: Entry] = [:]
        var readers: [UInt64: AsyncStream<ProtectionSpace>.Continuation] = [:]
        var readerCount: UInt64 = 0
    }

    private static let maximumUnreadChanges = 1024

    private let state = Mutex(State())

    /// Makes an empty one.
    public init() {}

    deinit {
        for reader in state.withLock({ $0.readers.values }) { reader.finish() }
    }

    /// The credentials of a space, by user name.
    public func credentials(for space: ProtectionSpace) -> [String: Credential] {
        state.withLock { $0.entries[space]?.credentials ?? [:] }
    }

    /// All credentials.
    public func allCredentials() -> [ProtectionSpace: [String: Credential]] {
        state.withLock { $0.entries.mapValues(\.credentials) }
    }

    /// The credential that loads use without asking.
    public func defaultCredential(for space: ProtectionSpace) -> Credential? {
        state.withLock { state in
            guard let entry = state.entries[space], let user = entry.defaultUser else { return nil }
            return entry.credentials[user]
        }
    }

    /// Keeps a credential, in place of one of the same user.
    public func set(_ credential: Credential, for space: ProtectionSpace) {
        keep(credential, for: space) { $0.defaultUser == nil }
    }

    /// Keeps a credential and makes it the default of the space.
    public func setDefault(_ credential: Credential, for space: ProtectionSpace) {
        keep(credential, for: space) { _ in true }
    }

    private func keep(_ credential: Credential, for space: ProtectionSpace, asDefault: (Entry) -> Bool) {
        guard credential.persistence != .none else { return }
        let readers = state.withLock { state in
            var entry = state.entries[space] ?? Entry()
            let user = asDefault(entry) ? credential.user : entry.defaultUser
            guard entry.credentials[credential.user] != credential || entry.defaultUser != user else {
                return Array(state.readers.values.prefix(0))
            }
            entry.credentials[credential.user] = credential
            entry.defaultUser = user
            state.entries[space] = entry
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(space) }
    }

    /// Removes the credential of this user.
    public func remove(_ credential: Credential, for space: ProtectionSpace) {
        let readers = state.withLock { state in
            guard state.entries[space]?.credentials.removeValue(forKey: credential.user) != nil else {
                return Array(state.readers.values.prefix(0))
            }
            if state.entries[space]?.defaultUser == credential.user { state.entries[space]?.defaultUser = nil }
            if state.entries[space]?.credentials.isEmpty == true { state.entries[space] = nil }
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(space) }
    }

    /// Removes everything.
    public func removeAll() {
        let (spaces, readers) = state.withLock { state in
            defer { state.entries = [:] }
            return (Array(state.entries.keys), Array(state.readers.values))
        }
        for reader in readers { spaces.forEach { reader.yield($0) } }
    }

    /// Tells each space whose credentials have changed since the call.
    public func changes() -> AsyncStream<ProtectionSpace> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ProtectionSpace.self, bufferingPolicy: .bufferingNewest(Self.maximumUnreadChanges))
        let number = state.withLock { state in
            state.readerCount += 1
            state.readers[state.readerCount] = continuation
            return state.readerCount
        }
        continuation.onTermination = { [weak self] _ in self?.leave(number) }
        return stream
    }

    private func leave(_ number: UInt64) { _ = state.withLock { $0.readers.removeValue(forKey: number) } }
}
