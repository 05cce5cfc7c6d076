package import FetchJobs
package import Postgres

extension Client {
    /// The connections for statements that serve one tenant.
    ///
    /// They run in the role `fetchd_tenant`, whose row-level security shows and takes rows of this tenant only: a
    /// condition that a statement lacks gives nothing away (SEC-41). Statements that serve several tenants at once,
    /// batches and upkeep, run in the role of the service.
    package nonisolated func of(_ tenant: Tenant.ID) -> ScopedClient {
        scoped(
            by: """
                -- tenants.scope
                SELECT set_config('role', 'fetchd_tenant', true), set_config('fetchd.tenant', \(tenant)::text, true)
                """)
    }

    /// The same for statements that read what several servers may share: those do not know the settings of a
    /// transaction, by which row-level security goes, and there the statement runs in the role of the service.
    nonisolated func ofJobs(of tenant: Tenant.ID) -> any TransactionRunner { isSharded ? self : of(tenant) }

    /// The same, where no tenant means all.
    nonisolated func of(_ tenant: Tenant.ID?) -> any QueryRunner { tenant.map { of($0) } ?? self }
}
