import FetchJobs

/// A delivery that is ready to be sent.
struct ClaimedDelivery: Sendable {
    let delivery: WebhookDelivery
    /// The job that it tells of; nil for none.
    var job: Job?
}

/// The slots of a courier, and their deliveries.
///
/// A delivery has its slot from its claim until its outcome is stored. So many of one endpoint are sent at once; the
/// others that are claimed wait for their turn, so that the next one is at hand when a receiver has answered.
///
/// A receiver that answers late holds its slot until it does. Receivers that are known to be late are treated as
/// failing ones: one message at a time.
struct DeliverySlots {
    /// An answer that takes longer comes late.
    static let patience = Duration.seconds(5)
    /// For how long it is known that an endpoint answered late, unless it answers in time before.
    static let memory = Duration.seconds(600)
    /// An endpoint that answers sooner has further messages claimed ahead: ``ahead`` for each that is sent at once,
    /// which it takes within a second.
    static let promptness = Duration.milliseconds(125)
    static let ahead = 8
    /// For how long it is known that an endpoint answered sooner, although nothing is on its way to it: between two
    /// claims it may have taken all that there was.
    static let memoryOfPromptness = Duration.seconds(10)
    /// How long a claimed delivery waits for its turn; the endpoint may have been changed meanwhile.
    static let turn = Duration.seconds(2)

    private enum Stage {
        case waiting
        case sending(since: ContinuousClock.Instant)
        /// Its outcome is being stored.
        case ended
    }

    private struct Slot {
        let delivery: WebhookDelivery
        let since: ContinuousClock.Instant
        var stage = Stage.waiting

        func isLate(_ now: ContinuousClock.Instant) -> Bool {
            if case .sending(let since) = stage { now - since > DeliverySlots.patience } else { false }
        }
    }

    /// The deliveries to one endpoint.
    private struct Receiver {
        var count = 0
        /// Those whose turn it is.
        var sending = 0
        var waiting: [ClaimedDelivery] = []
    }

    /// What the end of a message leaves to be done.
    struct Following {
        /// The next one to the endpoint.
        var next: ClaimedDelivery?
        /// Those that are not sent from here.
        var released: [WebhookDelivery] = []
    }

    let count: Int
    let perEndpoint: Int
    private var taken: [WebhookDelivery.ID: Slot] = [:]
    private var receivers: [WebhookEndpoint.ID: Receiver] = [:]
    /// Endpoints that answered late, and when they did.
    private var late: [WebhookEndpoint.ID: ContinuousClock.Instant] = [:]
    /// Endpoints that had as many messages as may be sent at once and answered in time, and when they did.
    private var prompt: [WebhookEndpoint.ID: ContinuousClock.Instant] = [:]

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
        prompt = prompt.filter { now - $0.value < Self.memoryOfPromptness }
        guard taken.count < count else { return nil }
        let slow = taken.values.filter { $0.isLate(now) }.map(\.delivery.endpoint)
        let failing = taken.values.count { $0.delivery.endpointIsFailing || $0.isLate(now) }
        return DeliveryRoom(
            slots: count - taken.count,
            slotsForFailing: max(0, count - max(1, count / 4) - failing),
            slotsPerEndpoint: perEndpoint,
            underWayOfTenants: taken.values.reduce(into: [:]) { $0[$1.delivery.tenant, default: 0] += 1 },
            endpoints: prompt.reduce(into: receivers.mapValues { .init(count: $0.count, limit: perEndpoint) }) {
                $0[$1.key] = .init(count: receivers[$1.key]?.count ?? 0, limit: perEndpoint * Self.ahead)
            },
            slow: Set(late.keys).union(slow)
        )
    }

    /// Gives claimed deliveries their slots.
    mutating func take(_ deliveries: [WebhookDelivery], _ now: ContinuousClock.Instant) {
        for delivery in deliveries {
            taken[delivery.id] = Slot(delivery: delivery, since: now)
            receivers[delivery.endpoint, default: Receiver()].count += 1
        }
    }

    /// Takes claimed deliveries that are to be sent.
    ///
    /// - Returns: Those whose turn it is.
    mutating func add(_ deliveries: [ClaimedDelivery]) -> [ClaimedDelivery] {
        deliveries.filter { claimed in
            let endpoint = claimed.delivery.endpoint
            guard receivers[endpoint, default: Receiver()].sending < perEndpoint else {
                receivers[endpoint]?.waiting.append(claimed)
                return false
            }
            receivers[endpoint]?.sending += 1
            return true
        }
    }

    /// A message whose turn it is is sent.
    mutating func begin(_ delivery: WebhookDelivery, _ now: ContinuousClock.Instant) {
        taken[delivery.id]?.stage = .sending(since: now)
    }

    /// A message was answered, or will not be.
    ///
    /// - Parameter isTaken: Whether the receiver has taken it; nil when it was not asked. What waits for one that did
    ///   not take it is not sent: such an endpoint gets one message at a time.
    mutating func end(_ delivery: WebhookDelivery, isTaken: Bool?, _ now: ContinuousClock.Instant) -> Following {
        var following = Following()
        guard let slot = taken[delivery.id], case .sending(let begin) = slot.stage,
            var receiver = receivers[delivery.endpoint]
        else { return following }
        taken[delivery.id]?.stage = .ended
        receiver.sending -= 1
        if let isTaken {
            late[delivery.endpoint] = slot.isLate(now) ? now : nil
            // Who never had so many has no use for more.
            let isFull = receiver.count >= perEndpoint || prompt[delivery.endpoint] != nil
            prompt[delivery.endpoint] = isTaken && isFull && now - begin <= Self.promptness ? now : nil
        }
        while !receiver.waiting.isEmpty {
            let claimed = receiver.waiting.removeFirst()
            let since = taken[claimed.delivery.id]?.since ?? now
            guard isTaken != false, now - since <= Self.turn else {
                following.released.append(claimed.delivery)
                continue
            }
            following.next = claimed
            receiver.sending += 1
            break
        }
        receivers[delivery.endpoint] = receiver
        return following
    }

    /// The outcomes of deliveries are stored, or never will be.
    mutating func leave(_ deliveries: [WebhookDelivery]) {
        for delivery in deliveries where taken.removeValue(forKey: delivery.id) != nil {
            receivers[delivery.endpoint]?.count -= 1
            if receivers[delivery.endpoint]?.count == 0 { receivers[delivery.endpoint] = nil }
        }
    }

    /// The deliveries that are claimed and were not sent.
    var unsent: [WebhookDelivery] {
        taken.values.compactMap { if case .waiting = $0.stage { $0.delivery } else { nil } }
    }
}
