package import FetchJobs
import Postgres

extension AuditAction: PostgresValue, PostgresArrayElement {}

extension AuditActor.Kind: PostgresValue, PostgresArrayElement {}

extension Query {
    /// An entry of the audit log for what the statement does, as `audited`, by the actor of this task.
    ///
    /// Goes behind a `WITH`. It takes no lock: no two statements wait for each other because of it.
    ///
    /// - Parameter done: A part before it with a row for each thing that was done; without any there is no entry.
    static func audited(
        _ action: AuditAction, _ object: String? = nil, of chain: Tenant.ID = .service, details: RawJSON? = nil,
        when done: Query
    ) -> Query {
        let event = AuditEvent(action, object, of: chain, details: details)
        return """
            audited AS (
                INSERT INTO audit_entries (
                    tenant_id, id, actor, key, sign_in, client, request, action, object, details, count
                )
                SELECT \(event.chain), \(AuditEntry.ID()), \(event.actor.kind), \(event.actor.key), \(event.actor.signIn),
                    \(event.actor.client), \(event.actor.request), \(event.action), \(event.object), \(event.details),
                    done.count
                FROM (SELECT count(*) AS count FROM \(done)) AS done
                WHERE done.count > 0
            )
            """
    }

    /// The same in the chain of a tenant that the statement itself finds.
    ///
    /// - Parameter done: A part before it with one row when something was done, which has the column `tenant_id`.
    static func audited(
        _ action: AuditAction, _ object: String? = nil, details: RawJSON? = nil, ofTenantIn done: Query
    ) -> Query {
        // No tenant's number, but it is not the service's.
        let event = AuditEvent(action, object, of: Tenant.ID(rawValue: -1), details: details)
        return """
            audited AS (
                INSERT INTO audit_entries (
                    tenant_id, id, actor, key, sign_in, client, request, action, object, details, count
                )
                SELECT done.tenant_id, \(AuditEntry.ID()), \(event.actor.kind), \(event.actor.key), \(event.actor.signIn),
                    \(event.actor.client), \(event.actor.request), \(event.action), \(event.object), \(event.details), 1
                FROM (SELECT tenant_id FROM \(done) LIMIT 1) AS done
            )
            """
    }
}

extension RawJSON {
    /// The details of an entry that is about several things: the first of their ids.
    static func ids<Kind>(_ ids: [Identifier<Kind>]) -> RawJSON? {
        guard ids.count > 1 else { return nil }
        return RawJSON(
            JSONWriter.object { writer in
                writer.member("ids", array: { writer in for id in ids.prefix(100) { writer.value(id.description) } })
            })
    }
}
