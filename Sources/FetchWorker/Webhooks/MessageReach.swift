import FetchEngine
import FetchJobs
package import FetchRuntime

/// Where messages of the service may be sent, and who is told when one may not: webhooks, questions and the loads of
/// registered protocols.
package struct MessageReach: Sendable {
    private let egress: KnownEgress
    private let refusals: RefusedTargets

    package init(egress: KnownEgress, refusals: RefusedTargets) {
        self.egress = egress
        self.refusals = refusals
    }

    /// Has a message go by the policy of the moment.
    ///
    /// - Parameter tenant: Whose endpoint it goes to; ``Tenant/ID/service`` for an operator's.
    func narrow(_ configuration: inout SessionConfiguration, for tenant: Tenant.ID) {
        configuration.targetPolicy = egress.policy(of: tenant)
    }

    /// The configuration of a message in a session; nil when that of the session is the one, which costs nothing.
    func configuration(in session: Session, for tenant: Tenant.ID) -> SessionConfiguration? {
        guard session.configuration.targetPolicy != egress.policy(of: tenant) else { return nil }
        var configuration = session.configuration
        narrow(&configuration, for: tenant)
        return configuration
    }

    /// Notes that a message could not be sent, if that was refused.
    func note(_ error: LoadError, of tenant: Tenant.ID) {
        if let target = RefusedTarget(error) { refusals.note(target, of: tenant) }
    }
}
