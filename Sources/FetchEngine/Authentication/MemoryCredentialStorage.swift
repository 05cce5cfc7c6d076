import Synchronization

/// Keeps credentials in memory, as long as it lives itself.
public final class MemoryCredentialStorage: CredentialStorage {
    private struct Shelf {
        var credentials: [String: Credential] = [:]
        var defaultUser: String?
    }

    private struct State {
        var shelves: [ProtectionSpace: Shelf] = [:]
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
        state.withLock { $0.shelves[space]?.credentials ?? [:] }
    }

    /// All credentials.
    public func allCredentials() -> [ProtectionSpace: [String: Credential]] {
        state.withLock { $0.shelves.mapValues(\.credentials) }
    }

    /// The credential that loads use without asking.
    public func defaultCredential(for space: ProtectionSpace) -> Credential? {
        state.withLock { state in
            guard let shelf = state.shelves[space], let user = shelf.defaultUser else { return nil }
            return shelf.credentials[user]
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

    private func keep(_ credential: Credential, for space: ProtectionSpace, asDefault: (Shelf) -> Bool) {
        guard credential.persistence != .none else { return }
        let readers = state.withLock { state in
            var shelf = state.shelves[space] ?? Shelf()
            let user = asDefault(shelf) ? credential.user : shelf.defaultUser
            guard shelf.credentials[credential.user] != credential || shelf.defaultUser != user else {
                return Array(state.readers.values.prefix(0))
            }
            shelf.credentials[credential.user] = credential
            shelf.defaultUser = user
            state.shelves[space] = shelf
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(space) }
    }

    /// Removes the credential of this user.
    public func remove(_ credential: Credential, for space: ProtectionSpace) {
        let readers = state.withLock { state in
            guard state.shelves[space]?.credentials.removeValue(forKey: credential.user) != nil else {
                return Array(state.readers.values.prefix(0))
            }
            if state.shelves[space]?.defaultUser == credential.user { state.shelves[space]?.defaultUser = nil }
            if state.shelves[space]?.credentials.isEmpty == true { state.shelves[space] = nil }
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(space) }
    }

    /// Removes everything.
    public func removeAll() {
        let (spaces, readers) = state.withLock { state in
            defer { state.shelves = [:] }
            return (Array(state.shelves.keys), Array(state.readers.values))
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
