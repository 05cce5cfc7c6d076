package import FetchJobs
import Synchronization

/// The rules of the service of a test, in memory: the second form of ``ServiceRuleStore``.
package final class MemoryServiceRuleStore: ServiceRuleStore {
    private let rules = Mutex(ServiceRules())

    package init() {}

    package func serviceRules() async throws(StoreError) -> ServiceRules { rules.withLock { $0 } }

    package func replaceServiceRules(
        _ version: Int64?, with new: [Rule]
    ) async throws(StoreError) -> ServiceRules? {
        rules.withLock { rules in
            guard version.map({ $0 == rules.version }) ?? true else { return nil }
            rules = ServiceRules(new, version: rules.version + 1)
            return rules
        }
    }
}
