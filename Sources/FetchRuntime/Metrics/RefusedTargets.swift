package import FetchJobs

/// Tells the audit log and the metrics of targets that were refused (SEC-12).
package struct RefusedTargets: Sendable {
    private let counts: MetricFamily<Counter>
    private let audit: (any AuditLog)?

    package init(_ metrics: MetricsRegistry, audit: (any AuditLog)? = nil) {
        self.audit = audit
        counts = metrics.counter(.targetsRefused)
    }

    /// - Parameter tenant: Whose load it was; ``Tenant/ID/service`` where a tenant must not know of it.
    package func note(_ target: RefusedTarget, of tenant: Tenant.ID, by actor: AuditActor = .service) {
        counts[target.rule].add()
        audit?.note(AuditEvent(.refuseTarget, target.url, of: tenant, details: target.details, by: actor))
    }
}
