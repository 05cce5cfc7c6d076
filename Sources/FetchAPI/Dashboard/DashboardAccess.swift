import FetchJobs
import HTTPTypes

/// Who may open a page of the dashboard, or send a form of it.
///
/// This is the one place that says it: the routes ask it before they answer, and the pages before they show a form.
enum DashboardAccess: Sendable, Equatable {
    /// Whoever can reach the service: signing in and out, and what these pages look like.
    case everyone
    /// Who is signed in with this role, or one that may do more.
    case role(Role)

    /// What a page or form asks for; nil for one that nobody has thought of, which nobody may use.
    static func of(_ method: HTTPRequest.Method, _ path: String) -> DashboardAccess? {
        table["\(method.rawValue) \(path)"]
    }

    /// Whether a role may use a page or form.
    static func allows(_ role: Role, _ method: HTTPRequest.Method, _ path: String) -> Bool {
        switch of(method, path) {
        case nil: false
        case .everyone: true
        case .role(let least): role >= least
        }
    }

    /// By method and path.
    static let table: [String: DashboardAccess] = [
        "GET /dashboard/style.css": .everyone,
        "GET /dashboard/app.js": .everyone,
        "GET /dashboard/link.js": .everyone,
        "POST /dashboard/theme": .everyone,
        "GET /dashboard/sign-in": .everyone,
        "POST /dashboard/sign-in": .everyone,
        "GET /dashboard/link": .everyone,
        "POST /dashboard/link": .everyone,
        "GET /dashboard/oidc": .everyone,
        "GET /dashboard/oidc/callback": .everyone,
        "POST /dashboard/sign-out": .everyone,
        "GET /dashboard": .role(.viewer),
        "GET /dashboard/jobs": .role(.viewer),
        "GET /dashboard/jobs/export": .role(.viewer),
        "GET /dashboard/jobs/actions": .role(.operator),
        "POST /dashboard/jobs/actions": .role(.operator),
        "GET /dashboard/jobs/new": .role(.operator),
        "POST /dashboard/jobs/new": .role(.operator),
        "GET /dashboard/jobs/{id}": .role(.viewer),
        "GET /dashboard/jobs/{id}/json": .role(.viewer),
        "GET /dashboard/jobs/{id}/har": .role(.viewer),
        "GET /dashboard/jobs/{id}/body": .role(.viewer),
        "GET /dashboard/jobs/{id}/events": .role(.viewer),
        "POST /dashboard/jobs/{id}/cancel": .role(.operator),
        "POST /dashboard/jobs/{id}/retry": .role(.operator),
        "POST /dashboard/jobs/{id}/suspend": .role(.operator),
        "POST /dashboard/jobs/{id}/resume": .role(.operator),
        "GET /dashboard/questions": .role(.viewer),
        "POST /dashboard/questions/{id}/answer": .role(.operator),
        "GET /dashboard/groups": .role(.viewer),
        "POST /dashboard/groups/{id}/close": .role(.operator),
        "GET /dashboard/schedules": .role(.admin),
        "GET /dashboard/schedules/{id}": .role(.admin),
        "POST /dashboard/schedules/{id}/run": .role(.admin),
        "POST /dashboard/schedules/{id}/pause": .role(.admin),
        "POST /dashboard/schedules/{id}/resume": .role(.admin),
        "GET /dashboard/sessions": .role(.admin),
        "GET /dashboard/sessions/{id}": .role(.admin),
        "POST /dashboard/sessions/{id}/invalidate": .role(.admin),
        "GET /dashboard/cookies": .role(.admin),
        "POST /dashboard/cookies/delete": .role(.admin),
        "GET /dashboard/credentials": .role(.admin),
        "POST /dashboard/credentials/{id}/delete": .role(.admin),
        "GET /dashboard/cache": .role(.admin),
        "GET /dashboard/cache/explain": .role(.admin),
        "POST /dashboard/cache/purge": .role(.admin),
        "GET /dashboard/webhooks": .role(.admin),
        "POST /dashboard/webhooks/{id}/rotate": .role(.admin),
        "POST /dashboard/webhooks/{id}/enable": .role(.admin),
        "POST /dashboard/webhooks/{id}/disable": .role(.admin),
        "POST /dashboard/webhooks/{id}/test": .role(.admin),
        "POST /dashboard/webhooks/{id}/replay": .role(.admin),
        "GET /dashboard/webhooks/deliveries": .role(.admin),
        "GET /dashboard/webhooks/deliveries/{id}": .role(.admin),
        "POST /dashboard/webhooks/deliveries/{id}/replay": .role(.admin),
        "GET /dashboard/nodes": .role(.admin),
        "GET /dashboard/tenants": .role(.admin),
        "GET /dashboard/usage": .role(.viewer),
        "GET /dashboard/system": .role(.admin),
        "GET /dashboard/keys": .role(.admin),
        "POST /dashboard/keys/{id}/revoke": .role(.admin),
        "GET /dashboard/hosts": .role(.viewer),
        "POST /dashboard/hosts/pause": .role(.operator),
        "POST /dashboard/hosts/resume": .role(.operator),
        "POST /dashboard/hosts/limits": .role(.operator),
        "POST /dashboard/hosts/remove": .role(.operator),
        "GET /dashboard/flows": .role(.viewer),
        "POST /dashboard/flows/pause": .role(.operator),
        "POST /dashboard/flows/resume": .role(.operator),
        "POST /dashboard/flows/limits": .role(.operator),
        "POST /dashboard/flows/remove": .role(.operator),
        "POST /dashboard/flows/skip": .role(.operator),
        "GET /dashboard/audit": .role(.admin),
    ]
}
