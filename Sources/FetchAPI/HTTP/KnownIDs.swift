import FetchJobs
import Synchronization

/// Checks that the ids in jobs exist, without asking for each job.
final class KnownIDs<Kind: IdentifierKind>: Sendable {
    private struct Key: Hashable {
        let tenant: Tenant.ID
        let id: Identifier<Kind>
    }

    private let pointer: String
    private let message: String
    private let exists: @Sendable (Identifier<Kind>, Tenant.ID) async throws -> Bool
    private let known = Mutex<[Key: ContinuousClock.Instant]>([:])

    /// - Parameters:
    ///   - pointer: Where a job names it.
    ///   - message: The error for an id that the tenant does not have.
    ///   - exists: Asks whether the tenant has it.
    init(
        at pointer: String, _ message: String,
        exists: @escaping @Sendable (Identifier<Kind>, Tenant.ID) async throws -> Bool
    ) {
        self.pointer = pointer
        self.message = message
        self.exists = exists
    }

    /// Refuses an id that the tenant does not have, or did not have some seconds ago.
    nonisolated(nonsending) func require(_ id: Identifier<Kind>?, of tenant: Tenant.ID) async throws {
        guard let id else { return }
        let key = Key(tenant: tenant, id: id)
        let now = ContinuousClock.now
        if let seen = known.withLock({ $0[key] }), now - seen < .seconds(5) { return }
        guard try await exists(id, tenant) else { throw InvalidInput(pointer: pointer, message: message) }
        known.withLock { known in
            if known.count >= 10_000 { known.removeAll() }
            known[key] = now
        }
    }

    func forget(_ id: Identifier<Kind>, of tenant: Tenant.ID) {
        known.withLock { _ = $0.removeValue(forKey: Key(tenant: tenant, id: id)) }
    }
}

typealias KnownGroups = KnownIDs<JobGroup.Kind>

extension KnownGroups {
    convenience init(store: any GroupStore) {
        self.init(at: "/group", "is not a group of yours") { try await store.group($0, of: $1) != nil }
    }
}
