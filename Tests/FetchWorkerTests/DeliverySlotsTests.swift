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

    @Test func `there is room for what is not taken, and for none when all is`() {
        var slots = DeliverySlots(count: 2, perEndpoint: 8)
        let deliveries = [delivery(), delivery()]
        #expect(slots.room(start)?.slots == 2)
        slots.take(deliveries[0], start)
        #expect(slots.room(start)?.slots == 1)
        slots.take(deliveries[1], start)
        #expect(slots.room(start) == nil)
        slots.leave(deliveries[0], start)
        #expect(slots.room(start)?.slots == 1)
    }

    @Test func `a quarter is kept for endpoints that take what they are sent`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 8)
        #expect(slots.room(start)?.slotsForFailing == 6)
        for _ in 0..<6 { slots.take(delivery(isFailing: true), start) }
        #expect(slots.room(start)?.slotsForFailing == 0)
        #expect(slots.room(start)?.slots == 2)
    }

    @Test func `what is under way is counted by tenant`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 3)
        let endpoint = WebhookEndpoint.ID()
        slots.take(delivery(to: endpoint), start)
        slots.take(delivery(to: endpoint), start)
        slots.take(delivery(of: .second), start)
        let room = slots.room(start)
        #expect(room?.underWayOfTenants == [.first: 2, .second: 1])
        #expect(room?.slotsPerEndpoint == 3)
    }

    @Test func `a receiver that has not answered for five seconds counts as failing, and as slow`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 8)
        let late = delivery()
        slots.take(late, start)
        #expect(slots.room(start + DeliverySlots.patience)?.slow == [])
        let room = slots.room(start + DeliverySlots.patience + .milliseconds(1))
        #expect(room?.slow == [late.endpoint])
        #expect(room?.slotsForFailing == 5)
    }

    @Test func `it is slow for ten minutes after that, unless it answers in time before`() {
        var slots = DeliverySlots(count: 8, perEndpoint: 8)
        let endpoint = WebhookEndpoint.ID()
        let late = delivery(to: endpoint)
        slots.take(late, start)
        let end = start + .seconds(6)
        slots.leave(late, end)
        #expect(slots.room(end + .seconds(599))?.slow == [endpoint])
        var other = slots
        #expect(other.room(end + .seconds(600))?.slow == [])
        let quick = delivery(to: endpoint)
        slots.take(quick, end)
        slots.leave(quick, end + .seconds(1))
        #expect(slots.room(end + .seconds(2))?.slow == [])
    }
}
