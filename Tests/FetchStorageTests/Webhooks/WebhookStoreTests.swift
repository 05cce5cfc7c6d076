import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct WebhookStoreTests {
    private func store(_ fixture: StoreFixture) throws -> PostgresWebhookStore {
        PostgresWebhookStore(client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
    }

    private func endpoint(_ fixture: StoreFixture) throws -> WebhookEndpoint {
        WebhookEndpoint(
            tenant: fixture.tenant,
            url: try URLRecord("https://receiver.example/hook"),
            events: WebhookEvent.allCases
        )
    }

    /// A delivery that waits, made by a job that has finished.
    private func delivery(_ fixture: StoreFixture, _ store: PostgresWebhookStore) async throws -> WebhookDelivery {
        let endpoint = try endpoint(fixture)
        try await store.add(endpoint)
        let job = try NewJob.make(more: #", "webhook": {"endpoint": "\#(endpoint.id)"}"#)
        _ = try await fixture.store().enqueue([job])
        let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
        #expect(try await fixture.queue().settle(claimed, .make()))
        let deliveries = try await store.claimDeliveries(limit: 10)
        #expect(deliveries.map(\.subject) == [.job(job.id)])
        return try #require(deliveries.first)
    }

    @Test func `an endpoint keeps its secret, sealed`() async throws {
        try await StoreFixture.with { fixture in
            let store = try store(fixture)
            let endpoint = try endpoint(fixture)
            try await store.add(endpoint)
            #expect(try await store.endpoint(endpoint.id, of: fixture.tenant)?.secret == endpoint.secret)
            #expect(try await store.endpoint(endpoint.id, of: Tenant.ID(rawValue: 2)) == nil)
            let rows = try await fixture.database.client.query("SELECT sealed_secret FROM webhook_endpoints")
            let sealed = try #require(try rows.first?.decode([UInt8].self, at: 0))
            #expect(!sealed.contains(endpoint.secret.bytes))
        }
    }

    @Test func `a finished job's event is delivered once it was taken`() async throws {
        try await StoreFixture.with { fixture in
            let store = try store(fixture)
            let delivery = try await delivery(fixture, store)
            #expect(delivery.event == .jobFinished && delivery.attempts == 0)
            #expect(try await store.claimDeliveries(limit: 10).isEmpty)
            try await store.settle(delivery, .delivered, status: 204)
            #expect(try await store.nextDelivery() == nil)
        }
    }

    @Test func `a failed try is due again after its wait, under the same id`() async throws {
        try await StoreFixture.with { fixture in
            let store = try store(fixture)
            let delivery = try await delivery(fixture, store)
            try await store.settle(delivery, .again(after: .zero), status: 500)
            let again = try #require(try await store.claimDeliveries(limit: 10).first)
            #expect(again.id == delivery.id && again.attempts == 1)
            try await store.settle(again, .again(after: .seconds(3600)), status: nil)
            #expect(try await store.claimDeliveries(limit: 10).isEmpty)
            #expect(try await store.nextDelivery() != nil)
        }
    }

    @Test func `a late verdict of an earlier try changes nothing`() async throws {
        try await StoreFixture.with { fixture in
            let store = try store(fixture)
            let first = try await delivery(fixture, store)
            try await store.settle(first, .again(after: .zero), status: 500)
            let second = try #require(try await store.claimDeliveries(limit: 1).first)
            try await store.settle(first, .abandoned, status: 410)
            try await store.settle(second, .delivered, status: 200)
            let rows = try await fixture.database.client.query("SELECT state FROM webhook_deliveries")
            #expect(try rows.map { try $0.decode(String.self, at: 0) } == ["delivered"])
        }
    }

    @Test func `removing an endpoint ends what was on its way`() async throws {
        try await StoreFixture.with { fixture in
            let store = try store(fixture)
            let delivery = try await delivery(fixture, store)
            #expect(try await store.remove(delivery.endpoint, of: fixture.tenant))
            #expect(try await store.remove(delivery.endpoint, of: fixture.tenant) == false)
            #expect(try await store.nextDelivery() == nil)
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ other: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: other) }
    }
}
