import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct WebhookStoreTests {
    /// A delivery that waits, made by a job that has finished.
    private func delivery(_ fixture: StoreFixture, _ store: PostgresWebhookStore) async throws -> WebhookDelivery {
        let endpoint = try fixture.endpoint()
        try await store.add(endpoint)
        let job = try NewJob.make(more: #", "webhook": {"endpoint": "\#(endpoint.id)"}"#)
        _ = try await fixture.store().enqueue([job])
        let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
        #expect(try await fixture.queue().settle(claimed, .make()))
        let deliveries = try await store.claimDeliveries(.init(slots: 10))
        #expect(deliveries.map(\.subject) == [.job(job.id)])
        return try #require(deliveries.first)
    }

    // Proves: SEC-50.
    @Test func `an endpoint keeps its secret, sealed`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let endpoint = try fixture.endpoint()
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
            let store = try fixture.webhooks()
            let delivery = try await delivery(fixture, store)
            #expect(delivery.event == .jobFinished && delivery.attempts == 0)
            #expect(try await store.claimDeliveries(.init(slots: 10)).isEmpty)
            _ = try await store.settle(delivery, .delivered, .answered(204))
            #expect(try await store.nextDelivery() == nil)
        }
    }

    // The connection is killed where the statement has written one and not the other.
    // Proves: REL-1.
    @Test(arguments: ["results", "webhook_deliveries"])
    func `the end of a job and its event are stored together or not at all`(_ table: String) async throws {
        try await StoreFixture.with { fixture in
            let (store, client) = (try fixture.webhooks(), fixture.database.client)
            let endpoint = try fixture.endpoint()
            try await store.add(endpoint)
            let job = try NewJob.make(more: #", "webhook": {"endpoint": "\#(endpoint.id)"}"#)
            _ = try await fixture.store().enqueue([job])
            let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
            try await client.query(
                """
                CREATE FUNCTION tear() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                BEGIN
                    PERFORM pg_terminate_backend(pg_backend_pid());
                    RETURN NEW;
                END
                $$
                """)
            // Over Citus a distributed table has none, but its shards may.
            func onTable(_ before: String, _ after: String = "") async throws {
                try await client.query(
                    TestDatabase.hasCitus && table == "results"
                        ? "SELECT run_command_on_shards('results', \(before + "%s" + after))"
                        : Query(verbatim: before + table + after))
            }
            try await onTable("CREATE TRIGGER tear BEFORE INSERT ON ", " FOR EACH ROW EXECUTE FUNCTION tear()")
            await #expect(throws: StoreError.self) { try await fixture.queue().settle(claimed, .make()) }
            #expect(try await fixture.count("results") == 0)
            #expect(try await fixture.count("webhook_deliveries") == 0)
            #expect(try await fixture.count("queue") == 1)
            try await onTable("DROP TRIGGER tear ON ")
            #expect(try await fixture.queue().settle(claimed, .make()))
            #expect(try await fixture.count("results") == 1)
            #expect(try await store.claimDeliveries(.init(slots: 10)).map(\.subject) == [.job(job.id)])
        }
    }

    // Proves: SEC-36.
    @Test func `a failed try is due again after its wait, under the same id`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let delivery = try await delivery(fixture, store)
            _ = try await store.settle(delivery, .again(after: .zero), .answered(500))
            let again = try #require(try await store.claimDeliveries(.init(slots: 10)).first)
            #expect(again.id == delivery.id && again.attempts == 1)
            _ = try await store.settle(again, .again(after: .seconds(3600)), .unanswered)
            #expect(try await store.claimDeliveries(.init(slots: 10)).isEmpty)
            #expect(try await store.nextDelivery() != nil)
        }
    }

    @Test func `a late verdict of an earlier try changes nothing`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let first = try await delivery(fixture, store)
            _ = try await store.settle(first, .again(after: .zero), .answered(500))
            let second = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
            _ = try await store.settle(first, .abandoned, .answered(410))
            _ = try await store.settle(second, .delivered, .answered(200))
            let rows = try await fixture.database.client.query("SELECT state FROM webhook_deliveries")
            #expect(try rows.map { try $0.decode(String.self, at: 0) } == ["delivered"])
        }
    }

    // Proves: SEC-36.
    @Test func `what an endpoint has become is read as it was written, and not over another's change`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let first = try fixture.endpoint()
            try await store.add(first)
            var changed = SecretRotation().applied(to: first, at: .now)
            changed.url = try URLRecord("https://receiver.example/other")
            changed.events = [.jobFinished]
            let now = try #require(try await store.update(changed, rotation: "key 86400.0"))
            #expect(try await store.update(changed, rotation: nil) == nil)
            let read = try #require(try await store.endpoint(first.id, of: fixture.tenant))
            #expect(read.version == 2 && now.version == 2)
            #expect(read.url == changed.url && read.events == [.jobFinished])
            #expect(read.rotation == "key 86400.0")
            // Both sign until the overlap is over.
            #expect(read.secrets(at: .now) == [changed.secret, first.secret])
            let later = Timestamp.now.advanced(by: .seconds(86_401))
            #expect(read.secrets(at: later) == [changed.secret])
            // A second rotation drops the oldest.
            let second = SecretRotation().applied(to: read, at: .now)
            #expect(second.secrets(at: .now) == [second.secret, changed.secret])
        }
    }

    @Test func `of endpoints that become the default one at the same time one is it`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<24 {
                    group.addTask {
                        var endpoint = WebhookEndpoint(tenant: fixture.tenant, url: nil, events: WebhookEvent.ends)
                        endpoint.isDefault = true
                        try await store.add(endpoint)
                    }
                }
                try await group.waitForAll()
            }
            let endpoints = try await store.endpoints(of: fixture.tenant, after: nil, limit: 100)
            #expect(endpoints.count == 24 && endpoints.filter(\.isDefault).count == 1)
        }
    }

    @Test func `removing an endpoint ends what was on its way`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
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
