import FetchJobs
import Postgres

/// An Idempotency-Key that came with a request to make something other than a job.
///
/// It lies among those of jobs and is forgotten with them; clients' own keys have no spaces, so it is none of theirs.
struct CreationKey {
    let text: String?
    let fingerprint: [UInt8]?

    init(_ idempotency: Idempotency?, of kind: String) {
        text = idempotency.map { "\(kind) \($0.key)" }
        fingerprint = idempotency?.fingerprint.bytes
    }

    /// Goes behind a `WITH`, and stores the key unless it is there.
    func storing<Kind>(for id: Identifier<Kind>, of tenant: Tenant.ID) -> Query {
        """
        new_key AS (
            INSERT INTO idempotency_keys (tenant_id, key, fingerprint, created_id)
            SELECT \(tenant), \(text), \(fingerprint), \(id)
            WHERE \(text)::text IS NOT NULL
            ON CONFLICT DO NOTHING
            RETURNING created_id
        )
        """
    }

    /// Whether what was asked for is to be made: there is no key, or it is new.
    var isNew: Query { "(\(text)::text IS NULL OR EXISTS (SELECT FROM new_key))" }

    /// Whether the row `k` of `idempotency_keys` is that of the same request.
    func isSame(in tenant: Tenant.ID) -> Query {
        "k.tenant_id = \(tenant) AND k.key = \(text) AND k.fingerprint = \(fingerprint)"
    }
}
