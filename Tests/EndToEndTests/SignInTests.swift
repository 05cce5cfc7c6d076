import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Signing in to the dashboard of several nodes, by keys and by links from the terminal.
@Suite(.timeLimit(.minutes(2))) struct SignInTests {
    /// A browser without a page: it shows one node's dashboard the cookie that another one gave it.
    private struct Visitor {
        var cookie = ""
        private let session: Session = {
            var configuration = SessionConfiguration()
            configuration.httpCookieStorage = nil
            configuration.redirects.policy = .return
            return Session(configuration: configuration)
        }()

        func ask(
            _ method: HTTPRequest.Method, _ path: String, _ service: ServiceProcess, form: String? = nil
        ) async throws -> (Response, String) {
            var request = Request(url: try URLRecord(service.base + path), method: method)
            request.headerFields[.cookie] = cookie.isEmpty ? nil : cookie
            request.headerFields[.origin] = service.base
            if let form {
                request.headerFields[.contentType] = "application/x-www-form-urlencoded"
                request.body = .bytes(Array(form.utf8))
            }
            let (bytes, response) = try await session.data(for: request)
            return (response, String(decoding: bytes, as: UTF8.self))
        }

        mutating func signIn(_ key: String, at service: ServiceProcess) async throws {
            let (response, text) = try await ask(.post, "/dashboard/sign-in", service, form: "key=\(key)")
            let field = try #require(response.headerFields[.setCookie], "\(text)")
            cookie = String(field.prefix { $0 != ";" })
        }

        func isIn(_ service: ServiceProcess) async throws -> Bool {
            try await ask(.get, "/dashboard", service).0.status == .ok
        }
    }

    // Proves: SEC-70.
    @Test func `a session is good on every node and after a restart, and ends on all of them at sign-out`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place.apart, key: key)
            var visitor = Visitor()
            try await visitor.signIn(key, at: first)
            #expect(try await visitor.isIn(first))
            #expect(try await visitor.isIn(second))
            #expect(try await first.stop() == 0)
            let third = try await ServiceProcess.start(place, key: key)
            #expect(try await visitor.isIn(third))

            let page = try await visitor.ask(.get, "/dashboard", third).1
            let token = try #require(page.firstMatch(of: /name="token" value="([^"]+)"/)).1
            let form = "token=\(token.replacing("+", with: "%2B").replacing("=", with: "%3D"))"
            #expect(try await visitor.ask(.post, "/dashboard/sign-out", third, form: form).0.status == .seeOther)
            #expect(try await !visitor.isIn(third))
            let signedOut = ContinuousClock.now
            try await until { try await !visitor.isIn(second) }
            #expect(ContinuousClock.now - signedOut < .seconds(6))
            for service in [second, third] { #expect(try await service.stop() == 0) }
        }
    }

    // Proves: SEC-40.
    @Test func `a revoked key and its sessions are over on every node within five seconds`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let id = try #require(APIKeyToken(key)).id
            let services = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key),
            ]
            let lasting = try await place.key()
            var (visitor, other) = (Visitor(), Visitor())
            try await visitor.signIn(key, at: services[0])
            try await other.signIn(lasting, at: services[1])
            for service in services {
                #expect(try await visitor.isIn(service))
                #expect(try await service.request(.get, "/v1/queue").status == 200)
            }
            _ = try await place.run("keys", "revoke", id.description)
            let revoked = ContinuousClock.now
            for service in services {
                try await until { try await service.request(.get, "/v1/queue").status == 401 }
                try await until { try await !visitor.isIn(service) }
            }
            // A second for asking.
            #expect(ContinuousClock.now - revoked < .seconds(6))
            for service in services {
                #expect(try await other.isIn(service))
                #expect(try await service.stop() == 0)
            }
        }
    }

    // Proves: SEC-61.
    @Test func `a link from the terminal opens the dashboard in one browser, once, on whichever node`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let services = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key),
            ]
            let base = services[0].base
            let link = try await place.run(
                "dashboard", "link", "--role", "viewer", "--minutes", "2", "--url", base)
            #expect(link.hasPrefix("\(base)/dashboard/link#fl_"))
            let secret = try #require(link.split(separator: "#").last.map { String($0) })
            try await Browser.with { browser in
                try await browser.open(link)
                try await until { try await browser.text("h1") == "Overview" }
                #expect(try await browser.text("header").contains("viewer"))
                #expect(try await browser.url == "\(base)/dashboard")
                try await keep(browser, as: "viewerOverview")
                try await browser.open("\(base)/dashboard/hosts")
                #expect(try await !browser.text("main").contains("Pause a host"))
                try await keep(browser, as: "viewerHosts")
            }
            let (again, text) = try await Visitor().ask(
                .post, "/dashboard/link", services[1], form: "code=\(secret)")
            #expect(again.status == .unauthorized && text.contains("opens nothing any more"))
            let admin = try await place.run("dashboard", "link", "--role", "admin", "--url", base)
            try await Browser.with { browser in
                try await browser.open(admin)
                try await until { try await browser.text("h1") == "Overview" }
                try await browser.open("\(base)/dashboard/hosts")
                #expect(try await browser.text("main").contains("Pause a host"))
                try await keep(browser, as: "adminHosts")
                try await browser.open("\(base)/dashboard/audit")
                let log = try await browser.text("table")
                #expect(log.contains("dashboard.createLink") && log.contains("dashboard.signIn"))
                try await keep(browser, as: "adminAudit")
                try await browser.open("\(base)/dashboard/link")
                try await keep(browser, as: "link")
            }
            for service in services {
                #expect(!service.logged.contains(secret))
                #expect(try await service.stop() == 0)
            }
        }
    }

    // Proves: SEC-70, SEC-71.
    @Test func `behind TLS the browser keeps a __Host- cookie, whatever name the proxy goes on to`() async throws {
        let leaf = try await TestAuthority().issue("dash")
        try await ServiceProcess.Place.with(
            allowing: [], settings: ["SERVER_TRUSTED_PROXIES": "127.0.0.1"]
        ) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let proxy = try await LoopbackServer.nginxTLS(
                leaf,
                directives: [
                    "location /dashboard { proxy_pass http://\(service.address); proxy_set_header Host $http_host; "
                        + "proxy_set_header X-Forwarded-Proto https; }"
                ])
            let flags = ["--ignore-certificate-errors", "--host-resolver-rules=MAP dash.example 127.0.0.1"]
            for host in ["dash.example", "127.0.0.1"] {
                try await Browser.with(flags: flags) { browser in
                    let base = "https://\(host):\(proxy.port)"
                    try await browser.open("\(base)/dashboard/jobs")
                    try await browser.type(key, into: "#key")
                    try await browser.click("form.card button")
                    #expect(try await browser.text("h1") == "Jobs")
                    let cookie = try await browser.cookie("__Host-fetchd")
                    #expect(member(cookie, "secure") == true && member(cookie, "httpOnly") == true, "\(cookie)")
                    #expect(member(cookie, "sameSite") == "Strict" && member(cookie, "path") == "/", "\(cookie)")
                    try await browser.open("\(base)/dashboard/hosts")
                    let form = "section > form[action$=pause]"
                    try await browser.type("slow.example", into: "\(form) input[name=name]")
                    try await browser.follow("\(form) button")
                    #expect(try await browser.text("tbody").contains("slow.example\npaused"))
                }
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `an operator lists who is signed in, and ends it from the terminal`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let id = try #require(APIKeyToken(key)).id
            let service = try await ServiceProcess.start(place, key: key)
            var visitors = [Visitor(), Visitor()]
            for index in visitors.indices { try await visitors[index].signIn(key, at: service) }
            #expect(try await place.run("dashboard", "sign-ins").split(separator: "\n").count == 2)
            let line = try await place.run("dashboard", "sign-ins")
            #expect(line.contains("  default  operator  \(id)  until 20"))
            let signIn = try #require(line.split(separator: " ").first.map { String($0) })
            #expect(try await place.run("dashboard", "end", signIn) == "ended 1")
            try await until { try await !visitors[0].isIn(service) }
            #expect(try await visitors[1].isIn(service))
            let again = try await ProgramEnd.of(["dashboard", "end", signIn], place.environment)
            #expect(again.status == 1 && again.errors.contains("There is no such sign-in"))
            #expect(try await ProgramEnd.of(["dashboard", "end"], place.environment).status == 64)
            #expect(try await place.run("dashboard", "end", "--all") == "ended 1")
            try await until { try await !visitors[1].isIn(service) }
            let audit = try await service.request(.get, "/v1/audit?action=dashboard.signOut&actor=cli").text
            #expect(audit.contains(signIn), "\(audit)")
            #expect(try await service.stop() == 0)
        }
    }

    /// Set `SCREENSHOTS` to a directory to look at the pages of the browser.
    private func keep(_ browser: Browser, as name: String) async throws {
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        try await browser.screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }
}
