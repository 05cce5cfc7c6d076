import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The screens with lists: each with as much as it shows, and whatever that may be.
@Suite struct DashboardScreenTests {
    /// A quote with a combining mark is one character to Swift and a quote to a browser.
    static let canary = "\"\u{301}'<b>canary</b>&</title></textarea><img src=x onerror=alert(1)>"

    /// Everything that clients and origins may say, in so many things of each kind.
    struct Things {
        let server: TestServer
        let text: String
        let count: Int
        var paths: [String] = []

        init(_ server: TestServer, saying text: String, count: Int) async throws {
            self.server = server
            self.text = text
            self.count = count
            for number in 0..<count { try await add(number) }
            try await addFigures()
        }

        private var tenant: Tenant.ID { server.key.tenant }

        private func quoted(_ text: String) -> String {
            var writer = JSONWriter()
            writer.value(text)
            return writer.text
        }

        private mutating func add(_ number: Int) async throws {
            let label = JSONMember(String(text.prefix(40)), .string(text))
            let labels = JSONValue.object([label])
            let group = try JobGroupSpec(json: .object([JSONMember("labels", labels)]))
            _ = try await server.groups.create(JobGroup(tenant: tenant, spec: group), nil)
            try await addSchedule(labels)
            var spec = SessionSpec()
            spec.description = text
            let session = NewSession(tenant: tenant, spec: spec)
            _ = try await server.sessions.create(session)
            let flow = Limiter.Address(tenant: tenant, kind: .flow, key: "\(number) \(text)")
            let host = Limiter.Address(tenant: tenant, kind: .host, key: "host\(number).example")
            for limiter in [flow, host] { try await server.limiters.setPaused(true, limiter) }
            try await addStores(number)
            try await addDelivery()
            let keySpec = APIKeySpec(name: text, scopes: [.readJobs])
            _ = try await server.keys.create(keySpec, for: .tenantOf(server.key))
            try await server.audit.record(AuditEvent(.refuseTarget, text, of: tenant))
            server.tenants.add("\(number) \(text)")
            try await addJob(number)
            if number == 0 {
                paths += ["/dashboard/sessions/\(session.id)"]
            }
        }

        private mutating func addSchedule(_ labels: JSONValue) async throws {
            let job = try JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8)
            let members = [
                JSONMember("interval", .number(JSONNumber(Int64(3600)))), JSONMember("job", job),
                JSONMember("labels", labels),
            ]
            var schedule = Schedule(tenant: tenant, spec: try ScheduleSpec(json: .object(members)))
            schedule.lastError = .init(at: .now, message: text)
            _ = try await server.schedules.create(schedule, nil)
            if paths.isEmpty { paths.append("/dashboard/schedules/\(schedule.id)") }
        }

        private func addStores(_ number: Int) async throws {
            let address = SessionAddress(tenant: tenant, session: .default)
            // A semicolon would end what an origin says of a cookie.
            let name = text.replacing(";", with: "").replacing("=", with: "")
            let line = "\(number)\(name)=\(name); Path=/\(name.replacing("/", with: ""))"
            let url = try URLRecord("https://a.example/")
            try await server.cookies.set([try Cookie(setCookie: Array(line.utf8), from: url)], in: address)
            let credential = """
                {"protectionSpace": {"host": "a\(number).example", "realm": \(quoted(text)), \
                "authenticationMethod": "httpBasic"}, "user": \(quoted(text)), "password": "hunter2hunter2"}
                """
            _ = try await server.credentials.add(
                CredentialSubmission(json: JSONParser.parse(credential.utf8)), to: tenant)
            let time = UnixTime(seconds: 1_700_000_000 + Int64(number))
            let field = HTTPField(name: .contentType, value: text.filter(\.isASCII))
            let page = try URLRecord("https://a.example/page")
            let response = Response(
                url: page, status: .ok, headerFields: HTTPFields([field]), expectedContentLength: 3)
            let entry = CacheEntry(
                key: CacheKey(url: page), id: CacheEntry.ID(rawValue: UInt64(number)), selection: .any,
                response: response, requestTime: time, responseTime: time, bodyLength: 3)
            server.cache.put(CachedAnswer(entry: entry, tags: [text]), of: tenant)
        }

