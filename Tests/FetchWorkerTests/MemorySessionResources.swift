import FetchEngine
import FetchJobs
import FetchRuntime
import Synchronization

/// What the sessions of a test keep, in memory.
final class MemorySessionResources: SessionResources {
    private let cookies = MemoryCookieStorage()
    private let credentials = MemoryCredentialStorage()
    private let responses = MemoryResponseCache()

    func cookieStorage(of session: SessionAddress) -> any CookieStorage { cookies }

    func credentialStorage(of session: SessionAddress) -> any CredentialStorage { credentials }

    nonisolated(nonsending) func holdsIdentities(of session: SessionAddress) async -> Bool { false }

    func openCredential(
        _ id: StoredCredential.ID, of tenant: Tenant.ID, for job: Job.ID?
    ) async throws(StoreError) -> (credential: Credential, space: ProtectionSpace)? { nil }

    func cache(of session: SessionAddress) -> any ResponseCache { responses }

    func answerMemory(of session: SessionAddress) -> AnswerMemory { AnswerMemory { (0, []) } }

    func require(_ version: StoresVersion, of session: SessionAddress) {}
}

/// The deliveries of a tenant that has no endpoint.
struct NoDeliveries: DeliveryQueue {
    func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookEndpoint? { nil }
    func add(_ events: [RunEvent]) async throws(StoreError) {}
    func claimDeliveries(_ room: DeliveryRoom) async throws(StoreError) -> [WebhookDelivery] { [] }
    func settle(
        _ delivery: WebhookDelivery, _ verdict: DeliveryVerdict, _ attempt: DeliveryAttempt?
    ) async throws(StoreError) -> Bool { false }
    func abandonDeliveries(to endpoint: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) {}
    func nextDelivery() async throws(StoreError) -> Timestamp? { nil }
}

/// Nothing bounds anybody's bandwidth.
struct NoBandwidths: BandwidthSource {
    func bandwidths(of job: ClaimedJob) -> [Bandwidth] { [] }
}
