package import FetchJobs
import Synchronization

// The second form of ``DeliveryQueue``. Tenants weigh the same, and the events of sessions wait for nothing.

extension MemoryWebhookStore: DeliveryQueue {
    package func add(_ events: [RunEvent]) async throws(StoreError) {
        let now = now()
        state.withLock { state in
            for event in events where state.takes(event) {
                var delivery = WebhookDelivery(
                    id: event.id, tenant: event.tenant, endpoint: event.endpoint, subject: .job(event.job),
                    event: event.event, createdAt: now, attempts: 0, failures: 0)
                delivery.data = event.data
                state.deliveries.append(StoredDelivery(delivery, state: .pending, nextAttemptAt: now))
            }
        }
    }

    package func claimDeliveries(_ room: DeliveryRoom) async throws(StoreError) -> [WebhookDelivery] {
        let now = now()
        return state.withLock { state in
            state.due(room, now).map { candidate in
                let stored = state.deliveries[candidate.index]
                let delivery = stored.delivery
                let end = now.advanced(by: .seconds(60))
                var claimed = StoredDelivery(
                    delivery.counting(attempts: delivery.attempts + 1, failures: delivery.failures + 1),
                    state: .pending, nextAttemptAt: end, lastAttemptAt: now, lastStatus: stored.lastStatus)
                claimed.attempts = stored.attempts
                state.deliveries[candidate.index] = claimed
                state.claims[delivery.id] = end
                var told = delivery.counting(
                    attempts: delivery.attempts, failures: delivery.failures, isFailing: candidate.isFailing)
                told.receiver = state.endpoints.first { $0.id == delivery.endpoint }
                return told
            }
        }
    }

    package func settle(
        _ delivery: WebhookDelivery, _ verdict: DeliveryVerdict, _ attempt: DeliveryAttempt?
    ) async throws(StoreError) -> Bool {
        let now = now()
        return state.withLock { state in
            state.note(verdict, attempt, of: delivery, now)
            return attempt.map { state.noteHealth(of: delivery, verdict, $0, now) } ?? false
        }
    }

    package func release(_ deliveries: [WebhookDelivery]) async throws(StoreError) {
        let now = now()
        state.withLock { state in deliveries.forEach { state.release($0, now) } }
    }

    package func events(
        of endpoint: WebhookEndpoint.ID, _ tenant: Tenant.ID
    ) async throws(StoreError) -> [WebhookEvent] {
        state.withLock { $0.endpoints.first { $0.id == endpoint && $0.tenant == tenant }?.events ?? [] }
    }

    package func abandonDeliveries(
        to endpoint: WebhookEndpoint.ID, of tenant: Tenant.ID
    ) async throws(StoreError) {
        state.withLock { state in
            let isDisabled = state.endpoints.contains {
                $0.id == endpoint && $0.tenant == tenant && $0.disabling != nil
            }
            if isDisabled { state.abandonDeliveries(to: endpoint) }
        }
    }

    package func nextDelivery() async throws(StoreError) -> Timestamp? {
        state.withLock { $0.deliveries.filter { $0.state == .pending }.map(\.nextAttemptAt).min() }
    }
}

/// A delivery that may be claimed.
private struct Candidate {
    let index: Int
    let dueAt: Timestamp
    let tenant: Tenant.ID
    let isFailing: Bool
    /// How many its endpoint, and its tenant, have before it.
    let ofEndpoint: Int
    var ofTenant = 0
}

extension MemoryWebhookStore.State {
    fileprivate func takes(_ event: RunEvent) -> Bool {
        !deliveries.contains { $0.delivery.id == event.id }
            && endpoints.contains { $0.id == event.endpoint && $0.tenant == event.tenant && $0.disabling == nil }
    }

    /// The deliveries to claim, in their order, as ``DeliveryQueue/claimDeliveries(_:)`` shares the slots.
    fileprivate func due(_ room: DeliveryRoom, _ now: Timestamp) -> [Candidate] {
        let waiting = Set(deliveries.filter { $0.state == .pending }.map(\.delivery.endpoint))
        let candidates = Dictionary(grouping: waiting.flatMap { due(of: $0, room, now) }, by: \.tenant)
        let ordered = candidates.flatMap { tenant, candidates in
            candidates.sorted {
                ($0.isFailing ? 1 : 0, $0.ofEndpoint, $0.dueAt) < ($1.isFailing ? 1 : 0, $1.ofEndpoint, $1.dueAt)
            }
            .enumerated().map { offset, candidate in
                var candidate = candidate
                candidate.ofTenant = room.underWayOfTenants[tenant, default: 0] + offset
                return candidate
            }
        }
        .sorted {
            ($0.isFailing ? 1 : 0, $0.ofTenant, $0.ofEndpoint, $0.dueAt) < (
                $1.isFailing ? 1 : 0, $1.ofTenant, $1.ofEndpoint, $1.dueAt
            )
        }
        var failing = 0
        let chosen = ordered.enumerated().filter { offset, candidate in
            if candidate.isFailing { failing += 1 }
            let left = Double(room.slots - offset) * (candidate.isFailing ? 0.75 : 1)
            return (!candidate.isFailing || failing <= room.slotsForFailing)
                && Double(candidate.ofTenant + 2 * candidate.ofEndpoint) < left
        }
        return chosen.prefix(room.slots).map(\.element)
    }

