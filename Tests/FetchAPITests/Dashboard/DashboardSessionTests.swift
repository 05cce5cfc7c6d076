import FetchJobs
import Testing

@testable import FetchAPI

@Suite struct DashboardSessionTests {
    private let secret = SessionSecret()
    private let key = APIKey(
        id: APIKey.ID(), tenant: Tenant.ID(rawValue: 7), spec: APIKeySpec(name: "k"), createdAt: .now)

    // Proves: SEC-70.
    @Test func `a session ends after 8 hours, and after 30 minutes without use`() throws {
        let session = DashboardSession(key: key, now: 1000)
        let token = session.token(secret)
        #expect(DashboardSession(token: token, secret: secret, now: 1000 + 1799) == session)
        #expect(DashboardSession(token: token, secret: secret, now: 1000 + 1800) == nil)
        var current = session
        var now: Int64 = 1000
        while now + 1000 < 1000 + 8 * 3600 {
            now += 1000
            current = try #require(current.renewed(now: now))
            #expect(DashboardSession(token: current.token(secret), secret: secret, now: now) == current)
        }
        #expect(DashboardSession(token: current.token(secret), secret: secret, now: 1000 + 8 * 3600) == nil)
        #expect(session.renewed(now: 1059) == nil)
    }

    // Proves: SEC-70.
    @Test func `a token of another server, or with a changed part, is none`() {
        let token = DashboardSession(key: key, now: 1000).token(secret)
        #expect(DashboardSession(token: token, secret: SessionSecret(), now: 1000) == nil)
        for index in token.indices {
            var changed = token
            changed.replaceSubrange(index...index, with: token[index] == "0" ? "1" : "0")
            #expect(DashboardSession(token: changed, secret: secret, now: 1000) == nil)
        }
        #expect(DashboardSession(token: "", secret: secret, now: 1000) == nil)
    }

    // Proves: SEC-71.
    @Test func `the token of a form is good for its session alone`() {
        let session = DashboardSession(key: key, now: 1000)
        let other = DashboardSession(key: key, now: 1000)
        #expect(session.accepts(formToken: session.formToken(secret), secret))
        #expect(!session.accepts(formToken: other.formToken(secret), secret))
        #expect(!session.accepts(formToken: "", secret))
    }

    @Test(
        arguments: [
            (nil, "/dashboard"), ("/dashboard/jobs?state=failed", "/dashboard/jobs?state=failed"),
            ("//evil.example/", "/dashboard"), ("/dashboard@evil", "/dashboard"),
            ("https://evil.example", "/dashboard"),
            ("/dashboard/\r\nX: y", "/dashboard"), ("/dashboard/jobs\"><script>", "/dashboard"),
            ("/docs", "/dashboard"),
        ] as [(String?, String)])
    func `signing in leads to a page of the dashboard and nowhere else`(next: String?, path: String) {
        #expect(DashboardRoutes.path(next) == path)
    }
}
