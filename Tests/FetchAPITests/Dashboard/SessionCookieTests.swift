import FetchJobs
import Testing

@testable import FetchAPI

@Suite struct SessionCookieTests {
    private let secret = SessionSecret()
    private let signIn = SignIn.ID()

    // Proves: SEC-70.
    @Test func `a session ends after 8 hours, and after 30 minutes without use`() throws {
        let cookie = SessionCookie(of: signIn, now: 1000)
        let text = cookie.text(secret)
        #expect(SessionCookie(text, secret: secret, now: 1000 + 1799) == cookie)
        #expect(SessionCookie(text, secret: secret, now: 1000 + 1800) == nil)
        var current = cookie
        var now: Int64 = 1000
        while now + 1000 < 1000 + 8 * 3600 {
            now += 1000
            current = try #require(current.renewed(now: now))
            #expect(SessionCookie(current.text(secret), secret: secret, now: now) == current)
        }
        #expect(SessionCookie(current.text(secret), secret: secret, now: 1000 + 8 * 3600) == nil)
        #expect(cookie.renewed(now: 1059) == nil)
    }

    // Proves: SEC-70.
    @Test func `a cookie of another service, or with a changed part, is none`() {
        let text = SessionCookie(of: signIn, now: 1000).text(secret)
        #expect(SessionCookie(text, secret: SessionSecret(), now: 1000) == nil)
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "0" ? "1" : "0")
            #expect(SessionCookie(changed, secret: secret, now: 1000) == nil)
        }
        for other in ["", "...", "0.0.0.0", String(repeating: "9", count: 100)] {
            #expect(SessionCookie(other, secret: secret, now: 1000) == nil)
        }
    }

    // Proves: SEC-71.
    @Test func `the token of a form is good for its session alone`() {
        let cookie = SessionCookie(of: signIn, now: 1000)
        let other = SessionCookie(of: SignIn.ID(), now: 1000)
        #expect(cookie.accepts(formToken: cookie.formToken(secret), secret))
        #expect(!cookie.accepts(formToken: other.formToken(secret), secret))
        for token in ["", "AAAA", String(cookie.formToken(secret).dropLast(4))] {
            #expect(!cookie.accepts(formToken: token, secret))
        }
    }

    @Test func `the token of a form is never the same text, so that compressed pages tell nothing of it`() {
        let cookie = SessionCookie(of: signIn, now: 1000)
        let tokens = (0..<100).map { _ in cookie.formToken(secret) }
        #expect(Set(tokens).count == tokens.count)
        // Nor is any part of it.
        #expect(Set(tokens.map { $0.prefix(8) }).count == tokens.count)
        #expect(Set(tokens.map { $0.suffix(12) }).count == tokens.count)
        #expect(tokens.allSatisfy { cookie.accepts(formToken: $0, secret) })
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
