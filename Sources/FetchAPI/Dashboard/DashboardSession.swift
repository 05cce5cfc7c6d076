import FetchJobs
import HTTPTypes

/// A visitor of the dashboard who is signed in.
struct DashboardSession: Sendable {
    let cookie: SessionCookie
    let signIn: SignIn
    let secret: SessionSecret

    var tenant: Tenant.ID { signIn.tenant }

    /// The token of its forms.
    var formToken: String { cookie.formToken(secret) }

    /// Whether its role may use a page or form, by its path in ``DashboardAccess``.
    func may(_ method: HTTPRequest.Method, _ path: String) -> Bool {
        DashboardAccess.allows(signIn.role, method, path)
    }
}
