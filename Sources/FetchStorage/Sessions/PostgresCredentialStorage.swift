import FetchEngine
import FetchJobs
import Logging
import Synchronization

/// The credentials that the jobs of one session use, as all nodes share them: its own, and those kept for all.
///
/// A node keeps them in memory and reads them again when a job shows that there is something new.
final class PostgresCredentialStorage: CredentialStorage {
    private struct Held: Sendable {
        let stored: StoredCredential
        let credential: Credential
        /// Its protection space, as it is written for each use.
        let space: RawJSON
    }

    private struct State {
        var spaces: [ProtectionSpace: [Held]] = [:]
        var hasIdentities = false
        /// The version that is in memory; none at first.
        var known: Int64 = -1
        /// The newest version that there is, as far as this node has heard.
        var newest: Int64 = 0
    }

    let session: SessionAddress
    private let table: CredentialTable
    private let uses: CredentialUses
    private let logger: Logger
    private let state = Mutex(State())
    private let reading: Batcher<Void, CredentialTable.Contents>
    private let readers = Broadcast<ProtectionSpace>()

    init(of session: SessionAddress, in table: CredentialTable, noting uses: CredentialUses, logger: Logger) {
        self.session = session
        self.table = table
        self.uses = uses
        self.logger = logger
        reading = Batcher(maximumItems: .max) { callers in
            let contents = try await table.read(session)
            return callers.map { contents }
        }
    }

    /// Answers later requests from this version, or a newer one.
    func require(_ version: Int64) { state.withLock { $0.newest = max($0.newest, version) } }

    /// Reads new credentials, if there are any.
    private nonisolated(nonsending) func catchUp() async {
        guard state.withLock({ $0.known < $0.newest }) else { return }
        do { try await refresh() } catch {
            // No load fails because of its store; it goes on with the known credentials.
            logger.warning("credentials were not read", metadata: ["error": "\(error)"])
        }
    }

    /// The credentials for a space, the session's own first.
    private nonisolated(nonsending) func held(for space: ProtectionSpace) async -> [Held] {
        await catchUp()
        return state.withLock { $0.spaces[space] } ?? []
    }

    private nonisolated(nonsending) func refresh() async throws {
        guard let contents = try await reading.submit([()]).first else { return }
        guard state.withLock({ contents.version > $0.known }) else { return }
        var spaces: [ProtectionSpace: [Held]] = [:]
        for entry in contents.entries {
            let held = Held(
                stored: entry.stored, credential: try await table.open(entry, of: session.tenant),
                space: entry.stored.space.json)
            spaces[entry.stored.space, default: []].append(held)
        }
        let now = spaces
        let changed = state.withLock { state -> [ProtectionSpace] in
            guard contents.version > state.known else { return [] }
            let changed = Set(state.spaces.keys).union(now.keys).filter { space in
                state.spaces[space]?.map(\.credential) != now[space]?.map(\.credential)
            }
            state.spaces = now
            state.hasIdentities = now.keys.contains { $0.method == .clientCertificate }
            state.known = contents.version
            state.newest = max(state.newest, contents.version)
            return Array(changed)
        }
        for space in changed { readers.send(space) }
    }

    /// Whether a server that asks for a certificate may be shown one.
    nonisolated(nonsending) func holdsIdentities() async -> Bool {
        await catchUp()
        return state.withLock { $0.hasIdentities }
    }

    /// The id of a credential that may be sent in a space; nil when it is none of these.
    nonisolated(nonsending) func id(of credential: Credential, for space: ProtectionSpace) async -> StoredCredential.ID?
    {
        await catchUp()
        return state.withLock { state in
            // One that a job names may be stored for another method of the server.
            let others = state.spaces.filter { $0.key.covers(space) }.values.joined()
            return ((state.spaces[space] ?? []) + others).first { $0.credential == credential }?.stored.id
        }
    }

    // MARK: CredentialStorage

    nonisolated(nonsending) func credentials(for space: ProtectionSpace) async -> [String: Credential] {
        Self.byUser(await held(for: space))
    }

    nonisolated(nonsending) func allCredentials() async -> [ProtectionSpace: [String: Credential]] {
        await catchUp()
        return state.withLock { $0.spaces }.mapValues(Self.byUser)
    }

    private static func byUser(_ held: [Held]) -> [String: Credential] {
        Dictionary(held.map { ($0.credential.user, $0.credential) }, uniquingKeysWith: { first, _ in first })
    }

    nonisolated(nonsending) func defaultCredential(for space: ProtectionSpace) async -> Credential? {
        await held(for: space).first { $0.stored.isDefault }?.credential
    }

    /// The same for a job, whose use of it is noted.
    nonisolated(nonsending) func defaultCredential(
        for space: ProtectionSpace, taskDescription: String?
    ) async -> Credential? {
        guard let held = await held(for: space).first(where: { $0.stored.isDefault }) else { return nil }
        let job = taskDescription.flatMap { Job.ID($0) }
        uses.note(.init(tenant: session.tenant, credential: held.stored.id, job: job, space: held.space))
        return held.credential
    }

    nonisolated(nonsending) func set(_ credential: Credential, for space: ProtectionSpace) async {
        await put(credential, for: space, asDefault: false)
    }

    nonisolated(nonsending) func setDefault(_ credential: Credential, for space: ProtectionSpace) async {
        await put(credential, for: space, asDefault: true)
    }

    private nonisolated(nonsending) func put(
        _ credential: Credential, for space: ProtectionSpace, asDefault isDefault: Bool
    ) async {
        guard credential.persistence != .none else { return }
        let place = credential.persistence == .permanent ? SessionAddress(tenant: session.tenant) : session
        await write { try await table.put(credential, for: space, in: place, asDefault: isDefault)?.version }
    }

    nonisolated(nonsending) func remove(_ credential: Credential, for space: ProtectionSpace) async {
        guard let held = await held(for: space).first(where: { $0.credential == credential }) else {
            return
        }
        await write { try await table.remove(held.stored.id, of: session.tenant) }
    }

    nonisolated(nonsending) func removeAll() async {
        await write { try await table.removeAll(of: session)?.version }
    }

    nonisolated(nonsending) func noteFailure(of credential: Credential, for space: ProtectionSpace) async {
        guard let held = await held(for: space).first(where: { $0.credential == credential }) else {
            return
        }
        await write {
            try await table.noteFailure(held.stored.id, of: session.tenant)
            return nil
        }
    }

    /// Writes, and looks again before the next question.
    private nonisolated(nonsending) func write(
        _ body: nonisolated(nonsending) () async throws -> Int64?
    ) async {
        do {
            if let version = try await body() { require(version) }
        } catch {
            logger.warning("a credential was not written", metadata: ["error": "\(error)"])
        }
    }

    func changes() -> AsyncStream<ProtectionSpace> { readers.stream() }
}
