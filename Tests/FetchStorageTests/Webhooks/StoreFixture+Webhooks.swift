import FetchEngine
import FetchJobs
import FetchStorage
import HTTPTypes
import Postgres
import TestSupport

extension StoreFixture {
    func webhooks() throws -> PostgresWebhookStore {
        PostgresWebhookStore(client: database.client, ring: try KeyRing(KeyRing.generate()))
    }

    func endpoint(_ events: [WebhookEvent] = WebhookEvent.allCases) throws -> WebhookEndpoint {
        WebhookEndpoint(tenant: tenant, url: try URLRecord("https://receiver.example/hook"), events: events)
    }

    /// Deliveries that are due, about jobs that nobody asks for.
    func addDeliveries(_ count: Int, to endpoint: WebhookEndpoint) async throws {
        try await database.client.query(
            """
            INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, event)
            SELECT \(tenant), uuidv7(), \(endpoint.id), uuidv7(), 'job.finished'
            FROM generate_series(1, \(count))
            """
        )
    }

    func deliveryStates() async throws -> [String: Int64] {
        let rows = try await database.client.query("SELECT state, count(*) FROM webhook_deliveries GROUP BY state")
        return Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.decode(String.self, at: 0), try $0.decode(at: 1)) })
    }
}

extension DeliveryAttempt? {
    static func answered(_ status: Int, number: Int = 1, body: String = "") -> Self {
        .made(.answer(.init(status: status, headers: [.server: "x"], body: Array(body.utf8), isWhole: true)), number)
    }

    static var unanswered: Self { .made(.error(name: "timedOut"), 1) }

    private static func made(_ result: DeliveryAttempt.Result, _ number: Int) -> Self {
        DeliveryAttempt(
            number: number,
            // A time as precise as the database keeps it.
            startedAt: Timestamp(microseconds: 1_800_000_000_000_000),
            duration: .milliseconds(12),
            url: "https://receiver.example/hook",
            requestHeaders: .array { $0.headers([.contentType: "application/json"]) },
            result: result
        )
    }
}
