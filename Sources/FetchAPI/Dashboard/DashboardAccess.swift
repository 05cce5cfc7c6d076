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
        "GET /dashboard/jobs/{id}": .role(.viewer),
        "POST /dashboard/jobs/{id}/cancel": .role(.operator),
        "POST /dashboard/jobs/{id}/retry": .role(.operator),
        "GET /dashboard/questions": .role(.viewer),
        "POST /dashboard/questions/{id}/answer": .role(.operator),
        "GET /dashboard/hosts": .role(.viewer),
        "POST /dashboard/hosts/pause": .role(.operator),
        "POST /dashboard/hosts/resume": .role(.operator),
        "GET /dashboard/flows": .role(.viewer),
        "POST /dashboard/flows/pause": .role(.operator),
        "POST /dashboard/flows/resume": .role(.operator),
        "GET /dashboard/audit": .role(.admin),
    ]
}
