import FetchJobs
import Postgres

// What limiters need to know of jobs and results where these are on several servers: the queue and the flows keep it, so
// that a decision needs no other server.

extension Query {
    /// Where the hosts of the running jobs of a tenant are, with the columns `tenant_id`, `id` and `host`.
    static func hosts(of tenant: Tenant.ID, _ isSharded: Bool) -> Query {
        isSharded
            ? """
            (
                SELECT tenant_id, job_id AS id, host
                FROM queue
                WHERE tenant_id = \(tenant) AND node_id IS NOT NULL
            )
            """ : "jobs"
    }

    /// Where it is found whether the job that stops a flow has still failed, with the columns `tenant_id`, `job_id` and
    /// `state`.
    ///
    /// On several servers, what redrives or removes a job takes its row away from `flow_blocks` at once.
    static func failures(_ isSharded: Bool) -> Query {
        isSharded ? "(SELECT tenant_id, job_id, 'failed' AS state FROM flow_blocks)" : "results"
    }
}