    private func due(of endpoint: WebhookEndpoint.ID, _ room: DeliveryRoom, _ now: Timestamp) -> [Candidate] {
        let own = deliveries.enumerated().filter { $1.delivery.endpoint == endpoint && $1.state == .pending }
        let underWay = own.count { claims[$1.delivery.id] == $1.nextAttemptAt && $1.nextAttemptAt > now }
        let isFailing =
            endpoints.first { $0.id == endpoint }
            .map { ($0.failingSince != nil || room.slow.contains(endpoint)) && $0.disabling == nil } ?? false
        let held = room.endpoints[endpoint]
        let elsewhere = underWay - (held?.count ?? 0)
        let places =
            if isFailing { 1 } else if elsewhere <= 0 { held?.limit ?? room.slotsPerEndpoint } else {
                2 * elsewhere < room.slotsPerEndpoint ? room.slotsPerEndpoint : 0
            }
        let limit = max(0, places - underWay)
        let due = own.filter { _, stored in
            stored.nextAttemptAt <= now && !own.contains { $1.delivery.comesBefore(stored.delivery) }
        }
        .sorted {
            ($0.element.nextAttemptAt, $0.element.delivery.id) < ($1.element.nextAttemptAt, $1.element.delivery.id)
        }
        return due.prefix(limit).enumerated().map { offset, found in
            Candidate(
                index: found.offset, dueAt: found.element.nextAttemptAt, tenant: found.element.delivery.tenant,
                isFailing: isFailing, ofEndpoint: underWay + offset)
        }
    }

    fileprivate mutating func release(_ delivery: WebhookDelivery, _ now: Timestamp) {
        guard let index = deliveries.firstIndex(where: { $0.delivery.id == delivery.id }) else { return }
        let stored = deliveries[index]
        guard stored.state == .pending, stored.delivery.attempts == delivery.attempts + 1, stored.nextAttemptAt > now
        else { return }
        var released = StoredDelivery(
            stored.delivery.counting(attempts: delivery.attempts, failures: delivery.failures), state: .pending,
            nextAttemptAt: now, lastAttemptAt: delivery.attempts == 0 ? nil : stored.lastAttemptAt,
            lastStatus: stored.lastStatus)
        released.attempts = stored.attempts
        deliveries[index] = released
    }

    fileprivate mutating func note(
        _ verdict: DeliveryVerdict, _ attempt: DeliveryAttempt?, of delivery: WebhookDelivery, _ now: Timestamp
    ) {
        guard let index = deliveries.firstIndex(where: { $0.delivery.id == delivery.id }) else { return }
        var stored = deliveries[index]
        let attempts = stored.attempts + (attempt.map { [$0] } ?? [])
        let isOpen = stored.state == .pending || stored.state == .abandoned && verdict == .delivered
        if isOpen, stored.delivery.attempts == delivery.attempts + 1 {
            stored = StoredDelivery(
                stored.delivery, state: verdict.state, nextAttemptAt: now.advanced(by: verdict.wait),
                lastAttemptAt: stored.lastAttemptAt, lastStatus: attempt?.answer?.status)
        }
        stored.attempts = attempts
        deliveries[index] = stored
    }

    /// - Returns: Whether the endpoint is disabled now, and was not before.
    fileprivate mutating func noteHealth(
        of delivery: WebhookDelivery, _ verdict: DeliveryVerdict, _ attempt: DeliveryAttempt, _ now: Timestamp
    ) -> Bool {
        guard let index = endpoints.firstIndex(where: { $0.id == delivery.endpoint }) else { return false }
        let since = endpoints[index].failingSince
        endpoints[index].failingSince = verdict == .delivered ? nil : since ?? now
        guard endpoints[index].disabling == nil else { return false }
        let hasFailedForLong = since.map { $0 < now.advanced(by: .zero - WebhookEndpoint.patience) } ?? false
        let reason: WebhookEndpoint.DisablingReason? =
            attempt.answer?.status == 410 ? .gone : verdict != .delivered && hasFailedForLong ? .failing : nil
        guard let reason else { return false }
        endpoints[index].disabling = .init(at: now, reason: reason)
        endpoints[index].version += 1
        let disabled = endpoints[index]
        for other in endpoints where other.tenant == disabled.tenant && other.disabling == nil {
            guard other.events.contains(.endpointDisabled) else { continue }
            let word = WebhookDelivery(
                id: .init(), tenant: other.tenant, endpoint: other.id, subject: .endpoint(disabled.id),
                event: .endpointDisabled, createdAt: now, attempts: 0, failures: 0)
            deliveries.append(StoredDelivery(word, state: .pending, nextAttemptAt: now))
        }
        return true
    }
}

extension DeliveryVerdict {
    fileprivate var state: DeliveryState {
        switch self {
        case .delivered: .delivered
        case .again: .pending
        case .abandoned: .abandoned
        }
    }

    fileprivate var wait: Duration { if case .again(let wait) = self { wait } else { .zero } }
}

extension WebhookDelivery {
    func counting(attempts: Int, failures: Int, isFailing: Bool = false) -> WebhookDelivery {
        var counted = WebhookDelivery(
            id: id, tenant: tenant, endpoint: endpoint, subject: subject, event: event, createdAt: createdAt,
            attempts: attempts, failures: failures, endpointIsFailing: isFailing)
        counted.data = data
        return counted
    }

    /// The events of a job go one after the other, and its end comes last.
    fileprivate func comesBefore(_ other: WebhookDelivery) -> Bool {
        guard case .job = subject, subject == other.subject, data != nil else { return false }
        return id < other.id
    }
}
