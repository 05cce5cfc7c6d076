import FetchJobs
import Synchronization

/// Checks that the webhook endpoints which jobs name exist, without asking for each job.
final class KnownEndpoints: Sendable {
    private struct Key: Hashable {
        let tenant: Tenant.ID
        let endpoint: WebhookEndpoint.ID
    }

    static let lifetime = Duration.seconds(5)
    static let maximumEntries = 10_000

    private let store: any WebhookStore
    private let known = Mutex<[Key: ContinuousClock.Instant]>([:])

    init(store: any WebhookStore) { self.store = store }

    /// Refuses an endpoint that the tenant does not have.
    func require(_ endpoint: WebhookEndpoint.ID?, of tenant: Tenant.ID) async throws {
        guard let endpoint else { return }
        let key = Key(tenant: tenant, endpoint: endpoint)
        let now = ContinuousClock.now
        if let seen = known.withLock({ $0[key] }), now - seen < Self.lifetime { return }
        guard try await store.endpoint(endpoint, of: tenant) != nil else {
            throw InvalidInput(pointer: "/webhook/endpoint", message: "is not an endpoint of yours")
        }
        known.withLock { known in
            if known.count >= Self.maximumEntries { known.removeAll() }
            known[key] = now
        }
    }

    func forget(_ endpoint: WebhookEndpoint.ID, of tenant: Tenant.ID) {
        known.withLock { _ = $0.removeValue(forKey: Key(tenant: tenant, endpoint: endpoint)) }
    }
}
