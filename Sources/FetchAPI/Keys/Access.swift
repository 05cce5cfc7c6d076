import FetchJobs
import HTTPTypes

/// What an operation asks of a key: a scope, and how it keeps to what the key is bound to.
///
/// This is the one place that says it; `openapi.yaml` says the scopes too, and a test compares them.
struct Access: Sendable, Equatable {
    /// What of a tenant an operation reaches, which decides what it does with a key that is bound.
    enum Reach: Sendable {
        /// Nothing that belongs to a session or a host, or what the operation itself holds against the key.
        case own
        /// A submission, which the operation fits to the bounds of the key.
        case submission
        /// The job that the path names.
        case job
        /// The same, and it may say where the job loads from: not for keys that are bound to hosts.
        case jobAndTarget
        /// The session that the path names: not for keys that are bound to hosts.
        case session
        /// The session that the query names: not for keys that are bound to hosts.
        case sessionOfQuery
        /// Whatever the tenant has: not for keys that are bound to a session or to hosts.
        case tenant
        /// Work that nobody counts: not for keys with a bound of any kind.
        case work
    }

    let scope: Scope
    let reach: Reach

    /// What an operation asks; nil for one that nobody has thought of, which no key may use.
    static func of(_ method: HTTPRequest.Method, _ path: String) -> Access? { table["\(method.rawValue) \(path)"] }

    /// By method and path.
    static let table: [String: Access] = Dictionary(
        uniqueKeysWithValues: operations.flatMap { scope, reach, names in
            names.map { ($0, Access(scope: scope, reach: reach)) }
        })

