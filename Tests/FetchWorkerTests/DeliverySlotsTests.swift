import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// The slots of a courier, and their deliveries.
@Suite struct DeliverySlotsTests {
    private let start = ContinuousClock.now

    private func delivery(
        to endpoint: WebhookEndpoint.ID = .init(), of tenant: Tenant.ID = .first, isFailing: Bool = false
    ) -> WebhookDelivery {
        WebhookDelivery(
            id: .init(), tenant: tenant, endpoint: endpoint, subject: .endpoint(endpoint), event: .jobFinished,
            createdAt: .now, attempts: 0, failures: 0, endpointIsFailing: isFailing)
    }

    /// Has deliveries claimed, and those sent whose turn it is.
    private func send(
        _ deliveries: [WebhookDelivery], _ slots: inout DeliverySlots, at now: ContinuousClock.Instant? = nil
    ) -> [WebhookDelivery.ID] {
        slots.take(deliveries, now ?? start)
        let sent = slots.add(deliveries.map { ClaimedDelivery(delivery: $0) })
        for claimed in sent { slots.begin(claimed.delivery, now ?? start) }
        return sent.map(\.delivery.id)
    }

    @Test func `there is room for what is not taken, and for none when all is`() {
        var slots = DeliverySlots(count: 2, perEndpoint: 8)
        let deliveries = [delivery(), delivery()]
        #expect(slots.room(start)?.slots == 2)
        slots.take([deliveries[0]], start)
        #expect(slots.room(start)?.slots == 1)
        slots.take([deliveries[1]], start)
        #expect(slots.room(start) == nil)
        slots.leave([deliveries[0]])
        #expect(slots.room(start)?.slots == 1)
    }

