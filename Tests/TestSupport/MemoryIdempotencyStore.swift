package import FetchJobs
import Synchronization

/// The requests under an Idempotency-Key of a test, in memory: the second form of ``IdempotencyStore``.
package final class MemoryIdempotencyStore: IdempotencyStore {
    private struct Key: Hashable {
        let tenant: Tenant.ID
        let text: String
    }

    private struct Stored {
        let request: IdempotentRequest
        let fingerprint: SHA256Digest
        var isRunning = true
        var response: [UInt8]?
    }

    private let requests = Mutex<[Key: Stored]>([:])

    package init() {}

    package func begin(
        _ idempotency: Idempotency, of tenant: Tenant.ID
    ) async throws(StoreError) -> IdempotentRequest.Beginning {
        requests.withLock { requests in
            let key = Key(tenant: tenant, text: idempotency.key)
            guard let known = requests[key] else {
                let request = IdempotentRequest(tenant: tenant, key: idempotency.key)
                requests[key] = Stored(request: request, fingerprint: idempotency.fingerprint)
                return .begun(request)
            }
            guard known.fingerprint == idempotency.fingerprint else { return .conflict }
            guard !known.isRunning else { return .running }
            return known.response.map { .ended($0) } ?? .endedAtLength
        }
    }

    package func end(_ request: IdempotentRequest, with response: [UInt8]?) async throws(StoreError) {
        requests.withLock { requests in
            let key = Key(tenant: request.tenant, text: request.key)
            guard requests[key]?.request == request else { return }
            requests[key]?.isRunning = false
            requests[key]?.response = response
        }
    }

    package func abandon(_ request: IdempotentRequest) async throws(StoreError) {
        requests.withLock { requests in
            let key = Key(tenant: request.tenant, text: request.key)
            if requests[key]?.request == request { requests[key] = nil }
        }
    }
}
