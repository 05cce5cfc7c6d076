package import FetchJobs
import Synchronization

/// The limits of tenants as a node knows them, so that nothing that is limited need ask.
///
/// They are read again when the version for all tenants has been raised, of which a node is told at once, and by its
/// next heartbeat at the latest.
package final class KnownTenantLimits: Sendable {
    private struct State {
        var version: Int64?
        var own: [Tenant.ID: TenantLimits] = [:]
    }

    /// The limits of tenants that have none of their own.
    package let standard: TenantLimits
    private let store: (any TenantStore)?
    private let onChange: @Sendable (KnownTenantLimits) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - standard: The limits of tenants that have none of their own.
    ///   - store: Where those are that have; nil for none.
    ///   - onChange: Hears of every change, and of the limits at the start.
    package init(
        standard: TenantLimits = [:], store: (any TenantStore)? = nil,
        onChange: @escaping @Sendable (KnownTenantLimits) -> Void = { _ in }
    ) {
        self.standard = standard
        self.store = store
        self.onChange = onChange
    }

    /// Reads the limits, unless the version is known already.
    package func refresh(to version: Int64) async throws(StoreError) {
        guard state.withLock({ $0.version }) != version else { return }
        try await refresh()
        state.withLock { $0.version = version }
    }

    /// Reads the limits.
    package func refresh() async throws(StoreError) {
        guard let own = try await store?.ownLimits() else { return onChange(self) }
        state.withLock { $0.own = own }
        onChange(self)
    }

    /// A limit of a tenant; nil for as much as it likes.
    package subscript(limit: TenantLimit, tenant: Tenant.ID) -> Int64? {
        state.withLock { $0.own[tenant]?[limit] } ?? standard[limit]
    }

    /// All limits of a tenant.
    package func limits(of tenant: Tenant.ID) -> TenantLimits {
        standard.merging(state.withLock { $0.own[tenant] } ?? [:]) { $1 }
    }

    /// How many jobs of each tenant may run.
    package var running: RunningLimits {
        let own = state.withLock { $0.own }.compactMapValues { $0[.maximumRunningJobs].map { Int($0) } }
        return RunningLimits(standard: standard[.maximumRunningJobs].map { Int($0) }, own: own)
    }
}
