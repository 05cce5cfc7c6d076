import FetchJobs
import FetchRuntime
import Foundation
import HTTPTypes
import Hummingbird
import TestSupport
import Testing

@testable import FetchAPI

/// Who may open which page of the dashboard, and send which form.
@Suite struct DashboardRoleTests {
    /// All routes of the dashboard, with what their table says.
    private static func routes(of server: TestServer) -> [(route: Route, access: DashboardAccess?)] {
        let authenticator = Authenticator(
            store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1), proxies: TrustedProxies())
        return Server.routes(server.ports, server.configuration, authenticator)
            .filter { $0.path.hasPrefix("/dashboard") }
            .map { ($0, DashboardAccess.of($0.method, $0.path)) }
    }

    private static func key(_ server: TestServer, _ role: Role) async throws -> String {
        let spec = APIKeySpec(name: role.rawValue, scopes: role.scopes)
        return try await server.keys.create(spec, for: .tenantOf(server.key)).1.revealed
    }

    /// Runs a test in browsers that have signed in, one for each role.
    private static func test(
        _ server: TestServer, _ body: @escaping @Sendable ([Role: DashboardTests.Browser]) async throws -> Void
    ) async throws {
        var server = server
        server.maximumPagesPerSecond = 10_000
        try await server.test { [server] call async throws in
            var browsers: [Role: DashboardTests.Browser] = [:]
            for role in Role.allCases {
                var browser = DashboardTests.Browser(call: call, cookie: nil)
                let answer = try await browser.signIn(try await key(server, role))
                #expect(answer.status == .seeOther)
                browsers[role] = browser
            }
            try await body(browsers)
        }
    }

    @Test func `the table has each page and form of the dashboard, and no other`() async throws {
        let routes = Self.routes(of: try await TestServer())
        #expect(Set(routes.map { "\($0.route.method.rawValue) \($0.route.path)" }) == Set(DashboardAccess.table.keys))
        #expect(routes.allSatisfy { $0.access != nil })
    }

    @Test func `what the library below has reported of an error is shown to admins alone`() async throws {
        let server = try await TestServer()
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8))
        let job = NewJob(tenant: server.key.tenant, spec: spec)
        _ = try await server.jobs.enqueue([job])
        server.jobs.finish(job.id, .failed)
        server.jobs.change(job.id) { job in
            job.error = RawJSON(
                Array(#"{"name":"timedOut","underlying":{"domain":"libcurl","code":28},"retriable":true}"#.utf8))
        }
        try await Self.test(server) { browsers in
            for (role, browser) in browsers {
                for path in ["", "/json"] {
                    let page = try await browser.get("/dashboard/jobs/\(job.id)\(path)")
                    #expect(page.status == .ok && page.text.contains("timedOut") && page.text.contains("retriable"))
                    #expect(page.text.contains("libcurl") == (role == .admin), "\(role) \(path)")
                }
            }
        }
    }

    @Test func `whoever has not signed in is sent to do so, but from the pages for everyone`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            for (route, access) in Self.routes(of: server) {
                let path = route.path.replacing("{id}", with: "x")
                let fields: HTTPFields = [
                    .authorization: "", .secFetchSite: "same-origin", .contentType: "application/x-www-form-urlencoded",
                ]
                let answer = try await call(route.method, path, headers: fields, body: "")
                let isSent = answer.headers[.location]?.hasPrefix("/dashboard/sign-in?next=") == true
                #expect(isSent == (access != .everyone), "\(route.method) \(path)")
            }
        }
    }

    @Test func `a role is refused what asks for a higher one, by hand too, and the refusal is in the audit log`()
        async throws
    {
        let server = try await TestServer()
        try await Self.test(server) { browsers in
            var refusals = 0
            for (route, access) in Self.routes(of: server) {
                guard case .role(let least)? = access else { continue }
                let path = route.path.replacing("{id}", with: "x")
                for role in Role.allCases {
                    let browser = try #require(browsers[role])
                    let token = try DashboardTests.Browser.token(in: try await browser.get("/dashboard"))
                    let answer =
                        route.method == .get
                        ? try await browser.get(path) : try await browser.post(path, "token=\(token)&name=a.example")
                    let isRefused = answer.text.contains("Your role may not do this")
                    #expect(isRefused == (role < least), "\(role) \(route.method) \(path): \(answer.status)")
                    #expect((answer.status == .forbidden) == isRefused, "\(role) \(route.method) \(path)")
                    if isRefused { refusals += 1 }
                }
            }
            #expect(refusals >= 6)
            let noted = server.audit.all.filter { $0.action == AuditAction.refuseRequest.rawValue }
            #expect(noted.count == refusals && noted.allSatisfy { $0.signIn != nil && $0.chain == server.key.tenant })
            #expect(noted.contains { $0.object == "POST /dashboard/hosts/pause" })
        }
    }

    // Proves: SEC-72.
    @Test func `every answer of the dashboard and of the documentation has the fields that keep it to itself`()
        async throws
    {
        let server = try await TestServer()
        let expected: [(HTTPField.Name, String)] = [
            (.xContentTypeOptions, "nosniff"), (.referrerPolicy, "no-referrer"),
            (.crossOriginOpenerPolicy, "same-origin"), (.crossOriginResourcePolicy, "same-origin"),
            (.strictTransportSecurity, "max-age=31536000"),
        ]
        try await Self.test(server) { browsers in
            let (viewer, admin) = (try #require(browsers[.viewer]), try #require(browsers[.admin]))
            let nobody = DashboardTests.Browser(call: admin.call, cookie: nil)
            let token = try DashboardTests.Browser.token(in: try await admin.get("/dashboard"))
            var answers: [(String, TestAnswer)] = []
            for (route, _) in Self.routes(of: server) where !StaticFile.all.contains(where: { $0.path == route.path }) {
                let path = route.path.replacing("{id}", with: "x")
                guard route.method == .get else {
                    if path != "/dashboard/sign-out" {
                        answers.append((path, try await admin.post(path, "token=\(token)&name=a.example")))
                        answers.append((path, try await viewer.post(path, "token=x")))
                    }
                    continue
                }
                for browser in [admin, viewer, nobody] { answers.append((path, try await browser.get(path))) }
            }
            for path in ["/", "/docs", "/docs/problems/forbidden"] {
                answers.append((path, try await nobody.get(path)))
            }
            answers.append(("out", try await admin.post("/dashboard/sign-out", "token=\(token)")))
            #expect(answers.count > 40 && answers.contains { $0.1.status == .forbidden })
            for (path, answer) in answers {
                for (name, value) in expected { #expect(answer.headers[name] == value, "\(path) \(name)") }
                // The documentation is the same for everyone.
                let isKept = path.hasPrefix("/docs")
                #expect(answer.headers[.cacheControl] == (isKept ? "no-cache" : "no-store"), "\(path)")
                let policy = answer.headers[.contentSecurityPolicy] ?? ""
                for part in [
                    "default-src 'none'", "script-src 'self'", "form-action 'self'", "frame-ancestors 'none'",
                    "base-uri 'none'",
                ] {
                    #expect(policy.contains(part), "\(path) \(part)")
                }
                #expect(!policy.contains("unsafe") && !policy.contains("*"), "\(path)")
            }
        }
    }

    @Test func `a page shows the forms that its visitor may send, and no others`() async throws {
        let server = try await TestServer()
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8))
        let job = NewJob(tenant: server.key.tenant, spec: spec)
        _ = try await server.jobs.enqueue([job])
        _ = try await server.ask()
        let host = Limiter.Address(tenant: server.key.tenant, kind: .host, key: "a.example")
        try await server.limiters.setPaused(true, host)
        let routes = Self.routes(of: server)
        try await Self.test(server) { browsers in
            for (role, browser) in browsers {
                var seen = 0
                for path in ["", "/jobs", "/jobs/\(job.id)", "/questions", "/hosts", "/flows"] {
                    let page = try await browser.get("/dashboard" + path)
                    #expect(page.status == .ok && page.text.contains(">\(role.rawValue)</span>"), "\(role) \(path)")
                    for match in page.text.matches(of: /<form[^>]* method="(\w+)" action="([^"]+)"/) {
                        let method: HTTPRequest.Method = match.1 == "get" ? .get : .post
                        let action = String(match.2).replacing(/\/(job|qst)_\w+/, with: "/{id}")
                        let access = routes.first { $0.route.method == method && $0.route.path == action }?.access
                        switch access {
                        case .everyone?: break
                        case .role(let least)?:
                            if method == .post { seen += 1 }
                            #expect(role >= least, "\(role) \(action)")
                        case nil: Issue.record("no route takes \(action)")
                        }
                    }
                    #expect(page.text.contains(#"href="/dashboard/audit""#) == (role == .admin))
                }
                #expect((seen > 0) == (role > .viewer), "\(role)")
            }
        }
    }

    @Test func `a sign-in has the role that the scopes of its key make, and a key that sees a part has none`()
        async throws
    {
        let server = try await TestServer()
        try await server.test { call async throws in
            let cases: [(APIKeySpec, Role?)] = [
                (APIKeySpec(name: "a", scopes: [.readJobs]), .viewer),
                (APIKeySpec(name: "b", scopes: [.readJobs, .writeJobs, .limits]), .viewer),
                (APIKeySpec(name: "c", scopes: .tenant), .operator),
                (APIKeySpec(name: "d", scopes: .all), .admin),
                (APIKeySpec(name: "e", scopes: [.webhooks]), nil),
                (APIKeySpec(name: "f", scopes: .all, session: .default), nil),
            ]
            for (spec, role) in cases {
                var browser = DashboardTests.Browser(call: call, cookie: nil)
                let token = try await server.keys.create(spec, for: .tenantOf(server.key)).1
                let answer = try await browser.signIn(token.revealed)
                #expect(answer.status == (role == nil ? .forbidden : .seeOther), "\(spec.name)")
                #expect((answer.headers[.setCookie] == nil) == (role == nil), "\(spec.name)")
                guard let role else { continue }
                #expect(try await browser.get("/dashboard").text.contains(">\(role.rawValue)</span>"))
            }
        }
    }

    @Test func `administrators see the audit log of the tenant, as text`() async throws {
        let server = try await TestServer()
        for number in 0..<60 {
            try await server.audit.record(
                AuditEvent(.refuseTarget, "http://a.example/<b>\(number)", of: server.key.tenant))
        }
        try await server.audit.record(AuditEvent(.refuseTarget, "http://foreign.example/", of: .service))
        try await Self.test(server) { browsers in
            let browser = try #require(browsers[.admin])
            let first = try await browser.get("/dashboard/audit")
            #expect(first.text.contains("dashboard.signIn") && first.text.contains("&lt;b&gt;59"))
            #expect(!first.text.contains("<b>") && !first.text.contains("foreign.example"))
            let link = try #require(first.text.firstMatch(of: /rel="next" href="([^"]+)"/))
            let last = try await browser.get(String(link.1))
            #expect(last.text.contains("&lt;b&gt;0<") && !last.text.contains(#"rel="next""#))
        }
    }
}
