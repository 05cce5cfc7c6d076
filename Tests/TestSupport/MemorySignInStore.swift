package import FetchJobs
import Synchronization

/// The sign-ins of a test, in memory: the second form of ``SignInStore``.
package final class MemorySignInStore: SignInStore {
    private struct Waiting {
        let link: SignInLink
        let role: Role
        let tenant: Tenant.ID
        let expiresAt: Timestamp
    }

    private struct State {
        var tenants: [String: Tenant.ID] = [:]
        var signIns: [SignIn.ID: SignIn] = [:]
        var links: [SignInLink.ID: Waiting] = [:]
        var lookups = 0
    }

    private let keys: any KeyStore
    private let audit: any AuditLog
    private let key = SessionSecret()
    private let state = Mutex(State())

    /// - Parameter keys: Whose ends are those of the sign-ins, too.
    package init(keys: any KeyStore, audit: any AuditLog = MemoryAuditLog()) {
        self.keys = keys
        self.audit = audit
    }

    /// How often a sign-in was looked up.
    package var lookups: Int { state.withLock { $0.lookups } }

    /// Gives a tenant of the keys the name by which links name it.
    package func name(_ tenant: Tenant.ID, _ name: String) { state.withLock { $0.tenants[name] = tenant } }

    package func secret() async throws(StoreError) -> SessionSecret { key }

    package func begin(
        _ id: SignIn.ID, with key: APIKey, as role: Role, for lifetime: Duration
    ) async throws(StoreError) -> SignIn? {
        guard try await keys.key(key.id, of: key.tenant)?.key.isValid(at: .now) == true else { return nil }
        let signIn = SignIn(
            id: id, tenant: key.tenant, role: role, key: key.id, expiresAt: .now.advanced(by: lifetime))
        state.withLock { $0.signIns[id] = signIn }
        try await audit.record(AuditEvent(.signIn, of: signIn.tenant))
        return signIn
    }

    package func begin(
        _ id: SignIn.ID, with link: SignInLink, for lifetime: Duration
    ) async throws(StoreError) -> SignIn? {
        let signIn = state.withLock { state -> SignIn? in
            guard let waiting = state.links[link.id], waiting.link.secret == link.secret, waiting.expiresAt > .now
            else { return nil }
            state.links[link.id] = nil
            let signIn = SignIn(
                id: id, tenant: waiting.tenant, role: waiting.role, key: nil, expiresAt: .now.advanced(by: lifetime))
            state.signIns[id] = signIn
            return signIn
        }
        if let signIn { try await audit.record(AuditEvent(.signIn, link.id.description, of: signIn.tenant)) }
        return signIn
    }

    package func begin(
        _ id: SignIn.ID, of subject: TokenSubject, as role: Role, forTenant tenant: String, for lifetime: Duration
    ) async throws(StoreError) -> SignIn? {
        let signIn = state.withLock { state -> SignIn? in
            guard let owner = state.tenants[tenant] else { return nil }
            let signIn = SignIn(
                id: id, tenant: owner, role: role, key: nil, subject: subject.description,
                expiresAt: .now.advanced(by: lifetime))
            state.signIns[id] = signIn
            return signIn
        }
        if let signIn { try await audit.record(AuditEvent(.signIn, subject.description, of: signIn.tenant)) }
        return signIn
    }

    package func signIn(_ id: SignIn.ID) async throws(StoreError) -> SignIn? {
        let found = state.withLock { state in
            state.lookups += 1
            return state.signIns[id]
        }
        guard let found, found.expiresAt > .now else { return nil }
        guard let key = found.key else { return found }
        return try await keys.key(key, of: found.tenant)?.key.isValid(at: .now) == true ? found : nil
    }

    package func end(_ id: SignIn.ID) async throws(StoreError) {
        guard let ended = state.withLock({ $0.signIns.removeValue(forKey: id) }) else { return }
        try await audit.record(AuditEvent(.signOut, of: ended.tenant))
    }

    package func makeLink(
        as role: Role, forTenant tenant: String, lifetime: Duration
    ) async throws(StoreError) -> SignInLink {
        let link = SignInLink()
        let owner = state.withLock { state in
            let owner = state.tenants[tenant] ?? Tenant.ID(rawValue: 1000 + Int64(state.tenants.count))
            state.tenants[tenant] = owner
            state.links[link.id] = Waiting(
                link: link, role: role, tenant: owner, expiresAt: .now.advanced(by: lifetime))
            return owner
        }
        try await audit.record(AuditEvent(.makeLink, link.id.description, of: owner))
        return link
    }
}
