package import FetchJobs
import Synchronization

/// What a node knows of the rules of the service, so that jobs need not ask.
///
/// They are read again when the version of what holds for all tenants has been raised, which a node is told of at once
/// and sees with its next heartbeat at the latest.
package final class KnownServiceRules: Sendable {
    private struct State {
        var version: Int64?
        var rules = ServiceRules()
    }

    private let store: any ServiceRuleStore
    private let state = Mutex(State())

    package init(store: any ServiceRuleStore) { self.store = store }

    package var current: ServiceRules { state.withLock { $0.rules } }

    /// Reads them, unless the version is the one that is known.
    package func refresh(to version: Int64) async throws(StoreError) {
        guard state.withLock({ $0.version }) != version else { return }
        try await refresh()
        state.withLock { $0.version = version }
    }

    package func refresh() async throws(StoreError) { note(try await store.serviceRules()) }

    /// Those that were stored last count, in whichever order they are told of.
    package func note(_ rules: ServiceRules) {
        state.withLock { if rules.version >= $0.rules.version { $0.rules = rules } }
    }
}
