import FetchEngine
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Signing in to the dashboard at a real OpenID provider, django-oauth-toolkit.
@Suite(.timeLimit(.minutes(3))) struct OpenIDTests {
    private static let secret = "client:secret/+"
    private static let callback = "/dashboard/oidc/callback"

    /// A browser without pages: it keeps the cookies of each origin, and follows no redirect by itself.
    private struct Visitor {
        var cookies: [String: [String: String]] = [:]
        private let session: Session = {
            var configuration = SessionConfiguration()
            configuration.httpCookieStorage = nil
            configuration.redirects.policy = .return
            return Session(configuration: configuration)
        }()

        /// - Parameter place: Whose cookies are sent; the origin of the URL by default.
        mutating func get(_ url: String, as place: String? = nil, form: String? = nil) async throws -> (
            Response, String
        ) {
            let record = try URLRecord(url)
            let place = place ?? "\(record.host ?? ""):\(record.port ?? 0)"
            var request = Request(url: record, method: form == nil ? .get : .post)
            let sent = cookies[place, default: [:]].map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            request.headerFields[.cookie] = sent.isEmpty ? nil : sent
            if let form {
                request.headerFields[.contentType] = "application/x-www-form-urlencoded"
                request.headerFields[.origin] = "http://\(record.host ?? ""):\(record.port ?? 0)"
                request.body = .bytes(Array(form.utf8))
            }
            let (bytes, response) = try await session.data(for: request)
            for field in response.headerFields[values: .setCookie] {
                let pair = field.prefix { $0 != ";" }.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let value = pair.count == 2 ? String(pair[1]) : ""
                cookies[place, default: [:]][pair[0].trimmingCharacters(in: .whitespaces)] = value.isEmpty ? nil : value
            }
            return (response, String(decoding: bytes, as: UTF8.self))
        }

        private mutating func next(_ url: String, form: String? = nil) async throws -> String {
            let (response, text) = try await get(url, form: form)
            let location = try #require(
                response.headerFields[.location], "\(url.prefix(60)) \(response.status) \(text)")
            guard location.hasPrefix("/") else { return location }
            let record = try URLRecord(url)
            return "http://\(record.host ?? ""):\(record.port ?? 0)\(location)"
        }

        /// Begins a sign-in at a node, and logs in at the provider.
        ///
        /// - Returns: Where the provider sends the browser back to.
        mutating func logIn(_ name: String, at base: String, next path: String = "/dashboard/jobs") async throws
            -> String
        {
            let authorize = try await next("\(base)/dashboard/oidc?next=\(path)")
            let login = try await next(authorize)
            // The provider knows this browser already.
            if login.contains(OpenIDTests.callback) { return login }
            let page = try await get(login).1
            let token = try #require(page.firstMatch(of: /name="csrfmiddlewaretoken" value="([^"]+)"/)).1
            let password = LoopbackServer.personPassword.replacing(" ", with: "+")
            return try await next(
                try await next(login, form: "csrfmiddlewaretoken=\(token)&username=\(name)&password=\(password)"))
        }

        func isIn(_ base: String, as place: String) async throws -> Bool {
            var copy = self
            return try await copy.get("\(base)/dashboard", as: place).0.status == .ok
        }
    }

    /// Two nodes of one service, and the provider of both.
    private struct Scene {
        let place: ServiceProcess.Place
        let second: ServiceProcess.Place
        let provider: LoopbackServer
        /// Where people reach the dashboard, which is the first node.
        let base: String
        /// The same as browsers keep cookies for it.
        let host: String

        static func with(
            dashboard name: String = "127.0.0.1",
            settings: [String: String] = ["OIDC_CLIENT_SECRET": OpenIDTests.secret],
            _ body: (Scene) async throws -> Void
        ) async throws {
            let (port, other) = (try LoopbackServer.freePort(), try LoopbackServer.freePort())
            let base = "http://\(name):\(port)"
            let provider = try await LoopbackServer.identityProvider(sendingBackTo: base + OpenIDTests.callback)
            let own = [
                "SERVER_PORT": "\(port)", "DASHBOARD_URL": base, "OIDC_ISSUER": provider.url("/o"),
                "OIDC_CLIENT_ID": "fetchd", "OIDC_NAME": "Example & Co", "OIDC_VIEWERS": "viewers",
                "OIDC_OPERATORS": "operators", "OIDC_ADMINS": "admins", "LOG_LEVEL": "trace",
            ]
            try await ServiceProcess.Place.with(
                allowing: [provider.rule], settings: own.merging(settings) { $1 }
            ) { place in
                var environment = place.apart.environment
                environment["SERVER_PORT"] = "\(other)"
                let second = ServiceProcess.Place(
                    database: place.database, directory: place.apart.directory, environment: environment)
                try await body(
                    Scene(place: place, second: second, provider: provider, base: base, host: "\(name):\(port)"))
            }
        }

        func audit(_ action: String) async throws -> [String] {
            let rows = try await place.database.client.query(
                "SELECT row_to_json(e)::text FROM audit_entries e WHERE action = \(action) ORDER BY id")
            return try rows.map { try $0.decode(String.self, at: 0) }
        }
    }

    @Test func `people sign in at the provider with the roles of their groups, on every node, and out again`()
        async throws
    {
        try await Scene.with { scene in
            let key = try await scene.place.key()
            let first = try await ServiceProcess.start(scene.place, key: key)
            let second = try await ServiceProcess.start(scene.second, key: key)
            var tokens: [String] = []
            for (name, role) in [("ada", "admin"), ("otto", "operator"), ("vera", "viewer")] {
                var visitor = Visitor()
                let back = try await visitor.logIn(name, at: first.base, next: "/dashboard/jobs%3Fstate=failed")
                // Any node can finish what another one has begun.
                let url = name == "otto" ? back.replacing(first.base, with: second.base) : back
                let (response, page) = try await visitor.get(url, as: scene.host)
                #expect(response.status == .ok && page.contains("You are signed in"), "\(page)")
                #expect(response.headerFields[HTTPField.Name("Refresh")!] == "0; url=/dashboard/jobs?state=failed")
                let fields = response.headerFields[values: .setCookie]
                #expect(fields.count == 2 && fields.contains { $0.hasSuffix("; Path=/; HttpOnly; SameSite=Strict") })
                #expect(fields.contains { $0.hasPrefix("fetchd-oidc=; Max-Age=0;") })
                for base in [first.base, second.base] {
                    let shown = try await visitor.get("\(base)/dashboard", as: scene.host).1
                    #expect(shown.contains(">\(role)</span>"), "\(name)")
                }
                tokens += try #require(URLRecord(back).query).split(separator: "&").filter { !$0.hasPrefix("iss=") }
                    .compactMap { $0.split(separator: "=").last.map { String($0) } }
                guard name == "vera" else { continue }
                let shown = try await visitor.get("\(first.base)/dashboard", as: scene.host).1
                let token = try #require(shown.firstMatch(of: /name="token" value="([^"]+)"/)).1
                let form = "token=\(token.replacing("+", with: "%2B").replacing("=", with: "%3D"))"
                let out = try await visitor.get("\(first.base)/dashboard/sign-out", as: scene.host, form: form).0
                #expect(out.status == .seeOther)
                #expect(try await !visitor.isIn(first.base, as: scene.host))
            }
            let list = try await scene.place.run("dashboard", "sign-ins")
            let person = "\(scene.provider.url("/o")) 1"
            #expect(list.contains("  default  admin  \(person)  until 20"), "\(list)")
            #expect(list.split(separator: "\n").count == 2)
            let entries = try await scene.audit("dashboard.signIn")
            #expect(entries.count == 3 && entries[0].contains(#""object":"\#(person)""#), "\(entries)")
            #expect(entries[0].contains(#""key":"\#(person)""#) && entries[0].contains(#""role":"admin""#))
            let all = try await scene.place.database.client.query("SELECT row_to_json(e)::text FROM audit_entries e")
            let rows = try all.map { try $0.decode(String.self, at: 0) }
            let metrics = try await first.request(.get, "/metrics").text
            for secret in tokens + [Self.secret, "eyJ"] {
                for text in rows + [metrics, first.logged, second.logged] { #expect(!text.contains(secret)) }
            }
            for service in [first, second] { #expect(try await service.stop() == 0) }
        }
    }

    @Test func `an answer counts once, in the browser that began the sign-in, and from the provider alone`()
        async throws
    {
        let settings = ["OIDC_CLIENT_SECRET": Self.secret, "SERVER_AUTHENTICATION_FAILURES_PER_ADDRESS": "1000"]
        try await Scene.with(settings: settings) { scene in
            let key = try await scene.place.key()
            let service = try await ServiceProcess.start(scene.place, key: key)
            var visitor = Visitor()
            let back = try await visitor.logIn("vera", at: service.base)
            let begun = visitor
            let state = try #require(back.firstMatch(of: /[?&]state=([^&]+)/)).1
            // Another browser, which has begun a sign-in of its own, or none.
            var (stranger, other) = (Visitor(), Visitor())
            _ = try await other.get("\(service.base)/dashboard/oidc")
            for url in [back, "\(service.base)\(Self.callback)", "\(back)&state=x"] {
                #expect(try await stranger.get(url).0.status == .badRequest)
                #expect(try await other.get(url).0.status == .badRequest)
            }
            // The right browser, with what is not right.
            for (url, status) in [
                (back.replacing("state=\(state)", with: "state=\(state)x"), HTTPResponse.Status.badRequest),
                (back.replacing(/&iss=[^&]+/, with: "&iss=https%3A%2F%2Fevil.example"), .badRequest),
                (back.replacing(/&iss=[^&]+/, with: ""), .badRequest),
                (back.replacing(/code=[^&]+/, with: "code=x"), .badRequest),
                (back.replacing(/code=[^&]+/, with: "error=access_denied"), .forbidden),
            ] {
                var copy = begun
                let (response, page) = try await copy.get(url)
                #expect(response.status == status, "\(url)")
                #expect(page.contains(#"role="alert""#) && page.contains("Sign in with Example &amp; Co"), "\(page)")
                #expect(try await !copy.isIn(service.base, as: scene.host))
            }
            var denied = begun
            let wicked = back.replacing(/code=[^&]+/, with: "error=%3Cscript%3E&error_description=x")
            #expect(try await denied.get(wicked).1.contains("has not signed you in: &lt;script&gt;."))

            #expect(try await visitor.get(back).0.status == .ok)
            #expect(try await visitor.isIn(service.base, as: scene.host))
            // The code again, with the cookie that it was begun with.
            var replayed = begun
            let (again, text) = try await replayed.get(back)
            #expect(again.status == .badRequest && text.contains("does not take this sign-in any more"), "\(text)")
            #expect(try await !replayed.isIn(service.base, as: scene.host))
            #expect(service.logged.contains("answers 400 to the code: invalid_grant"))
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `who has no role is told so and written down, and whoever fails too often has to wait`() async throws {
        let settings = ["OIDC_CLIENT_ID": "public", "OIDC_TENANT_CLAIM": "nothing"]
        try await Scene.with(settings: ["OIDC_CLIENT_ID": "public"]) { scene in
            let key = try await scene.place.key()
            var service = try await ServiceProcess.start(scene.place, key: key)
            var visitor = Visitor()
            let (response, page) = try await visitor.get(try await visitor.logIn("nemo", at: service.base))
            #expect(response.status == .forbidden && page.contains("as 4, but you have no role here"), "\(page)")
            #expect(try await !visitor.isIn(service.base, as: scene.host))
            try await until { try await scene.audit("dashboard.signInFailed").count == 1 }
            let entry = try await scene.audit("dashboard.signInFailed")[0]
            #expect(
                entry.contains(#""object":"\#(scene.provider.url("/o")) 4""#) && entry.contains(#""reason":"role""#))
            // A public client, whom the verifier alone protects.
            var vera = Visitor()
            #expect(try await vera.get(try await vera.logIn("vera", at: service.base)).0.status == .ok)
            #expect(try await vera.isIn(service.base, as: scene.host))

            let back = try await vera.logIn("vera", at: service.base)
            // Any page can have a browser send these.
            for _ in 0..<12 {
                let (response, _) = try await vera.get("\(service.base)\(Self.callback)?code=x&state=y")
                #expect(response.status == .badRequest)
            }
            var statuses: [Int] = []
            for _ in 0..<12 {
                var copy = vera
                statuses.append(try await copy.get(back.replacing(/code=[^&]+/, with: "code=x")).0.status.code)
            }
            #expect(statuses.contains(400) && statuses.last == 429, "\(statuses)")
            let late = try await vera.get(back)
            #expect(late.0.status == .tooManyRequests && late.1.contains("Too many tries"))
            #expect(try await service.stop() == 0)

            let environment = scene.place.environment.merging(settings) { $1 }
            let place = ServiceProcess.Place(
                database: scene.place.database, directory: scene.place.directory, environment: environment)
            service = try await ServiceProcess.start(place, key: key)
            var homeless = Visitor()
            let (refused, text) = try await homeless.get(try await homeless.logIn("vera", at: service.base))
            #expect(refused.status == .forbidden && text.contains("there is no tenant here that you belong to"))
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `a provider that is away stops nobody who has a key, and is asked again once it is there`() async throws
    {
        let port = try LoopbackServer.freePort()
        let base = "http://127.0.0.1:\(port)"
        var provider: LoopbackServer? = try await LoopbackServer.identityProvider(sendingBackTo: base + Self.callback)
        let (rule, issuer) = (provider?.rule ?? "", provider?.url("/o") ?? "")
        let settings = [
            "SERVER_PORT": "\(port)", "DASHBOARD_URL": base, "OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "fetchd",
            "OIDC_CLIENT_SECRET": Self.secret, "OIDC_VIEWERS": "viewers",
        ]
        try await ServiceProcess.Place.with(allowing: [rule], settings: settings) { place in
            let key = try await place.key()
            var visitor = Visitor()
            // One that the guard does not let in, and one that names itself otherwise: neither is believed.
            for change in [["GUARD_ALLOW": ""], ["OIDC_ISSUER": "\(issuer)/"]] {
                let other = ServiceProcess.Place(
                    database: place.database, directory: place.directory,
                    environment: place.environment.merging(change) { $1 })
                let service = try await ServiceProcess.start(other, key: key)
                #expect(try await visitor.get("\(base)/dashboard/oidc").0.status == .serviceUnavailable, "\(change)")
                #expect(try await service.stop() == 0)
            }

            let first = try await ServiceProcess.start(place, key: key)
            let back = try await visitor.logIn("vera", at: base)
            let port = try #require(provider?.port)
            // It goes between the login and the code.
            provider = nil
            let (response, page) = try await visitor.get(back)
            #expect(response.status == .serviceUnavailable, "\(page)")
            #expect(page.contains("127.0.0.1 does not answer as it should") && page.contains("sign in with an API key"))
            #expect(try await first.stop() == 0)

            let second = try await ServiceProcess.start(place, key: key)
            #expect(try await visitor.get("\(base)/dashboard/oidc").0.status == .serviceUnavailable)
            let byKey = try await visitor.get("\(base)/dashboard/sign-in", form: "key=\(key)").0
            #expect(byKey.status == .seeOther)
            provider = try await LoopbackServer.identityProvider(sendingBackTo: base + Self.callback, port: port)
            try await until { try await visitor.get("\(base)/dashboard/oidc").0.status == .seeOther }
            #expect(try await second.stop() == 0)
        }
    }

    @Test func `without a provider there is neither a button nor a route that answers`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            for path in ["/dashboard/oidc", Self.callback, "\(Self.callback)?code=a&state=b"] {
                let answer = try await service.request(.get, path)
                #expect(answer.status == 404)
            }
            let form = try await service.request(.get, "/dashboard/sign-in").text
            #expect(!form.contains("oidc"))
        }
    }

    @Test func `half a provider ends the start`() async throws {
        try await ServiceProcess.Place.with(allowing: [], settings: ["OIDC_CLIENT_ID": "fetchd"]) { place in
            let end = try await ProgramEnd.of(["serve"], place.environment)
            #expect(end.status == 78 && end.errors.contains("OIDC_ISSUER"), "\(end.errors)")
        }
    }

    @Test func `in a browser the button leads to the provider of another site and back, without a script`() async throws
    {
        try await Scene.with(dashboard: "localhost") { scene in
            let service = try await ServiceProcess.start(scene.place, key: try await scene.place.key())
            try await Browser.with { browser in
                try await browser.open("\(scene.base)/dashboard/hosts")
                try await keep(browser, as: "signInWithProvider")
                #expect(try await browser.text("a.button") == "Sign in with Example & Co")
                try await browser.click("a.button")
                try await browser.type("otto", into: "#id_username")
                try await browser.type(LoopbackServer.personPassword, into: "#id_password")
                try await browser.click("button")
                try await until { try await browser.text("h1") == "Hosts" }
                #expect(try await browser.url == "\(scene.base)/dashboard/hosts")
                #expect(try await browser.text("header").contains("operator"))
                let cookie = try await browser.cookie("fetchd")
                #expect(member(cookie, "sameSite") == "Strict" && member(cookie, "httpOnly") == true, "\(cookie)")
                try await keep(browser, as: "signedInAtProvider")
            }
            try await Browser.with { browser in
                try await browser.open("\(scene.base)\(Self.callback)?error=access_denied&state=x")
                try await keep(browser, as: "signInRefused")
                #expect(try await browser.text("[role=alert]").contains("not begun in this browser"))
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `behind TLS the browser keeps a sign-in that it has begun in a __Host- cookie`() async throws {
        let leaf = try await TestAuthority().issue("dash")
        let port = try LoopbackServer.freePort()
        let proxy = try await LoopbackServer.nginxTLS(
            leaf,
            directives: [
                "location /dashboard { proxy_pass http://127.0.0.1:\(port); proxy_set_header Host $http_host; "
                    + "proxy_set_header X-Forwarded-Proto https; }"
            ])
        let base = "https://dash.example:\(proxy.port)"
        let provider = try await LoopbackServer.identityProvider(sendingBackTo: base + Self.callback)
        let settings = [
            "SERVER_PORT": "\(port)", "SERVER_TRUSTED_PROXIES": "127.0.0.1", "DASHBOARD_URL": base,
            "OIDC_ISSUER": provider.url("/o"), "OIDC_CLIENT_ID": "public", "OIDC_ADMINS": "admins",
        ]
        try await ServiceProcess.Place.with(allowing: [provider.rule], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let flags = ["--ignore-certificate-errors", "--host-resolver-rules=MAP dash.example 127.0.0.1"]
            try await Browser.with(flags: flags) { browser in
                try await browser.open("\(base)/dashboard/oidc")
                try await browser.open("\(base)/dashboard/sign-in")
                let begun = try await browser.cookie("__Host-fetchd-oidc")
                #expect(member(begun, "secure") == true && member(begun, "httpOnly") == true, "\(begun)")
                #expect(member(begun, "sameSite") == "Lax" && member(begun, "path") == "/", "\(begun)")
                try await browser.click("a.button")
                try await browser.type("ada", into: "#id_username")
                try await browser.type(LoopbackServer.personPassword, into: "#id_password")
                try await browser.click("button")
                try await until { try await browser.text("h1") == "Overview" }
                #expect(try await browser.text("header").contains("admin"))
                let cookie = try await browser.cookie("__Host-fetchd")
                #expect(member(cookie, "sameSite") == "Strict" && member(cookie, "secure") == true, "\(cookie)")
                let left = try await browser.cookie("__Host-fetchd-oidc")
                #expect(member(left, "name", as: String.self) == nil)
            }
            #expect(try await service.stop() == 0)
        }
    }

    /// Set `SCREENSHOTS` to a directory to look at the pages of the browser.
    private func keep(_ browser: Browser, as name: String) async throws {
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        try await browser.screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }
}
