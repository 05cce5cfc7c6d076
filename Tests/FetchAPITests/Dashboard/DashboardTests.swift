import FetchJobs
import FetchRuntime
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct DashboardTests {
    /// Requests as a browser makes them that has signed in.
    struct Browser {
        let call: TestCalls
        var cookie: String?

        func get(_ path: String) async throws -> TestAnswer {
            try await call(.get, path, headers: [.authorization: "", .cookie: cookie ?? ""])
        }

        func post(_ path: String, _ form: String, site: String = "same-origin") async throws -> TestAnswer {
            try await call(
                .post,
                path,
                headers: [
                    .authorization: "", .cookie: cookie ?? "", .secFetchSite: site,
                    .contentType: "application/x-www-form-urlencoded",
                ],
                body: form
            )
        }

        mutating func signIn(_ token: String) async throws -> TestAnswer {
            let answer = try await post("/dashboard/sign-in", "key=\(token)&next=%2Fdashboard%2Fjobs")
            cookie = answer.headers[.setCookie].map { String($0.prefix { $0 != ";" }) }
            return answer
        }

        /// The token in the forms of a page, as it is sent back.
        static func token(in page: TestAnswer) throws -> String {
            let start = try #require(page.text.range(of: "name=\"token\" value=\""))
            let token = String(page.text[start.upperBound...].prefix { $0 != "\"" })
            return token.replacing("+", with: "%2B").replacing("=", with: "%3D")
        }
    }

    static func test(
        _ server: TestServer,
        _ body: @escaping @Sendable (inout Browser, TestServer) async throws -> Void
    ) async throws {
        try await server.test { call async throws in
            var browser = Browser(call: call, cookie: nil)
            _ = try await browser.signIn(server.token.revealed)
            try await body(&browser, server)
        }
    }

    @Test func `a tenant that floods the dashboard is told to wait, and nobody else is`() async throws {
        var server = try await TestServer()
        server.maximumPagesPerSecond = 1
        let (_, other) = try await server.keys.create(name: "other", tenant: "other", scopes: .all)
        try await Self.test(server) { browser, server in
            for _ in 0..<2 { #expect(try await browser.get("/dashboard/usage").status == .ok) }
            let refused = try await browser.get("/dashboard/usage")
            #expect(refused.status == .tooManyRequests && refused.problem == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "1" && refused.headers[.contentSecurityPolicy] != nil)
            #expect(refused.headers[.rateLimitPolicy] == #""pages";q=2;w=2"#)
            // What the tenant calls by its key has a rate of its own.
            #expect(try await browser.call(.get, "/v1/usage").status == .ok)
            var stranger = Browser(call: browser.call, cookie: nil)
            _ = try await stranger.signIn(other.revealed)
            #expect(try await stranger.get("/dashboard/usage").status == .ok)
        }
        #expect(server.metrics.text.contains(#"fetchd_limit_refusals_total{limit="pages"} 1"#))
    }

    @Test func `who has not signed in is sent to do so and comes back`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            var browser = Browser(call: call, cookie: nil)
            let answer = try await browser.get("/dashboard/jobs?state=failed")
            #expect(answer.status == .seeOther)
            #expect(answer.headers[.location] == "/dashboard/sign-in?next=/dashboard/jobs%3Fstate=failed")
            let form = try await browser.get("/dashboard/sign-in?next=/dashboard/jobs%3Fstate=failed")
            #expect(form.text.contains(#"value="/dashboard/jobs?state=failed""#))
            let wrong = try await browser.signIn("fk_wrong")
            #expect(wrong.status == .unauthorized)
            #expect(wrong.headers[.setCookie] == nil)
            let right = try await browser.signIn(server.token.revealed)
            #expect(right.status == .seeOther)
            #expect(right.headers[.location] == "/dashboard/jobs")
        }
    }

    @Test func `a page that another node passes on is for who has signed in there by another name`() async throws {
        try await Self.test(try await TestServer()) { browser, _ in
            let value = try #require(browser.cookie?.split(separator: "=", maxSplits: 1).last)
            // As browsers call it that speak TLS to the other node.
            let cookie = "__Host-fetchd=\(value)"
            for (via, status) in [("1.1 \(Node.ID())", HTTPResponse.Status.ok), ("1.1 proxy", .seeOther)] {
                let answer = try await browser.call(
                    .get, "/dashboard/jobs", headers: [.authorization: "", .cookie: cookie, .via: via])
                #expect(answer.status == status, "\(via)")
            }
        }
    }

    // Proves: SEC-70.
    @Test func `the cookie is out of reach of scripts and other sites`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            let answer = try await browser.signIn(server.token.revealed)
            let field = try #require(answer.headers[.setCookie])
            // The test's authority is this machine, so the name is without its prefix.
            #expect(field.hasPrefix("fetchd="))
            #expect(field.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
            #expect(!field.contains(server.token.revealed))
        }
    }

    // Proves: SEC-72.
    @Test func `every page is a small one that loads nothing from elsewhere`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            for _ in 0..<120 {
                let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8))
                _ = try await server.jobs.enqueue([NewJob(tenant: server.key.tenant, spec: spec)])
            }
            let pages = ["/dashboard", "/dashboard/jobs", "/dashboard/hosts", "/dashboard/flows", "/dashboard/sign-in"]
            for path in pages + ["/dashboard/jobs/x"] {
                let page = try await browser.get(path)
                #expect(page.bytes.count <= 100_000, "\(path)")
                let policy = try #require(page.headers[.contentSecurityPolicy])
                #expect(policy.hasPrefix("default-src 'none'"))
                #expect(policy.contains("frame-ancestors 'none'"))
                #expect(page.headers[.referrerPolicy] == "no-referrer")
                #expect(page.headers[.cacheControl] == "no-store")
                let scripts = page.text.matches(of: /<script[^>]*>/).map { String($0.output) }
                #expect(scripts == [#"<script src="/dashboard/app.js" defer>"#])
                #expect(!page.text.contains(" style="))
            }
        }
    }

    @Test func `the overview counts by state and leads to the lists`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8))
            let failed = NewJob(tenant: server.key.tenant, spec: spec)
            _ = try await server.jobs.enqueue([failed, NewJob(tenant: server.key.tenant, spec: spec)])
            server.jobs.finish(failed.id, .failed)
            let page = try await browser.get("/dashboard")
            #expect(page.text.contains(#"<a href="/dashboard/jobs?state=failed"><span class="number">1</span>"#))
            #expect(page.text.contains("/dashboard/jobs/\(failed.id)"))
            let list = try await browser.get("/dashboard/jobs?state=queued")
            #expect(!list.text.contains(failed.id.description))
            #expect(list.text.contains(#"<a href="/dashboard/jobs?q=state%3Aqueued" aria-current="page">queued</a>"#))
        }
    }

    // Proves: SEC-72.
    @Test func `whatever an origin sends is text`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            // A quote with a combining mark is one character to Swift and a quote to a browser.
            let canary = "\"\u{301}'<b>canary</b>&\u{202E}"
            var writer = JSONWriter()
            writer.value(canary)
            let quoted = writer.text
            let spec = try JobSpec(
                json: JSONParser.parse(
                    #"{"request":{"url":"https://a.example/"},"labels":{\#(quoted):\#(quoted)}}"#.utf8
                )
            )
            let job = NewJob(tenant: server.key.tenant, spec: spec)
            _ = try await server.jobs.enqueue([job])
            let facts = #"{"url":\#(quoted),"status":200,"headers":[{"name":\#(quoted),"value":\#(quoted)}]}"#
            server.jobs.change(job.id) { job in
                job.response = RawJSON(Array(facts.utf8))
                job.error = RawJSON(Array(#"{"name":\#(quoted),"message":\#(quoted)}"#.utf8))
                job.attempts = [
                    Job.Attempt(
                        number: 1,
                        startedAt: .now,
                        finishedAt: .now,
                        state: .failed,
                        errorName: canary,
                        metrics: RawJSON(
                            Array(#"[{"url":\#(quoted),"networkProtocolName":\#(quoted),"duration":1}]"#.utf8)
                        )
                    )
                ]
            }
            let body = Array(canary.utf8)
            server.jobs.finish(
                job.id,
                .failed,
                body: StoredBody(
                    location: .inline(body),
                    bytes: Int64(body.count),
                    digest: SHA256Digest(of: body),
                    contentType: "text/html"
                )
            )
            let page = try await browser.get("/dashboard/jobs/\(job.id)")
            #expect(page.status == .ok)
            #expect(page.text.contains("canary"))
            #expect(!page.text.contains("<b>"))
            #expect(!page.text.unicodeScalars.contains("\u{202E}"))
            #expect(page.text.contains("&quot;\u{301}&#39;&lt;b&gt;canary"))
            #expect(page.text.components(separatedBy: "canary").count >= 9)
        }
    }

    // Proves: SEC-71.
    @Test func `a job is cancelled by its own page and by no other`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8))
            let job = NewJob(tenant: server.key.tenant, spec: spec)
            _ = try await server.jobs.enqueue([job])
            let path = "/dashboard/jobs/\(job.id)"
            let token = try Browser.token(in: try await browser.get(path))
            for (form, site) in [("", "same-origin"), ("token=x", "same-origin"), ("token=\(token)", "cross-site")] {
                #expect(try await browser.post("\(path)/cancel", form, site: site).status == .forbidden)
            }
            #expect(try await server.jobs.job(job.id, of: server.key.tenant)?.state == .queued)
            #expect(try await browser.get("\(path)/cancel").status == .methodNotAllowed)
            #expect(try await browser.post("\(path)/cancel", "token=\(token)").status == .seeOther)
            #expect(try await server.jobs.job(job.id, of: server.key.tenant)?.state == .cancelled)
        }
    }

    @Test func `a job that has failed is tried again by its own page, and counts for the key of the session`()
        async throws
    {
        let server = try await TestServer()
        try await server.test { call async throws in
            let spec = APIKeySpec(name: "few", scopes: Role.operator.scopes, maximumJobs: 1)
            let (key, token) = try await server.keys.create(spec, for: .tenantOf(server.key))
            var browser = Browser(call: call, cookie: nil)
            _ = try await browser.signIn(token.revealed)
            let job = NewJob(
                tenant: key.tenant,
                spec: try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8)))
            _ = try await server.jobs.enqueue([job])
            let path = "/dashboard/jobs/\(job.id)"
            var page = try await browser.get(path)
            let form = "token=\(try Browser.token(in: page))"
            #expect(!page.text.contains("\(path)/retry"))
            #expect(try await browser.post("\(path)/retry", form).status == .conflict)
            server.jobs.finish(job.id, .failed)
            page = try await browser.get(path)
            #expect(page.text.contains("\(path)/retry") && !page.text.contains("\(path)/cancel"))
            #expect(try await browser.post("\(path)/retry", "token=x").status == .forbidden)
            #expect(try await browser.post("\(path)/retry", form).headers[.location] == path)
            #expect(try await server.jobs.job(job.id, of: key.tenant)?.state == .queued)
            server.jobs.finish(job.id, .failed)
            let exhausted = try await browser.post("\(path)/retry", form)
            #expect(exhausted.status == .forbidden && exhausted.text.contains("As many jobs were submitted"))
        }
    }

    // R11, R35
    @Test func `hosts and flows are shown with what holds them, and paused and resumed by their own page`()
        async throws
    {
        try await Self.test(try await TestServer()) { browser, server in
            let tenant = server.key.tenant
            let host = Limiter.Address(tenant: tenant, kind: .host, key: "a.example")
            let flow = Limiter.Address(tenant: tenant, kind: .flow, key: "<b>\u{202E}canary")
            var limits = SharedLimits()
            limits.parallelism = 4
            try await server.limiters.set(limits, of: host)
            try await server.limiters.setPaused(true, flow)
            var page = try await browser.get("/dashboard/hosts")
            #expect(page.text.contains("a.example") && page.text.contains("4 at once") && page.text.contains(">open<"))
            let token = try Browser.token(in: page)
            for (form, site) in [("", "same-origin"), ("token=x", "same-origin"), ("token=\(token)", "cross-site")] {
                let answer = try await browser.post("/dashboard/hosts/pause", "\(form)&name=a.example", site: site)
                #expect(answer.status == .forbidden)
            }
            let paused = try await browser.post("/dashboard/hosts/pause", "token=\(token)&name=A.example")
            #expect(paused.status == .seeOther && paused.headers[.location] == "/dashboard/hosts")
            #expect(try await server.limiters.limiter(host)?.isPaused == true)
            #expect(try await browser.get("/dashboard/hosts").text.contains(">paused<"))
            #expect(try await browser.post("/dashboard/hosts/pause", "token=\(token)&name=a/b").status == .notFound)

            page = try await browser.get("/dashboard/flows")
            #expect(page.text.contains("&lt;b&gt;") && page.text.contains("canary</span>"))
            #expect(page.text.contains(">paused<"))
            let id = LimiterCursor(after: Limiter(address: flow)).text
            #expect(page.text.contains(id))
            #expect(try await browser.post("/dashboard/flows/resume", "token=\(token)&id=\(id)").status == .seeOther)
            #expect(try await server.limiters.limiter(flow)?.isPaused == false)
        }
    }

    @Test func `a long list of flows goes on`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            for number in 100..<160 {
                try await server.limiters.setPaused(
                    true, Limiter.Address(tenant: server.key.tenant, kind: .flow, key: "flow-\(number)"))
            }
            let first = try await browser.get("/dashboard/flows")
            #expect(first.text.contains("flow-149") && !first.text.contains("flow-150"))
            let start = try #require(first.text.range(of: #"rel="next" href=""#))
            let next = try await browser.get(String(first.text[start.upperBound...].prefix { $0 != "\"" }))
            #expect(next.text.contains("flow-150") && next.text.contains("flow-159"))
            #expect(!next.text.contains(#"rel="next""#))
        }
    }

    // Proves: SEC-70.
    @Test func `signing out ends the session, though its cookie is kept`() async throws {
        try await Self.test(try await TestServer()) { browser, _ in
            let token = try Browser.token(in: try await browser.get("/dashboard"))
            let answer = try await browser.post("/dashboard/sign-out", "token=\(token)")
            #expect(answer.headers[.setCookie]?.contains("Max-Age=0") == true)
            #expect(try await browser.get("/dashboard").status == .seeOther)
        }
    }

    // Proves: SEC-41.
    @Test func `another tenant's job is not there`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            let (other, _) = try await server.keys.create(name: "other", tenant: "other")
            let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://a.example/"}}"#.utf8))
            let job = NewJob(tenant: other.tenant, spec: spec)
            _ = try await server.jobs.enqueue([job])
            #expect(try await browser.get("/dashboard/jobs/\(job.id)").status == .notFound)
        }
    }
}
