package import FetchJobs
import Synchronization

/// Tells those of this node who wait for a tenant's next question that one was asked here.
package final class AskedQuestions: Sendable {
    /// One who waits.
    package final class Listener: Sendable {
        /// Is signalled by each question; also by whoever wants the wait to end.
        package let condition = Condition()
        fileprivate let tenant: Tenant.ID

        fileprivate init(_ tenant: Tenant.ID) { self.tenant = tenant }
    }

    private let listeners = Mutex<[Tenant.ID: [ObjectIdentifier: Listener]]>([:])

    package init() {}

    package func listen(to tenant: Tenant.ID) -> Listener {
        let listener = Listener(tenant)
        listeners.withLock { $0[tenant, default: [:]][ObjectIdentifier(listener)] = listener }
        return listener
    }

    package func leave(_ listener: Listener) {
        listeners.withLock { listeners in
            listeners[listener.tenant]?[ObjectIdentifier(listener)] = nil
            if listeners[listener.tenant]?.isEmpty == true { listeners[listener.tenant] = nil }
        }
    }

    package func note(_ tenant: Tenant.ID) {
        let all = listeners.withLock { $0[tenant].map { Array($0.values) } ?? [] }
        for listener in all { listener.condition.signal() }
    }
}
