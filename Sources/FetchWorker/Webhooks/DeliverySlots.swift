import FetchJobs

/// The slots of a courier, and their deliveries.
///
/// A receiver that answers late holds its slot until it does. Receivers that are known to be late are treated as
/// failing ones: one message at a time.
struct DeliverySlots {
    /// An answer that takes longer comes late.
    static let patience = Duration.seconds(5)
    /// For how long it is known that an endpoint answered late, unless it answers in time before.
    static let memory = Duration.seconds(600)

    private struct Slot {
        let delivery: WebhookDelivery
        let since: ContinuousClock.Instant

        func isLate(_ now: ContinuousClock.Instant) -> Bool { now - since > DeliverySlots.patience }
    }

    let count: Int
    let perEndpoint: Int
    private var taken: [WebhookDelivery.ID: Slot] = [:]
    /// Endpoints that answered late, and when they did.
    private var late: [WebhookEndpoint.ID: ContinuousClock.Instant] = [:]

    init(count: Int, perEndpoint: Int) {
        self.count = count
        self.perEndpoint = perEndpoint
    }

    /// The deliveries for which there is room; nil when there is none.
    ///
    /// A quarter is kept for endpoints that accept their messages: however many others there are, each of which holds
    /// its slot until it has timed out, there is one free for those.
    mutating func room(_ now: ContinuousClock.Instant) -> DeliveryRoom? {
        late = late.filter { now - $0.value < Self.memory }
        guard taken.count < count else { return nil }
        let slow = taken.values.filter { $0.isLate(now) }.map(\.delivery.endpoint)
        let failing = taken.values.count { $0.delivery.endpointIsFailing || $0.isLate(now) }
        return DeliveryRoom(
            slots: count - taken.count,
            slotsForFailing: max(0, count - max(1, count / 4) - failing),
            slotsPerEndpoint: perEndpoint,
            underWayOfTenants: taken.values.reduce(into: [:]) { $0[$1.delivery.tenant, default: 0] += 1 },
            slow: Set(late.keys).union(slow)
        )
    }

    mutating func take(_ delivery: WebhookDelivery, _ now: ContinuousClock.Instant) {
        taken[delivery.id] = Slot(delivery: delivery, since: now)
    }

    mutating func leave(_ delivery: WebhookDelivery, _ now: ContinuousClock.Instant) {
        let isLate = taken.removeValue(forKey: delivery.id)?.isLate(now) ?? false
        late[delivery.endpoint] = isLate ? now : nil
    }
}
