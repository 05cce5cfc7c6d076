import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The list of jobs of the dashboard, and what is done with many of them.
@Suite struct JobListTests {
    @discardableResult
    private static func add(
        _ server: TestServer, _ count: Int = 1, host: String = "a.example", more: String = "", _ end: JobState? = nil
    ) async throws -> [Job.ID] {
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://\#(host)/"}\#(more)}"#.utf8))
        var ids: [Job.ID] = []
        for _ in 0..<count {
            let job = NewJob(tenant: server.key.tenant, spec: spec)
            _ = try await server.jobs.enqueue([job])
            if let end { server.jobs.finish(job.id, end) }
            ids.append(job.id)
        }
        return ids
    }

    private static func ids(_ page: TestAnswer) -> [String] {
        page.text.matches(of: /<tr>.*?href="\/dashboard\/jobs\/(job_\w+)[?"]/).map { String($0.1) }
    }

    private static func link(_ kind: String, in page: TestAnswer) -> String? {
        page.text.matches(of: /<a (?:class="next" )?rel="(\w+)" href="([^"]+)"/).first { $0.1 == kind }
            .map { String($0.2).replacing("&amp;", with: "&") }
    }

    @Test func `a list without jobs says what to do next`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let first = try await browser.get("/dashboard/jobs")
            #expect(first.text.contains(#"There are no jobs yet. <a href="/dashboard/jobs/new">New job</a> makes one"#))
            try await Self.add(server)
            let none = try await browser.get("/dashboard/jobs?q=host:b.example")
            #expect(none.text.contains("No job matches.") && !none.text.contains("There are no jobs yet."))
            #expect(!(try await browser.get("/dashboard/jobs")).text.contains("There are no jobs yet."))
        }
    }

    @Test func `flows that jobs have named are shown, also without limits, and can be paused`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            #expect(try await browser.get("/dashboard/flows").text.contains("No job of a flow is among them."))
            try await Self.add(server, 2, more: #","flow":{"key":"<b>mail"}"#, .succeeded)
            try await Self.add(server, 3, .succeeded)
            let page = try await browser.get("/dashboard/flows")
            #expect(page.text.contains("&lt;b&gt;mail") && !page.text.contains("<b>mail"))
            let token = try DashboardTests.Browser.token(in: page)
            let flow = Limiter.Address(tenant: server.key.tenant, kind: .flow, key: "<b>mail")
            let id = LimiterCursor(after: Limiter(address: flow)).text
            #expect(page.text.contains(#"name="id" value="\#(id)""#))
            #expect(try await browser.post("/dashboard/flows/pause", "token=\(token)&id=\(id)").status == .seeOther)
            #expect(try await server.limiters.limiter(flow)?.isPaused == true)
        }
    }

    @Test func `a filter finds its jobs and their number, and says which word it does not know`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let failed = try await Self.add(server, 2, more: #","labels":{"team":"x y"}"#, .failed)
            try await Self.add(server, 3)
            try await Self.add(server, host: "b.example", .failed)
            for (text, count) in [
                ("", "6 jobs"), ("state:failed%20host:a.example", "2 jobs"), ("%22label:team=x%20y%22", "2 jobs"),
                ("b.example", "1 job"), ("https://b.example/", "1 job"), ("https://b.example/x", "0 jobs"),
                ("state:running", "0 jobs"),
            ] {
                let page = try await browser.get("/dashboard/jobs?q=\(text)")
                #expect(page.status == .ok && page.text.contains(">\(count)</strong>"), "\(text)")
            }
            #expect(try await Self.ids(browser.get("/dashboard/jobs?state=failed&host=a.example")).count == 2)
            let one = try await browser.get("/dashboard/jobs?q=\(failed[0])")
            #expect(one.status == .seeOther && one.headers[.location] == "/dashboard/jobs/\(failed[0])")
            let wrong = try await browser.get("/dashboard/jobs?q=%3Cb%3Ecanary")
            #expect(wrong.status == .badRequest && wrong.text.contains("“&lt;b&gt;canary” is no word of a filter."))
            #expect(wrong.text.contains(#"value="&lt;b&gt;canary""#) && !wrong.text.contains("<b>"))
            let spaced = try await browser.get("/dashboard/jobs?q=%22label:team=x%20y%22")
            #expect(spaced.text.contains(#"value="&quot;label:team=x y&quot;""#))
        }
    }

    @Test func `pages lead to older jobs and back, without gap or repeat`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let all = try await Self.add(server, 120).reversed().map(\.description)
            var pages = [try await browser.get("/dashboard/jobs?q=host:a.example")]
            #expect(Self.link("prev", in: pages[0]) == nil)
            while let next = Self.link("next", in: try #require(pages.last)) {
                pages.append(try await browser.get(next))
            }
            #expect(pages.map { Self.ids($0).count } == [50, 50, 20] && pages.flatMap(Self.ids) == all)
            var back = pages[2]
            for page in [1, 0] {
                back = try await browser.get(try #require(Self.link("prev", in: back)))
                #expect(Self.ids(back) == Self.ids(pages[page]))
            }
            #expect(Self.link("prev", in: back) == nil && Self.link("next", in: back) != nil)
        }
    }

    @Test func `what would happen to chosen jobs is said before it does`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let failed = try await Self.add(server, 2, .failed)
            let other = try await Self.add(server)[0]
            let query = "action=retry&q=&\(failed[0])=on&\(failed[1])=on&\(other)=on"
            let preview = try await browser.get("/dashboard/jobs/actions?\(query)")
            #expect(preview.text.contains("<h1>Retry 2 jobs?</h1>"))
            #expect(preview.text.contains("1 job of them would stay as they are."))
            #expect(try await server.jobs.job(failed[0], of: server.key.tenant)?.state == .failed)
            let form = "token=\(try DashboardTests.Browser.token(in: preview))&\(query)"
            #expect(try await browser.post("/dashboard/jobs/actions", "token=x&\(query)").status == .forbidden)
            let done = try await browser.post("/dashboard/jobs/actions", form)
            #expect(done.headers[.location] == "/dashboard/jobs?done=retry&changed=2&matched=3")
            let list = try await browser.get(try #require(done.headers[.location]))
            #expect(list.text.contains(">Retry: 2 of 3 jobs changed.</p>"))
            for id in failed { #expect(try await server.jobs.job(id, of: server.key.tenant)?.state == .queued) }
            let none = try await browser.get("/dashboard/jobs/actions?action=retry&q=")
            #expect(none.status == .badRequest && none.text.contains("No job is chosen"))
        }
    }

    @Test func `all jobs of a filter are deleted once the word for it is written`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            try await Self.add(server, 3, .failed)
            let kept = try await Self.add(server, host: "b.example", .failed) + (try await Self.add(server))
            let query = "action=delete&all=yes&q=host:a.example"
            let preview = try await browser.get("/dashboard/jobs/actions?\(query)")
            #expect(preview.text.contains("<h1>Delete 3 jobs?</h1>") && preview.text.contains("POST /v1/jobs/actions"))
            let form = "token=\(try DashboardTests.Browser.token(in: preview))&\(query)"
            #expect(try await browser.post("/dashboard/jobs/actions", form).status == .badRequest)
            #expect(server.jobs.count == 5)
            let done = try await browser.post("/dashboard/jobs/actions", form + "&confirm=delete")
            #expect(done.headers[.location] == "/dashboard/jobs?q=host%3Aa.example&done=delete&changed=3&matched=4")
            #expect(server.jobs.count == 2)
            for id in kept { #expect(try await server.jobs.job(id, of: server.key.tenant) != nil) }
        }
    }

    @Test func `a list is exported whole, as lines of JSON and as a table`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let ids = try await Self.add(server, 60, .failed).reversed().map(\.description)
            try await Self.add(server)
            let lines = try await browser.get("/dashboard/jobs/export?form=ndjson&q=state:failed")
            #expect(lines.headers[.contentDisposition] == #"attachment; filename="jobs.ndjson""#)
            #expect(lines.headers[.contentType] == "application/x-ndjson")
            let read = try lines.bytes.split(separator: UInt8(ascii: "\n")).map {
                try JSONParser.parse($0)["id"]?.string
            }
            #expect(read == ids)
            let table = try await browser.get("/dashboard/jobs/export?form=csv&q=state:failed")
            #expect(table.headers[.contentType] == "text/csv; charset=utf-8")
            let rows = table.text.split(separator: "\r\n")
            #expect(rows.first == "id,state,createdAt,finishedAt,method,url,status,error")
            #expect(rows.dropFirst().map { String($0.prefix { $0 != "," }) } == ids)
            #expect(try await browser.get("/dashboard/jobs/export?q=x").status == .badRequest)
        }
    }

    @Test func `an operator lists another tenant's jobs and reads them, and changes nothing`() async throws {
        let server = try await TestServer()
        let other = Tenant.ID(rawValue: 2)
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://theirs.example/"}}"#.utf8))
        let jobs = (0..<60).map { _ in NewJob(tenant: other, spec: spec) }
        _ = try await server.jobs.enqueue(jobs)
        let body = JobPageTests.body(Array("canary".utf8), "text/plain")
        for job in jobs { server.jobs.finish(job.id, .failed, body: body) }
        try await Self.add(server)
        try await DashboardScreenTests.test(server) { browser in
            #expect(try await browser.get("/dashboard/jobs").text.contains(#"name="tenant""#))
            #expect(!(try await browser.get("/dashboard/jobs?tenant=&q=").text.contains("theirs.example")))
            let page = try await browser.get("/dashboard/jobs?tenant=crawler&q=state:failed")
            #expect(page.text.contains("You look at the tenant crawler") && Self.ids(page).count == 50)
            #expect(!page.text.contains("checkbox") && !page.text.contains("New job"))
            let older = try await browser.get(try #require(Self.link("next", in: page)))
            #expect(Self.ids(older).count == 10 && !older.text.contains("a.example/"))
            let one = "/dashboard/jobs/\(jobs[0].id)"
            let named = try await browser.get("/dashboard/jobs?tenant=crawler&q=\(jobs[0].id)")
            #expect(named.headers[.location] == "\(one)?tenant=crawler")
            let job = try await browser.get("\(one)?tenant=crawler")
            #expect(job.text.contains("You look at the tenant crawler") && job.text.contains("theirs.example"))
            #expect(!job.text.contains("canary") && !job.text.contains("\(one)/retry") && !job.text.contains("Delete…"))
            let json = try #require(job.text.firstMatch(of: /href="([^"]+\/json[^"]*)"/)).1
            #expect(try await browser.get(String(json)).text.contains("theirs.example"))
            let export = try await browser.get("/dashboard/jobs/export?form=csv&q=&tenant=crawler")
            #expect(export.text.split(separator: "\r\n").count == 61)
            let token = try DashboardTests.Browser.token(in: job)
            #expect(try await browser.post("\(one)/retry", "token=\(token)").status == .notFound)
            #expect(try await browser.get(one).status == .notFound)
            #expect(try await browser.get("\(one)/body?tenant=crawler").status == .notFound)
            let noted = server.audit.all.filter { $0.action == AuditAction.readAsOperator.rawValue }.map(\.object)
            #expect(noted.contains("/dashboard/jobs of crawler") && noted.contains("\(one) of crawler"))
        }
        try await DashboardScreenTests.test(server, as: .operator) { browser in
            for path in ["jobs", "jobs/\(jobs[0].id)", "jobs/export"] {
                let refused = try await browser.get("/dashboard/\(path)?tenant=crawler")
                #expect(refused.status == .forbidden && !refused.text.contains("theirs.example"))
            }
        }
    }

    @Test func `who may only look is shown no buttons`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            try await Self.add(server)
            let spec = APIKeySpec(name: "viewer", scopes: Role.viewer.scopes)
            let token = try await server.keys.create(spec, for: .tenantOf(server.key)).1
            var browser = DashboardTests.Browser(call: call, cookie: nil)
            _ = try await browser.signIn(token.revealed)
            let page = try await browser.get("/dashboard/jobs")
            #expect(page.text.contains("1 job<") && !page.text.contains("checkbox"))
            #expect(!page.text.contains(#"name="action""#))
        }
    }
}
