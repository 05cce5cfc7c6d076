import FetchJobs
import Synchronization

extension LimiterStore {
    private static var pageSize: Int { 100 }

    /// The flows whose keys have a beginning, in the order of their keys.
    func flows(of tenant: Tenant.ID, beginning prefix: String) async throws -> [Limiter] {
        var (found, last) = ([Limiter](), prefix)
        while true {
            let page = try await limiters(of: tenant, .flow, after: last, limit: Self.pageSize)
            let own = page.prefix { $0.address.key.hasPrefix(prefix) }
            found += own
            guard own.count == Self.pageSize, let key = own.last?.address.key else { return found }
            last = key
        }
    }
}

/// The queues and flow control keys of messages: flows of the service, whose limits are looked at once in a while.
final class QStashQueues: Sendable {
    private static let lifetime = Duration.seconds(5)
    private static let maximumEntries = 10_000

    let limiters: any LimiterStore
    /// The limits that are set, as they were a few seconds ago at most.
    private let known = Mutex<[Limiter.Address: (limits: SharedLimits, seenAt: ContinuousClock.Instant)]>([:])

    init(limiters: any LimiterStore) { self.limiters = limiters }

    static func address(_ queue: String, of tenant: Tenant.ID) -> Limiter.Address {
        Limiter.Address(tenant: tenant, kind: .flow, key: QStashMessage.flow(ofQueue: queue))
    }

    /// One message after the other, or as many at once as are asked for.
    static func limits(parallelism: Int) -> SharedLimits {
        var limits = SharedLimits()
        if parallelism == 1 { limits.order = .fifo } else { limits.parallelism = parallelism }
        return limits
    }

    /// Makes sure that what messages wait in is there: a queue that is new gets the usual limits, and a flow control
    /// key those that its message sets.
    ///
    /// - Throws: ``Problem`` `scopeRequired` when limits have to be set and the key may not.
    func settle(_ messages: [QStashMessage], by key: APIKey) async throws {
        for message in messages {
            guard let flow = message.spec.flow else { continue }
            let address = Limiter.Address(tenant: key.tenant, kind: .flow, key: flow.key)
            let now = ContinuousClock.now
            let seen = known.withLock { $0[address] }.flatMap { now - $0.seenAt < Self.lifetime ? $0.limits : nil }
            if let seen, message.limits.map({ $0 == seen }) ?? true { continue }
            let limiter = try await limiters.limiter(address)
            // A flow may be there without limits, because a job has named it.
            let existing = limiter?.limits == SharedLimits() ? nil : limiter?.limits
            let wanted = message.limits ?? existing ?? Self.limits(parallelism: 1)
            if limiter?.limits != wanted.keepingPinned(of: limiter?.limits) {
                try key.require(.limits)
                try await limiters.set(wanted, of: address, keepsPinned: true)
            }
            note(wanted, of: address)
        }
    }

    func set(_ limits: SharedLimits, of address: Limiter.Address) async throws {
        try await limiters.set(limits, of: address)
        note(limits, of: address)
    }

    func remove(_ address: Limiter.Address) async throws {
        known.withLock { _ = $0.removeValue(forKey: address) }
        _ = try await limiters.remove(address)
    }

    private func note(_ limits: SharedLimits, of address: Limiter.Address) {
        known.withLock { known in
            if known.count >= Self.maximumEntries { known.removeAll() }
            known[address] = (limits, .now)
        }
    }
}