    @Test func `a quarter is kept for endpoints that take what they are sent`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 8)
        #expect(slots.room(start)?.slotsForFailing == 6)
        slots.take((0..<6).map { _ in delivery(isFailing: true) }, start)
        #expect(slots.room(start)?.slotsForFailing == 0)
        #expect(slots.room(start)?.slots == 2)
    }

    @Test func `what is under way is counted by tenant and by endpoint`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 3)
        let endpoints = [WebhookEndpoint.ID(), WebhookEndpoint.ID()]
        let deliveries = [
            delivery(to: endpoints[0]), delivery(to: endpoints[0]), delivery(to: endpoints[1], of: .second),
        ]
        slots.take(deliveries, start)
        let room = slots.room(start)
        #expect(room?.underWayOfTenants == [.first: 2, .second: 1])
        #expect(room?.slotsPerEndpoint == 3)
        #expect(
            room?.endpoints == [endpoints[0]: .init(count: 2, limit: 3), endpoints[1]: .init(count: 1, limit: 3)])
        slots.leave(deliveries)
        #expect(slots.room(start)?.endpoints == [:])
    }

    @Test func `so many to an endpoint are sent at once, and each that ends makes room for the next`() {
        var slots = DeliverySlots(count: 64, perEndpoint: 2)
        let endpoint = WebhookEndpoint.ID()
        let deliveries = (0..<4).map { _ in delivery(to: endpoint) }
        #expect(send(deliveries, &slots) == deliveries[..<2].map(\.id))
        // Another endpoint has its own.
        let other = delivery()
        #expect(send([other], &slots) == [other.id])
        var following = slots.end(deliveries[1], isTaken: true, start)
        #expect(following.next?.delivery.id == deliveries[2].id && following.released.isEmpty)
        // A message that is not asked for says nothing of its endpoint.
        following = slots.end(deliveries[0], isTaken: nil, start)
        #expect(following.next?.delivery.id == deliveries[3].id)
        #expect(slots.end(deliveries[0], isTaken: true, start).next == nil)
        // They have their slots until their outcomes are stored.
        #expect(slots.room(start)?.endpoints[endpoint]?.count == 4)
        slots.leave(Array(deliveries[..<2]))
        #expect(slots.room(start)?.endpoints[endpoint]?.count == 2)
    }

    @Test func `an endpoint that answers at once has more claimed ahead, and no other`() {
        var slots = DeliverySlots(count: 64, perEndpoint: 2)
        let endpoint = WebhookEndpoint.ID()
        let deliveries = (0..<3).map { _ in delivery(to: endpoint) }
        _ = send(deliveries, &slots)
        #expect(slots.room(start)?.endpoints[endpoint]?.limit == 2)
        _ = slots.end(deliveries[0], isTaken: true, start + DeliverySlots.promptness)
        #expect(slots.room(start)?.endpoints[endpoint]?.limit == 16)
        _ = slots.end(deliveries[1], isTaken: true, start + DeliverySlots.promptness + .milliseconds(1))
        #expect(slots.room(start)?.endpoints[endpoint]?.limit == 2)
    }

    @Test func `an endpoint that has taken all at once is known for a while, and one that never had so many is not`() {
        var slots = DeliverySlots(count: 64, perEndpoint: 2)
        let (busy, quiet) = (WebhookEndpoint.ID(), WebhookEndpoint.ID())
        let deliveries = [delivery(to: busy), delivery(to: busy), delivery(to: quiet)]
        _ = send(deliveries, &slots)
        for delivery in deliveries { _ = slots.end(delivery, isTaken: true, start) }
        slots.leave(deliveries)
        #expect(slots.room(start)?.endpoints == [busy: .init(count: 0, limit: 16)])
        #expect(slots.room(start + DeliverySlots.memoryOfPromptness)?.endpoints == [:])
    }

    @Test func `what waits behind a message that was not taken, or waits for long, is not sent`() {
        var slots = DeliverySlots(count: 64, perEndpoint: 1)
        let deliveries = (0..<3).map { [endpoint = WebhookEndpoint.ID()] _ in delivery(to: endpoint) }
        _ = send(deliveries, &slots)
        let refused = slots.end(deliveries[0], isTaken: false, start)
        #expect(refused.next == nil && refused.released.map(\.id) == deliveries[1...].map(\.id))
        let endpoint = WebhookEndpoint.ID()
        let (early, late) = ((0..<2).map { _ in delivery(to: endpoint) }, delivery(to: endpoint))
        _ = send(early, &slots)
        _ = send([late], &slots, at: start + .milliseconds(1))
        let following = slots.end(early[0], isTaken: true, start + DeliverySlots.turn + .milliseconds(1))
        #expect(following.next?.delivery.id == late.id && following.released.map(\.id) == [early[1].id])
    }

    @Test func `those that are claimed and were not sent are known`() {
        var slots = DeliverySlots(count: 64, perEndpoint: 1)
        let deliveries = (0..<2).map { [endpoint = WebhookEndpoint.ID()] _ in delivery(to: endpoint) }
        slots.take(deliveries, start)
        #expect(Set(slots.unsent.map(\.id)) == Set(deliveries.map(\.id)))
        let sent = slots.add(deliveries.map { ClaimedDelivery(delivery: $0) })
        #expect(slots.unsent.count == 2)
        for claimed in sent { slots.begin(claimed.delivery, start) }
        #expect(slots.unsent.map(\.id) == [deliveries[1].id])
        _ = slots.end(deliveries[0], isTaken: false, start)
        #expect(slots.unsent.map(\.id) == [deliveries[1].id])
    }

    @Test func `a receiver that has not answered for five seconds counts as failing, and as slow`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 1)
        let late = delivery()
        // The one that waits behind it is not late itself.
        _ = send([late, delivery(to: late.endpoint)], &slots)
        #expect(slots.room(start + DeliverySlots.patience)?.slow == [])
        let room = slots.room(start + DeliverySlots.patience + .milliseconds(1))
        #expect(room?.slow == [late.endpoint])
        #expect(room?.slotsForFailing == 5)
    }

    @Test func `it is slow for ten minutes after that, unless it answers in time before`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 8)
        let endpoint = WebhookEndpoint.ID()
        let late = delivery(to: endpoint)
        _ = send([late], &slots)
        let end = start + .seconds(6)
        _ = slots.end(late, isTaken: true, end)
        slots.leave([late])
        #expect(slots.room(end + .seconds(599))?.slow == [endpoint])
        var other = slots
        #expect(other.room(end + .seconds(600))?.slow == [])
        let quick = delivery(to: endpoint)
        _ = send([quick], &slots, at: end)
        _ = slots.end(quick, isTaken: true, end + .seconds(1))
        #expect(slots.room(end + .seconds(2))?.slow == [])
    }
}
