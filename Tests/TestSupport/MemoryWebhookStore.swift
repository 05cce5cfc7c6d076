package import FetchJobs
import Synchronization

/// The webhook endpoints and deliveries of a test, in memory: the second form of ``WebhookStore``.
///
/// A test may add deliveries, too.
package final class MemoryWebhookStore: WebhookStore {
    struct State {
        var endpoints: [WebhookEndpoint] = []
        var deliveries: [StoredDelivery] = []
        /// Until when claims of deliveries last.
        var claims: [WebhookDelivery.ID: Timestamp] = [:]

        func hasRoom(of tenant: Tenant.ID) -> Bool {
            endpoints.count { $0.tenant == tenant } < WebhookEndpoint.maximumCount
        }

        /// One endpoint of a tenant at most is the default one.
        mutating func replaceDefault(by endpoint: WebhookEndpoint) {
            guard endpoint.isDefault else { return }
            for (index, former) in endpoints.enumerated()
            where former.tenant == endpoint.tenant && former.id != endpoint.id && former.isDefault {
                endpoints[index].isDefault = false
                endpoints[index].version += 1
            }
        }

        /// Gives up the deliveries to an endpoint.
        mutating func abandonDeliveries(to endpoint: WebhookEndpoint.ID) {
            for (index, stored) in deliveries.enumerated()
            where stored.delivery.endpoint == endpoint && stored.state == .pending {
                deliveries[index] = StoredDelivery(
                    stored.delivery, state: .abandoned, nextAttemptAt: stored.nextAttemptAt,
                    lastAttemptAt: stored.lastAttemptAt, lastStatus: stored.lastStatus)
                deliveries[index].attempts = stored.attempts
            }
        }
    }

    let state = Mutex(State())
    /// The time that deliveries are due by.
    let now: @Sendable () -> Timestamp

    package init(now: @escaping @Sendable () -> Timestamp = { .now }) { self.now = now }

    /// Puts a delivery there as it is.
    package func put(_ delivery: StoredDelivery) { state.withLock { $0.deliveries.append(delivery) } }

    // MARK: Endpoints

    @discardableResult
    package func add(_ endpoint: WebhookEndpoint) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard state.hasRoom(of: endpoint.tenant) else { return false }
            state.replaceDefault(by: endpoint)
            state.endpoints.append(endpoint)
            return true
        }
    }

    package func hasRoom(of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        state.withLock { $0.hasRoom(of: tenant) }
    }

    package func endpoint(
        _ id: WebhookEndpoint.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> WebhookEndpoint? {
        state.withLock { $0.endpoints.first { $0.id == id && $0.tenant == tenant } }
    }

    package func endpointID(
        _ search: EndpointSearch, of tenant: Tenant.ID
    ) async throws(StoreError) -> WebhookEndpoint.ID? {
        endpoints(of: tenant).first { endpoint in
            switch search {
            case .url(let url): endpoint.url == url && endpoint.disabling == nil
            case .polledDefault: endpoint.isDefault && endpoint.url == nil
            case .lowerHalf(let half, let time): endpoint.id.uuid.low == half && endpoint.createdAt > time
            }
        }?.id
    }

    package func endpoints(
        of tenant: Tenant.ID, after last: WebhookEndpoint.ID?, limit: Int
    ) async throws(StoreError) -> [WebhookEndpoint] {
        Array(endpoints(of: tenant).filter { endpoint in last.map { endpoint.id > $0 } ?? true }.prefix(limit))
    }

    private func endpoints(of tenant: Tenant.ID) -> [WebhookEndpoint] {
        state.withLock { $0.endpoints.filter { $0.tenant == tenant } }.sorted { $0.id < $1.id }
    }

    package func update(_ endpoint: WebhookEndpoint, rotation: String?) async throws(StoreError) -> WebhookEndpoint? {
        state.withLock { state in
            let index = state.endpoints.firstIndex {
                $0.id == endpoint.id && $0.tenant == endpoint.tenant && $0.version == endpoint.version
            }
            guard let index else { return nil }
            state.replaceDefault(by: endpoint)
            var changed = endpoint
            changed.version += 1
            changed.rotation = rotation ?? changed.rotation
            state.endpoints[index] = changed
            if changed.disabling != nil { state.abandonDeliveries(to: changed.id) }
            return changed
        }
    }

    package func remove(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard let index = state.endpoints.firstIndex(where: { $0.id == id && $0.tenant == tenant }) else {
                return false
            }
            state.endpoints.remove(at: index)
            state.abandonDeliveries(to: id)
            return true
        }
    }

    // MARK: Deliveries

    package func deliveries(
        of tenant: Tenant.ID,
        matching filter: DeliveryFilter,
        page: DeliveryPage
    ) async throws(StoreError) -> [StoredDelivery] {
        let found = state.withLock { $0.deliveries }
            .filter { $0.delivery.tenant == tenant && Self.matches($0, filter) }
            .sorted { $0.delivery.id > $1.delivery.id }
            .filter { delivery in page.after.map { delivery.delivery.id < $0 } ?? true }
        return Array(found.prefix(page.limit))
    }

    /// The events of a session itself; events of its jobs do not name it here.
    package func events(
        of source: EventSource,
        _ tenant: Tenant.ID,
        page: DeliveryPage
    ) async throws(StoreError) -> [WebhookDelivery]? {
        let all = state.withLock { $0.deliveries }
            .filter { stored in
                switch source {
                case .session(let id): stored.delivery.subject == .session(id)
                case .endpoint(let id): stored.delivery.endpoint == id && stored.state == .delivered
                }
            }
            .map(\.delivery).filter { $0.tenant == tenant }
        guard let after = page.after else { return Array(all.prefix(page.limit)) }
        guard let index = all.firstIndex(where: { $0.id == after }) else { return nil }
        return Array(all[(index + 1)...].prefix(page.limit))
    }

    private static func matches(_ stored: StoredDelivery, _ filter: DeliveryFilter) -> Bool {
        let delivery = stored.delivery
        return filter.endpoint.map { $0 == delivery.endpoint } ?? true
            && filter.state.map { $0 == stored.state } ?? true
            && filter.event.map { $0 == delivery.event } ?? true
            && filter.job.map { .job($0) == delivery.subject } ?? true
            && filter.since.map { $0 <= delivery.createdAt } ?? true
    }

    package func delivery(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> StoredDelivery? {
        state.withLock { $0.deliveries.first { $0.delivery.id == id && $0.delivery.tenant == tenant } }
    }

    package func test(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookDelivery.ID? {
        let now = now()
        return state.withLock { state in
            let isThere = state.endpoints.contains { $0.id == id && $0.tenant == tenant && $0.disabling == nil }
            guard isThere else { return nil }
            let delivery = WebhookDelivery(
                id: .init(), tenant: tenant, endpoint: id, subject: .endpoint(id), event: .endpointTest, createdAt: now,
                attempts: 0, failures: 0)
            state.deliveries.append(StoredDelivery(delivery, state: .pending, nextAttemptAt: now))
            return delivery.id
        }
    }

    package func replay(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        replay { $0.delivery.id == id && $0.delivery.tenant == tenant } > 0
    }

    package func replayFailed(
        of endpoint: WebhookEndpoint.ID,
        _ tenant: Tenant.ID,
        since: Timestamp
    ) async throws(StoreError) -> Int {
        var filter = DeliveryFilter()
        filter.endpoint = endpoint
        filter.state = .abandoned
        filter.since = since
        return replay { $0.delivery.tenant == tenant && Self.matches($0, filter) }
    }

    private func replay(_ isMeant: (StoredDelivery) -> Bool) -> Int {
        state.withLock { state in
            var count = 0
            for (index, delivery) in state.deliveries.enumerated() where isMeant(delivery) {
                let endpoint = state.endpoints.first { $0.id == delivery.delivery.endpoint }
                guard let endpoint, endpoint.disabling == nil else { continue }
                var replayed = StoredDelivery(
                    delivery.delivery.counting(attempts: delivery.delivery.attempts, failures: 0), state: .pending,
                    nextAttemptAt: now())
                replayed.attempts = delivery.attempts
                state.deliveries[index] = replayed
                count += 1
            }
            return count
        }
    }
}
