import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The webhooks in PostgreSQL and those in memory keep the same promises.
@Suite struct WebhookStoreContractTests {
    @Test("the webhooks in memory keep the promise", arguments: WebhookStoreContract.clauses)
    func memory(_ clause: Clause<WebhookStoreContract.Subject>) async throws {
        let store = MemoryWebhookStore()
        let subject = WebhookStoreContract.Subject(store: store) { delivery, state in
            store.put(StoredDelivery(delivery, state: state, nextAttemptAt: .now))
        }
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the webhooks in PostgreSQL keep the promise", arguments: WebhookStoreContract.clauses)
    func postgres(_ clause: Clause<WebhookStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let client = fixture.database.client
            let subject = WebhookStoreContract.Subject(store: try fixture.webhooks()) { delivery, state in
                let (job, session) = (delivery.subject.job, delivery.subject.session)
                try await client.query(
                    """
                    INSERT INTO webhook_deliveries (
                        tenant_id, id, endpoint_id, job_id, session_id, event, created_at, state
                    )
                    VALUES (
                        \(delivery.tenant), \(delivery.id), \(delivery.endpoint), \(job), \(session), \(delivery.event),
                        \(delivery.createdAt), \(state.rawValue)
                    )
                    """)
            }
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}

extension WebhookDelivery.Subject {
    fileprivate var job: Job.ID? { if case .job(let id) = self { id } else { nil } }
    fileprivate var session: TenantSession.ID? { if case .session(let id) = self { id } else { nil } }
}
