package import FetchEngine
package import FetchJobs
import Synchronization

/// The egress documents of a test, in memory: the second form of ``EgressStore``.
package final class MemoryEgressStore: EgressStore {
    private let documents = Mutex<[Tenant.ID: EgressDocument]>([:])

    package init() {}

    package func egress(of owner: Tenant.ID) async throws(StoreError) -> EgressDocument {
        documents.withLock { $0[owner] ?? EgressDocument() }
    }

    package func egress(
        besides known: [Tenant.ID: Int64]
    ) async throws(StoreError) -> [Tenant.ID: EgressDocument] {
        documents.withLock { $0.filter { owner, document in known[owner] != document.version } }
    }

    package func replaceEgress(
        of owner: Tenant.ID, named name: String?, _ version: Int64?, with rules: TargetRules?
    ) async throws(StoreError) -> EgressDocument? {
        documents.withLock { documents in
            let current = documents[owner]?.version ?? 0
            guard version ?? current == current else { return nil }
            let document = EgressDocument(rules, version: current + 1)
            documents[owner] = document
            return document
        }
    }
}
