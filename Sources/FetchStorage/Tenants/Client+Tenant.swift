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

    /// The same, where no tenant means all.
    nonisolated func of(_ tenant: Tenant.ID?) -> any QueryRunner { tenant.map { of($0) } ?? self }
}
