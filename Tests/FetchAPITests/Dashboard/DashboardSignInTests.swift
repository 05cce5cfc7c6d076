import Crypto
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// How sessions of the dashboard begin, by keys and links, and end.
@Suite struct DashboardSignInTests {
    private typealias Browser = DashboardTests.Browser

    @Test func `a link signs in once, with its role and for its tenant`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let link = try await server.signIns.makeLink(as: .viewer, forTenant: "test", lifetime: .seconds(60))
            var browser = Browser(call: call, cookie: nil)
            let page = try await browser.get("/dashboard/link")
            #expect(page.status == .ok && page.headers[.setCookie] == nil)
            let answer = try await browser.post("/dashboard/link", "code=\(link.revealed)")
            #expect(answer.status == .seeOther && answer.headers[.location] == "/dashboard")
            let field = try #require(answer.headers[.setCookie])
            #expect(!field.contains(link.revealed))
            browser.cookie = String(field.prefix { $0 != ";" })
            #expect(try await browser.get("/dashboard").text.contains(">viewer</span>"))

            let again = try await browser.post("/dashboard/link", "code=\(link.revealed)")
            #expect(again.status == .unauthorized && again.headers[.setCookie] == nil)
            #expect(again.text.contains("opens nothing any more"))
            let actions = server.audit.all.map(\.action)
            #expect(actions == ["dashboard.createLink", "dashboard.signIn", "dashboard.signInFailed"])
            #expect(server.audit.all[1].object == link.id.description && server.audit.all[1].signIn != nil)
        }
    }

    // Proves: SEC-72.
    @Test func `the page of a link runs its own script and no other, and sends no referrer`() async throws {
        try await TestServer().test { call async throws in
            let page = try await call(.get, "/dashboard/link", headers: [.authorization: ""])
            let scripts = page.text.matches(of: /<script src="([^"]+)" defer><\/script>/).map { String($0.1) }
            #expect(scripts == ["/dashboard/app.js", "/dashboard/link.js"])
            #expect(page.text.components(separatedBy: "<script").count == 3)
            let policy = try #require(page.headers[.contentSecurityPolicy])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(page.headers[.referrerPolicy] == "no-referrer" && page.headers[.cacheControl] == "no-store")
        }
    }

    @Test func `a link is taken from the form of its page alone, and is no key`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let link = try await server.signIns.makeLink(as: .admin, forTenant: "test", lifetime: .seconds(60))
            let browser = Browser(call: call, cookie: nil)
            #expect(try await browser.get("/dashboard/link?code=\(link.revealed)").headers[.setCookie] == nil)
            for site in ["cross-site", "same-site"] {
                let answer = try await browser.post("/dashboard/link", "code=\(link.revealed)", site: site)
                #expect(answer.status == .forbidden && answer.headers[.setCookie] == nil)
            }
            let key = try await browser.post("/dashboard/sign-in", "key=\(link.revealed)")
            #expect(key.status == .unauthorized)
            let api = try await call(.get, "/v1/jobs", headers: [.authorization: "Bearer \(link.revealed)"])
            #expect(api.problem == .unauthorized)
            #expect(try await browser.post("/dashboard/link", "code=\(link.revealed)").status == .seeOther)
        }
    }

    // Proves: SEC-43.
    @Test func `whoever guesses links is told to stop, and a right one passes at any time`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let browser = Browser(call: call, cookie: nil)
            var statuses: [HTTPResponse.Status] = []
            for _ in 0..<12 {
                let answer = try await browser.post("/dashboard/link", "code=\(SignInLink().revealed)")
                statuses.append(answer.status)
            }
            #expect(statuses.prefix(10).allSatisfy { $0 == .unauthorized })
            #expect(statuses.suffix(2).allSatisfy { $0 == .tooManyRequests })
            let link = try await server.signIns.makeLink(as: .viewer, forTenant: "test", lifetime: .seconds(60))
            #expect(try await browser.post("/dashboard/link", "code=\(link.revealed)").status == .seeOther)
        }
    }

    @Test func `pages of one session ask the store once in five seconds, and for that session alone`() async throws {
        let server = try await TestServer()
        let gate = DashboardGate(signIns: server.signIns, maximumPagesPerSecond: 1000)
        let session = try #require(try await gate.open(SignIn.ID(), for: server.key, as: .viewer))
        try await server.test { call async throws in
            let browser = Browser(call: call, cookie: "fetchd=\(session.cookie.text(session.secret))")
            // The server's own gate does not know the session yet.
            for _ in 0..<20 { #expect(try await browser.get("/dashboard").status == .ok) }
            #expect(server.signIns.lookups == 1)
            let forged = Browser(call: call, cookie: "fetchd=\(session.cookie.text(SessionSecret()))")
            #expect(try await forged.get("/dashboard").status == .seeOther)
            #expect(server.signIns.lookups == 1)
        }
    }

    @Test(
        arguments: [
            ("fetchd.example", [:], true), ("localhost:8080", [:], false), ("[::1]:8080", [:], false),
            ("127.0.0.1:8080", [.xForwardedProto: "https"], true),
            ("127.0.0.1:8080", [.forwarded: "for=192.0.2.1;proto=https"], true),
            ("127.0.0.1:8080", [.xForwardedProto: "http"], false),
            ("localhost", [.forwarded: #"for=192.0.2.1;proto="HTTPS", for=10.0.0.1"#], true),
        ] as [(String, HTTPFields, Bool)])
    func `the cookie is a __Host- one for all but plain HTTP to this machine`(
        _ authority: String, _ fields: HTTPFields, _ isSecure: Bool
    ) async throws {
        let server = try await TestServer()
        try await server.listen { configuration in
            configuration.trustedProxies = (try? TrustedProxies(["127.0.0.1"])) ?? TrustedProxies()
        } _: { port, _ async throws in
            let form = "key=\(server.token.revealed)"
            var head = "POST /dashboard/sign-in HTTP/1.1\r\nHost: \(authority)\r\nSec-Fetch-Site: same-origin\r\n"
            for field in fields { head += "\(field.name): \(field.value)\r\n" }
            head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n"
            let answer = try await WireTests.exchange("\(head)Connection: close\r\n\r\n\(form)", port: port)
            let line = answer.split(separator: "\r\n").first { $0.lowercased().hasPrefix("set-cookie:") }
            let cookie = try #require(line).drop { $0 != ":" }.dropFirst(2)
            #expect(cookie.hasPrefix(isSecure ? "__Host-fetchd=" : "fetchd="))
            #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"))
        }
    }
}
