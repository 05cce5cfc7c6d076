package import FetchJobs
import Synchronization

/// The keys of a test, in memory: the second form of ``KeyStore``.
package final class MemoryKeyStore: KeyStore {
    private struct Stored {
        /// The members of a key that change.
        struct Draft {
            let id: APIKey.ID
            let tenant: Tenant.ID
            var spec: APIKeySpec
            var countedBy: APIKey.ID?
            let createdAt = Timestamp.now
            var createdBy: APIKey.ID?
            var lastUsedAt: Timestamp?
            var replacedBy: APIKey.ID?
            var revokedAt: Timestamp?
        }

        var draft: Draft
        let secret: [UInt8]
        var submitted = 0
    }

    private struct State {
        var tenants: [String: Tenant] = [:]
        var keys: [APIKey.ID: Stored] = [:]
        var lookups = 0
        var notes = 0

        mutating func keep(_ draft: Stored.Draft) -> (APIKey, APIKeyToken) {
            let token = APIKeyToken(id: draft.id)
            let stored = Stored(draft: draft, secret: token.secret)
            keys[draft.id] = stored
            return (key(stored), token)
        }

        func key(_ stored: Stored) -> APIKey {
            let draft = stored.draft
            let counter = draft.countedBy ?? draft.id
            return APIKey(
                id: draft.id, tenant: draft.tenant, spec: draft.spec,
                submittedJobs: Int64(keys[counter]?.submitted ?? 0), countedBy: counter, createdAt: draft.createdAt,
                createdBy: draft.createdBy, lastUsedAt: draft.lastUsedAt, replacedBy: draft.replacedBy,
                revokedAt: draft.revokedAt)
        }

        func owned(_ id: APIKey.ID) -> (key: APIKey, tenant: Tenant)? {
            guard let stored = keys[id], let tenant = tenants.values.first(where: { $0.id == stored.draft.tenant })
            else { return nil }
            return (key(stored), tenant)
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// How often a token was looked up.
    package var lookups: Int { state.withLock { $0.lookups } }

    /// How often uses were written.
    package var notes: Int { state.withLock { $0.notes } }

    package func authenticate(_ token: APIKeyToken) async throws(StoreError) -> APIKey? {
        state.withLock { state in
            state.lookups += 1
            guard let stored = state.keys[token.id], stored.secret == token.secret else { return nil }
            let key = state.key(stored)
            return key.isValid(at: .now) ? key : nil
        }
    }

    package func create(_ spec: APIKeySpec, for owner: KeyOwner) async throws(StoreError) -> (APIKey, APIKeyToken) {
        state.withLock { state in
            let id = APIKey.ID()
            switch owner {
            case .tenant(let name, let maker):
                let tenant =
                    state.tenants[name]
                    ?? Tenant(id: Tenant.ID(rawValue: Int64(state.tenants.count + 1)), name: name)
                state.tenants[name] = tenant
                return state.keep(Stored.Draft(id: id, tenant: tenant.id, spec: spec, createdBy: maker))
            case .tenantOf(let key):
                let counter = key.spec.maximumJobs == nil ? id : key.countedBy
                return state.keep(
                    Stored.Draft(id: id, tenant: key.tenant, spec: spec, countedBy: counter, createdBy: key.id))
            }
        }
    }

    package func keys(
        of tenant: Tenant.ID?, after key: APIKey.ID?, limit: Int
    ) async throws(StoreError) -> [(key: APIKey, tenant: Tenant)] {
        state.withLock { state in
            let keys = state.keys.values.filter { stored in
                (tenant.map { $0 == stored.draft.tenant } ?? true) && (key.map { $0 < stored.draft.id } ?? true)
            }
            return keys.sorted { $0.draft.id < $1.draft.id }.prefix(limit).compactMap { state.owned($0.draft.id) }
        }
    }

    package func key(_ id: APIKey.ID, of tenant: Tenant.ID?) async throws(StoreError) -> (key: APIKey, tenant: Tenant)?
    {
        state.withLock { state in
            guard let found = state.owned(id), tenant.map({ $0 == found.tenant.id }) ?? true else { return nil }
            return found
        }
    }

    package func revoke(_ id: APIKey.ID, of tenant: Tenant.ID?) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard let found = state.owned(id), tenant.map({ $0 == found.tenant.id }) ?? true,
                found.key.isValid(at: .now)
            else { return false }
            state.keys[id]?.draft.revokedAt = .now
            return true
        }
    }

    package func rotate(
        _ id: APIKey.ID, of tenant: Tenant.ID?, overlap: Duration, by maker: APIKey.ID?
    ) async throws(StoreError) -> (APIKey, APIKeyToken)? {
        state.withLock { state in
            guard let (old, owner) = state.owned(id), tenant.map({ $0 == owner.id }) ?? true, old.isValid(at: .now),
                old.replacedBy == nil,
                !state.keys.values.contains(where: { $0.draft.replacedBy == id && state.key($0).isValid(at: .now) })
            else { return nil }
            let end = Timestamp.now.advanced(by: overlap)
            let new = state.keep(
                Stored.Draft(
                    id: APIKey.ID(), tenant: old.tenant, spec: old.spec, countedBy: old.countedBy, createdBy: maker))
            state.keys[id]?.draft.replacedBy = new.0.id
            state.keys[id]?.draft.spec.expiresAt = old.spec.expiresAt.map { min($0, end) } ?? end
            return new
        }
    }

    package func count(_ jobs: Int, submittedBy key: APIKey) async throws(StoreError) -> Int {
        guard let maximum = key.spec.maximumJobs else { return jobs }
        return state.withLock { state in
            let submitted = state.keys[key.countedBy]?.submitted ?? 0
            let room = min(jobs, max(Int(maximum) - submitted, 0))
            state.keys[key.countedBy]?.submitted = max(submitted + room, 0)
            return room
        }
    }

    package func noteUses(_ uses: [APIKey.ID: Timestamp]) async throws(StoreError) {
        state.withLock { state in
            if !uses.isEmpty { state.notes += 1 }
            for (id, time) in uses {
                let known = state.keys[id]?.draft.lastUsedAt
                state.keys[id]?.draft.lastUsedAt = max(time, known ?? time)
            }
        }
    }

    package func hasKeys() async throws(StoreError) -> Bool {
        state.withLock { state in state.keys.values.contains { state.key($0).isValid(at: .now) } }
    }
}

/// Ready until a test says otherwise.
package final class MemoryReadiness: Readiness {
    private let current = Mutex<[String]>([])
    private let isWorking = Mutex(true)
    private let load = Mutex<Overload?>(nil)

    package init() {}

    package func set(_ obstacles: [String]) { current.withLock { $0 = obstacles } }

    package func setWorker(lives: Bool) { isWorking.withLock { $0 = lives } }

    package func set(_ overload: Overload?) { load.withLock { $0 = overload } }

    package func overload(for tenant: Tenant.ID) -> Overload? { load.withLock(\.self) }

    package var hasLiveWorker: Bool { isWorking.withLock { $0 } }

    package func obstacles() async -> [String] { current.withLock { $0 } }

    package func remarks() async -> [String] { [] }
}
