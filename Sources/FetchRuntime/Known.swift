package import FetchEngine
package import FetchJobs
import Synchronization

/// What a node knows of something that operators set for all nodes, so that loads need not ask the database.
///
/// It is read again when the version of what holds for all tenants has been raised, which a node is told of at once and
/// sees with its next heartbeat at the latest.
package final class Known<Value: Sendable>: Sendable {
    private struct State {
        var version: Int64?
        var value: Value
    }

    private let read: @Sendable (Value) async throws(StoreError) -> Value
    private let settle: @Sendable (_ old: Value, _ new: Value) -> Value
    private let state: Mutex<State>

    /// - Parameters:
    ///   - value: What is known before anything is read.
    ///   - settle: What is known once something was read or stored; by default that alone.
    ///   - read: Reads it; is given what is known already.
    package init(
        _ value: Value,
        settle: @escaping @Sendable (_ old: Value, _ new: Value) -> Value = { $1 },
        read: @escaping @Sendable (Value) async throws(StoreError) -> Value
    ) {
        state = Mutex(State(value: value))
        self.settle = settle
        self.read = read
    }

    package var current: Value { state.withLock { $0.value } }

    /// Reads it, unless the version is the one that is known.
    package func refresh(to version: Int64) async throws(StoreError) {
        guard state.withLock({ $0.version }) != version else { return }
        try await refresh()
        state.withLock { $0.version = version }
    }

    package func refresh() async throws(StoreError) { note(try await read(current)) }

    /// Takes what was read or stored.
    package func note(_ value: Value) { state.withLock { $0.value = settle($0.value, value) } }
}

/// The rules of the service, as a node knows them.
package typealias KnownServiceRules = Known<ServiceRules>

extension Known where Value == ServiceRules {
    package convenience init(store: any ServiceRuleStore) {
        // Those that were stored last count, in whichever order they are told of.
        self.init(ServiceRules(), settle: { $1.version >= $0.version ? $1 : $0 }) { _ throws(StoreError) in
            try await store.serviceRules()
        }
    }
}

/// The operators' egress policies, as a node knows them.
package typealias KnownEgress = Known<EgressPolicies>

extension Known where Value == EgressPolicies {
    /// - Parameter policies: Those without any document: what the settings say.
    package convenience init(_ policies: EgressPolicies, store: any EgressStore) {
        self.init(policies, settle: { $0.taking($1.documents) }) { known throws(StoreError) in
            known.taking(try await store.egress(besides: known.versions))
        }
    }

    /// The policy for the loads of a tenant; every one of them asks.
    package func policy(of tenant: Tenant.ID) -> TargetPolicy { state.withLock { $0.value.policy(of: tenant) } }

    /// Takes a document that was stored here.
    package func note(_ document: EgressDocument, of owner: Tenant.ID) { note(current.taking([owner: document])) }
}
