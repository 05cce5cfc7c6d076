package import FetchJobs
import Synchronization

/// Wakes the requests of this node that wait for the next question of a tenant.
package final class AskedQuestions: Sendable {
    /// A waiting request.
    package final class Listener: Sendable {
        /// Signalled by each question, and when the wait must end.
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
