import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The deliveries in PostgreSQL and those in memory keep the same promises.
@Suite struct DeliveryQueueContractTests {
    @Test("the deliveries in memory keep the promise", arguments: DeliveryQueueContract.clauses)
    func memory(_ clause: Clause<DeliveryQueueContract.Subject>) async throws {
        let clock = ManualClock()
        let store = MemoryWebhookStore { clock.date }
        let subject = DeliveryQueueContract.Subject(queue: store, store: store) { clock.advance(by: $0) }
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the deliveries in PostgreSQL keep the promise", arguments: DeliveryQueueContract.clauses)
    func postgres(_ clause: Clause<DeliveryQueueContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let (store, client) = (try fixture.webhooks(), fixture.database.client)
            let subject = DeliveryQueueContract.Subject(queue: store, store: store) { time in
                try await client.query(
                    """
                    UPDATE webhook_deliveries
                    SET next_attempt_at = next_attempt_at - \(time), last_attempt_at = last_attempt_at - \(time)
                    """)
                try await client.query("UPDATE webhook_endpoints SET failing_since = failing_since - \(time)")
            }
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