    private static let operations: [(Scope, Reach, [String])] = [
        (
            .readJobs, .job,
            [
                "GET /v1/jobs/{id}", "GET /v1/jobs/{id}/body", "HEAD /v1/jobs/{id}/body", "GET /v1/jobs/{id}/events",
                "POST /v1/jobs/{id}/events/token", "GET /v1/jobs/{id}/har", "GET /v1/jobs/{id}/explain",
                "GET /v1/jobs/{id}/questions", "GET /v2/messages/{id}", "GET /v2/dlq/{id}",
            ]
        ),
        (.readJobs, .sessionOfQuery, ["GET /v1/jobs", "GET /v1/jobs/export"]),
        (.readJobs, .submission, ["POST /v1/explain"]),
        (
            .readJobs, .tenant,
            [
                "GET /v1/questions", "GET /v1/questions/{id}", "GET /v1/groups", "GET /v1/groups/{id}", "GET /v1/hosts",
                "GET /v1/hosts/{host}", "GET /v1/flows", "GET /v1/flows/{key}", "GET /v1/queue", "GET /v1/stats",
                "GET /v1/usage", "GET /v1/blobs/{id}", "HEAD /v1/blobs/{id}",
                "GET /v2/queues", "GET /v2/queues/{queue}", "GET /v2/dlq", "GET /v2/topics", "GET /v2/topics/{name}",
                "GET /v2/flowControl", "GET /v2/flowControl/{key}", "GET /v2/globalParallelism",
                "GET /v2/logs", "GET /v2/events",
            ]
        ),
        (.readJobs, .own, ["GET /v1/protocols"]),
        (
            .writeJobs, .submission,
            [
                "POST /v1/jobs", "POST /v1/jobs/batch", "POST /v2/publish/{destination}",
                "POST /v2/enqueue/{queue}/{destination}", "POST /v2/batch",
            ]
        ),
        (
            .writeJobs, .job,
            [
                "PATCH /v1/jobs/{id}", "DELETE /v1/jobs/{id}", "PUT /v1/jobs/{id}/body", "POST /v1/jobs/{id}/cancel",
                "POST /v1/jobs/{id}/suspend", "POST /v1/jobs/{id}/resume", "POST /v1/jobs/{id}/retry",
                "DELETE /v2/messages/{id}", "DELETE /v2/dlq/{id}", "POST /v2/dlq/retry/{id}",
            ]
        ),
        (
            .writeJobs, .work,
            ["POST /v1/jobs/actions", "DELETE /v2/messages", "DELETE /v2/dlq", "POST /v2/dlq/retry"]
        ),
        (
            .writeJobs, .own,
            [
                "POST /v1/blobs", "HEAD /v1/uploads/{id}", "PATCH /v1/uploads/{id}", "DELETE /v1/uploads/{id}",
            ]
        ),
        (
            .writeJobs, .tenant,
            [
                "DELETE /v1/blobs/{id}", "POST /v1/groups", "DELETE /v1/groups/{id}", "POST /v1/groups/{id}/close",
                "DELETE /v2/topics/{name}", "POST /v2/topics/{name}/endpoints", "DELETE /v2/topics/{name}/endpoints",
            ]
        ),
        (.questions, .jobAndTarget, ["POST /v1/jobs/{id}/questions/{question}"]),
        (.questions, .tenant, ["POST /v1/questions/actions"]),
        (
            .limits, .tenant,
            [
                "PUT /v1/hosts/{host}", "DELETE /v1/hosts/{host}", "POST /v1/hosts/{host}/pause",
                "POST /v1/hosts/{host}/resume", "POST /v1/hosts/{host}/drain", "PUT /v1/flows/{key}",
                "DELETE /v1/flows/{key}", "POST /v1/flows/{key}/pause", "POST /v1/flows/{key}/resume",
                "POST /v1/flows/{key}/drain", "POST /v1/flows/{key}/skip", "POST /v1/queue/pause",
                "POST /v1/queue/resume", "POST /v1/queue/drain", "POST /v2/queues", "DELETE /v2/queues/{queue}",
                "POST /v2/queues/{queue}/pause", "POST /v2/queues/{queue}/resume",
                "POST /v2/flowControl/{key}/pause", "POST /v2/flowControl/{key}/resume",
                "POST /v2/flowControl/{key}/pin", "POST /v2/flowControl/{key}/unpin",
                "POST /v2/flowControl/{key}/resetRate",
            ]
        ),
        (
            .schedules, .tenant,
            [
                "GET /v1/schedules", "GET /v1/schedules/{id}", "DELETE /v1/schedules/{id}",
                "POST /v1/schedules/{id}/pause", "GET /v2/schedules", "GET /v2/schedules/{destination}",
                "DELETE /v2/schedules/{destination}", "PATCH /v2/schedules/{id}/pause", "POST /v2/schedules/{id}/pause",
            ]
        ),
        (
            .schedules, .work,
            [
                "POST /v1/schedules", "PATCH /v1/schedules/{id}", "POST /v1/schedules/{id}/resume",
                "POST /v1/schedules/{id}/run", "POST /v2/schedules/{destination}",
                "PATCH /v2/schedules/{id}/resume", "POST /v2/schedules/{id}/resume",
            ]
        ),
        (
            .sessions, .session,
            [
                "GET /v1/sessions/{id}", "DELETE /v1/sessions/{id}", "GET /v1/sessions/{id}/events",
                "POST /v1/sessions/{id}/reset", "POST /v1/sessions/{id}/acknowledge",
                "POST /v1/sessions/{id}/invalidate", "POST /v1/sessions/{id}/snapshots",
                "GET /v1/sessions/{id}/answers",
                "DELETE /v1/sessions/{id}/answers", "DELETE /v1/sessions/{id}/answers/{question}",
            ]
        ),
        (
            .sessions, .sessionOfQuery,
            [
                "GET /v1/cookies", "DELETE /v1/cookies", "GET /v1/cookies/export", "GET /v1/cache", "DELETE /v1/cache",
                "GET /v1/cache/explain",
            ]
        ),
        (
            .sessions, .tenant,
            [
                "POST /v1/sessions", "GET /v1/sessions", "GET /v1/snapshots/{id}", "DELETE /v1/snapshots/{id}",
                "POST /v1/cookies", "POST /v1/cookies/import", "POST /v1/cache/entries", "GET /v1/cache/entries/{id}",
                "DELETE /v1/cache/entries/{id}", "GET /v1/cache/entries/{id}/body",
            ]
        ),
        (.sessions, .own, ["POST /v1/cookies/parse"]),
        (.credentials, .sessionOfQuery, ["GET /v1/credentials", "DELETE /v1/credentials"]),
        (
            .credentials, .tenant,
            [
                "POST /v1/credentials", "GET /v1/credentials/{id}", "DELETE /v1/credentials/{id}",
                "GET /v1/credentials/uses",
            ]
        ),
        (
            .webhooks, .tenant,
            [
                "POST /v1/webhooks/endpoints", "GET /v1/webhooks/endpoints", "GET /v1/webhooks/endpoints/{id}",
                "PATCH /v1/webhooks/endpoints/{id}", "DELETE /v1/webhooks/endpoints/{id}",
                "GET /v1/webhooks/endpoints/{id}/events", "GET /v1/events",
                "POST /v1/webhooks/endpoints/{id}/rotate", "POST /v1/webhooks/endpoints/{id}/test",
                "GET /v1/webhooks/deliveries",
                "POST /v1/webhooks/deliveries/replay", "GET /v1/webhooks/deliveries/{id}",
                "POST /v1/webhooks/deliveries/{id}/replay", "GET /v2/keys", "POST /v2/keys/rotate",
            ]
        ),
        (
            .keys, .own,
            [
                "POST /v1/keys", "GET /v1/keys/{id}", "DELETE /v1/keys/{id}", "POST /v1/keys/{id}/rotate",
            ]
        ),
        (.keys, .tenant, ["GET /v1/keys"]),
        (.audit, .tenant, ["GET /v1/audit"]),
        (
            .admin, .work,
            [
                "GET /v1/admin/tenants", "GET /v1/admin/tenants/{name}", "PATCH /v1/admin/tenants/{name}",
                "GET /v1/admin/tenants/{name}/egress", "PUT /v1/admin/tenants/{name}/egress",
                "DELETE /v1/admin/tenants/{name}/egress", "GET /v1/admin/egress", "PUT /v1/admin/egress",
                "GET /v1/admin/tenants/{name}/usage",
                "GET /v1/admin/rules", "PUT /v1/admin/rules", "GET /v1/admin/protocols",
                "GET /v1/admin/protocols/{name}",
                "PUT /v1/admin/protocols/{name}", "DELETE /v1/admin/protocols/{name}",
                "POST /v1/admin/protocols/{name}/rotate", "GET /v1/admin/keys", "POST /v1/admin/keys",
                "GET /v1/admin/audit", "GET /v1/admin/audit/verify", "GET /v1/admin/keys/{id}",
                "DELETE /v1/admin/keys/{id}", "POST /v1/admin/keys/{id}/rotate",
                "POST /v1/admin/token-revocations", "GET /v1/admin/token-revocations",
                "DELETE /v1/admin/token-revocations/{id}",
            ]
        ),
    ]
}