        private mutating func addDelivery() async throws {
            let url = try URLRecord("https://hooks.example/?secret=hunter2hunter2")
            let endpoint = WebhookEndpoint(tenant: tenant, url: url, events: WebhookEvent.ends)
            try await server.webhooks.add(endpoint)
            let delivery = WebhookDelivery(
                id: WebhookDelivery.ID(), tenant: tenant, endpoint: endpoint.id, subject: .job(Job.ID()),
                event: .jobFinished, createdAt: .now, attempts: 2, failures: 2)
            var stored = StoredDelivery(delivery, state: .abandoned, nextAttemptAt: .now)
            let fields = RawJSON(Array(#"[{"name":\#(quoted(text)),"value":\#(quoted(text))}]"#.utf8))
            let answer = DeliveryAttempt.Answer(status: 500, headers: fields, body: Array(text.utf8), isCut: false)
            stored.attempts = [.answer(answer), .error(name: text)].enumerated().map { index, result in
                DeliveryAttempt(
                    number: index + 1, startedAt: .now, duration: .seconds(1), url: "https://hooks.example/\(text)",
                    requestHeaders: fields, result: result)
            }
            server.webhooks.put(stored)
            if paths.count < 2 { paths.append("/dashboard/webhooks/deliveries/\(delivery.id)") }
        }

        private func addJob(_ number: Int) async throws {
            let spec = try JobSpec(
                json: JSONParser.parse(#"{"request":{"url":"https://h\#(number).example/"}}"#.utf8))
            let job = NewJob(tenant: tenant, spec: spec)
            _ = try await server.jobs.enqueue([job])
            let text = text
            server.jobs.change(job.id) { job in
                job.attempts = [
                    Job.Attempt(
                        number: 1, startedAt: .now, finishedAt: .now, state: .failed, errorName: text,
                        metrics: nil)
                ]
            }
            server.jobs.finish(job.id, .failed)
        }

        private mutating func addFigures() async throws {
            var figures = JobFigures()
            figures.openCircuits = (0..<min(count, JobFigures.maximumCircuits)).map { number in
                var limiter = Limiter(address: .init(tenant: tenant, kind: .host, key: "\(number) \(text)"))
                limiter.openCircuit = .init(until: .now.advanced(by: .seconds(60)), reason: text)
                return limiter
            }
            server.figures.set(figures)
            server.figures.set(
                (0..<count).map { _ in
                    NodeFigures(
                        id: Node.ID(), startedAt: .now, leaseUntil: .now, url: "http://\(text)", jobs: 3)
                })
            var database = DatabaseFigures(version: text, bytes: 1 << 40, connections: 1, maximumConnections: 2)
            database.migrations = (0..<count).map { .init(name: "\($0)\(text)", appliedAt: .now) }
            database.tables = [.init(name: text, bytes: 1, rows: 1)]
            server.figures.set(database)
        }
    }

    static let lists = [
        "/dashboard", "/dashboard/groups", "/dashboard/schedules", "/dashboard/sessions", "/dashboard/cookies",
        "/dashboard/credentials", "/dashboard/cache", "/dashboard/cache/explain?url=https%3A%2F%2Fa.example%2Fpage",
        "/dashboard/webhooks", "/dashboard/webhooks/deliveries", "/dashboard/hosts", "/dashboard/flows",
        "/dashboard/nodes", "/dashboard/tenants", "/dashboard/usage", "/dashboard/keys", "/dashboard/keys?tenant=*",
        "/dashboard/audit", "/dashboard/audit?tenant=*", "/dashboard/system",
    ]

    /// Runs a test in the browser of an operator of the service.
    static func test(
        _ server: TestServer, as role: Role = .admin,
        _ body: @escaping @Sendable (DashboardTests.Browser) async throws -> Void
    ) async throws {
        try await server.test { call async throws in
            let spec = APIKeySpec(name: role.rawValue, scopes: role.scopes)
            let token = try await server.keys.create(spec, for: .tenantOf(server.key)).1
            var browser = DashboardTests.Browser(call: call, cookie: nil)
            #expect(try await browser.signIn(token.revealed).status == .seeOther)
            try await body(browser)
        }
    }

    // Proves: SEC-72.
    @Test func `whatever a client or an origin says is text on every screen`() async throws {
        var server = try await TestServer()
        server.settings = [ShownSetting(name: "A", value: Self.canary, origin: Self.canary)]
        let things = try await Things(server, saying: Self.canary, count: 3)
        // On these there is nothing that anybody may word.
        let plain = ["/dashboard/usage", "/dashboard/webhooks", "/dashboard/webhooks/deliveries", "/dashboard/hosts"]
        try await Self.test(server) { browser in
            for path in Self.lists + things.paths {
                let page = try await browser.get(path)
                #expect(page.status == .ok, "\(path)")
                #expect(page.text.contains("canary") != plain.contains(path), "\(path)")
                for live in ["<b>", "<img", "</textarea>", "hunter2"] {
                    #expect(!page.text.contains(live), "\(path): \(live)")
                }
                #expect(page.text.components(separatedBy: "</title>").count - 1 == 1 + Self.charts(page), "\(path)")
                for tag in page.text.matches(of: /<[a-z][^>]*>/) {
                    // What stands between quotes is the value of an attribute, and holds no quote.
                    let names = tag.0.replacing(/"[^"]*"/, with: "")
                    #expect(!names.contains(/\s(on\w+|style|srcdoc)\b/) && !names.contains("'"), "\(path): \(tag.0)")
                }
                #expect(page.text.components(separatedBy: "<script").count == 2, "\(path)")
            }
        }
    }

    /// How many titles the pictures of a page have.
    private static func charts(_ page: TestAnswer) -> Int { page.text.components(separatedBy: "<g><title>").count - 1 }

    @Test func `every screen is small with full lists, and its list goes on`() async throws {
        var server = try await TestServer()
        server.settings = (0..<120).map {
            ShownSetting(name: "SETTING_\($0)", value: "some value", origin: "default: 1")
        }
        let things = try await Things(server, saying: "a text of a usual length, forty letters", count: 70)
        let ends = [
            "/dashboard", "/dashboard/cache/explain", "/dashboard/nodes", "/dashboard/usage", "/dashboard/system",
        ]
        try await Self.test(server) { browser in
            for path in Self.lists + things.paths {
                let page = try await browser.get(path)
                #expect(page.status == .ok && page.bytes.count <= 100_000, "\(path): \(page.bytes.count) bytes")
                guard Self.lists.contains(path), !ends.contains(String(path.prefix { $0 != "?" })) else { continue }
                let link = try #require(page.text.firstMatch(of: /rel="next" href="([^"]+)"/), "\(path)")
                let next = try await browser.get(String(link.1).replacing("&amp;", with: "&"))
                #expect(next.status == .ok && next.text != page.text, "\(path)")
            }
        }
    }

    // Proves: SEC-61.
    @Test func `an operator looks at another tenant, changes nothing of it, and that is in the audit log`()
        async throws
    {
        let server = try await TestServer()
        let other = Tenant.ID(rawValue: 2)
        let address = SessionAddress(tenant: other, session: .default)
        let url = try URLRecord("https://other.example/")
        try await server.cookies.set([try Cookie(setCookie: Array("id=hunter2".utf8), from: url)], in: address)
        try await server.limiters.setPaused(true, .init(tenant: other, kind: .host, key: "other.example"))
        try await Self.test(server) { browser in
            let cookies = try await browser.get("/dashboard/cookies?tenant=crawler")
            #expect(cookies.text.contains("other.example") && !cookies.text.contains("hunter2"))
            #expect(cookies.text.contains("You look at the tenant crawler"))
            #expect(!cookies.text.contains("/dashboard/cookies/delete"))
            let hosts = try await browser.get("/dashboard/hosts?tenant=crawler")
            #expect(hosts.text.contains("other.example") && !hosts.text.contains("/dashboard/hosts/resume"))
            #expect(try await browser.get("/dashboard/cookies?tenant=nobody").status == .notFound)
            #expect(!(try await browser.get("/dashboard/cookies").text.contains("other.example")))
            let noted = server.audit.all.filter { $0.action == AuditAction.readAsOperator.rawValue }
            #expect(noted.map(\.object).contains("/dashboard/cookies of crawler"))
            #expect(noted.allSatisfy { $0.signIn != nil && $0.chain == .service })
        }
        try await Self.test(server, as: .operator) { browser in
            let refused = try await browser.get("/dashboard/hosts?tenant=crawler")
            #expect(refused.status == .forbidden && !refused.text.contains("other.example"))
            #expect(!(try await browser.get("/dashboard/hosts").text.contains("name=\"tenant\"")))
        }
    }

    @Test func `a page asks for no less than the operation of the API that shows the same`() {
        let pairs = [
            "GET /dashboard/groups": "GET /v1/groups",
            "POST /dashboard/groups/{id}/close": "POST /v1/groups/{id}/close",
            "GET /dashboard/schedules": "GET /v1/schedules", "GET /dashboard/schedules/{id}": "GET /v1/schedules/{id}",
            "POST /dashboard/schedules/{id}/run": "POST /v1/schedules/{id}/run",
            "POST /dashboard/schedules/{id}/pause": "POST /v1/schedules/{id}/pause",
            "GET /dashboard/sessions": "GET /v1/sessions", "GET /dashboard/sessions/{id}": "GET /v1/sessions/{id}",
            "POST /dashboard/sessions/{id}/invalidate": "POST /v1/sessions/{id}/invalidate",
            "GET /dashboard/cookies": "GET /v1/cookies", "POST /dashboard/cookies/delete": "DELETE /v1/cookies",
            "GET /dashboard/credentials": "GET /v1/credentials",
            "POST /dashboard/credentials/{id}/delete": "DELETE /v1/credentials/{id}",
            "GET /dashboard/cache": "GET /v1/cache", "GET /dashboard/cache/explain": "GET /v1/cache/explain",
            "POST /dashboard/cache/purge": "DELETE /v1/cache", "GET /dashboard/webhooks": "GET /v1/webhooks/endpoints",
            "POST /dashboard/webhooks/{id}/rotate": "POST /v1/webhooks/endpoints/{id}/rotate",
            "POST /dashboard/webhooks/{id}/test": "POST /v1/webhooks/endpoints/{id}/test",
            "POST /dashboard/webhooks/{id}/disable": "PATCH /v1/webhooks/endpoints/{id}",
            "GET /dashboard/webhooks/deliveries": "GET /v1/webhooks/deliveries",
            "POST /dashboard/webhooks/deliveries/{id}/replay": "POST /v1/webhooks/deliveries/{id}/replay",
            "GET /dashboard/hosts": "GET /v1/hosts", "POST /dashboard/hosts/limits": "PUT /v1/hosts/{host}",
            "POST /dashboard/hosts/remove": "DELETE /v1/hosts/{host}",
            "POST /dashboard/flows/skip": "POST /v1/flows/{key}/skip", "GET /dashboard/usage": "GET /v1/usage",
            "GET /dashboard/tenants": "GET /v1/admin/tenants", "GET /dashboard/keys": "GET /v1/admin/keys",
            "POST /dashboard/keys/{id}/revoke": "DELETE /v1/admin/keys/{id}",
            "GET /dashboard/audit": "GET /v1/admin/audit",
        ]
        for (page, operation) in pairs {
            guard case .role(let role)? = DashboardAccess.table[page], let scope = Access.table[operation]?.scope else {
                Issue.record("\(page), \(operation)")
                continue
            }
            #expect(role.scopes.contains(scope), "\(page)")
        }
    }
}
