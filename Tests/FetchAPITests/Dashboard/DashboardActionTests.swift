import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The forms of the screens with lists.
@Suite struct DashboardActionTests {
    private static func test(
        _ server: TestServer,
        _ body: @escaping @Sendable (DashboardTests.Browser, _ token: String) async throws -> Void
    ) async throws {
        try await DashboardScreenTests.test(server) { browser in
            try await body(browser, try DashboardTests.Browser.token(in: try await browser.get("/dashboard")))
        }
    }

    @Test func `a schedule is run, paused and resumed by its own page`() async throws {
        let server = try await TestServer()
        let json = #"{"interval": 3600, "job": {"request": {"url": "https://a.example/?key=secret"}}}"#
        let spec = try ScheduleSpec(json: JSONParser.parse(json.utf8))
        let schedule = Schedule(tenant: server.key.tenant, spec: spec)
        _ = try await server.schedules.create(schedule, nil)
        try await Self.test(server) { browser, token in
            let path = "/dashboard/schedules/\(schedule.id)"
            let page = try await browser.get(path)
            #expect(page.text.contains("every 3600 s") && page.text.contains("Next times"))
            #expect(page.text.components(separatedBy: "<time").count > 20)
            #expect(try await browser.post("\(path)/run", "token=x").status == .forbidden)
            let run = try await browser.post("\(path)/run", "token=\(token)")
            #expect(run.headers[.location]?.hasPrefix("/dashboard/jobs/job_") == true)
            #expect(server.jobs.count == 1)
            #expect(try await browser.post("\(path)/pause", "token=\(token)").headers[.location] == path)
            #expect(try await server.schedules.schedule(schedule.id, of: server.key.tenant)?.pausedAt != nil)
            #expect(try await browser.get("/dashboard/schedules").text.contains("paused"))
            _ = try await browser.post("\(path)/resume", "token=\(token)")
            #expect(try await server.schedules.schedule(schedule.id, of: server.key.tenant)?.pausedAt == nil)
        }
    }

    @Test func `limits are set, and what breaks a rule is refused with its name`() async throws {
        let server = try await TestServer()
        let host = Limiter.Address(tenant: server.key.tenant, kind: .host, key: "a.example")
        try await Self.test(server) { browser, token in
            let form = "token=\(token)&name=A.example&parallelism=3&jobs=10&period=60&bytes="
            #expect(try await browser.post("/dashboard/hosts/limits", form).headers[.location] == "/dashboard/hosts")
            #expect(try await server.limiters.limiter(host)?.limits.parallelism == 3)
            #expect(try await browser.get("/dashboard/hosts").text.contains("3 at once, 10 in 60 s"))
            let wrong = try await browser.post("/dashboard/hosts/limits", "token=\(token)&name=a.example&parallelism=x")
            #expect(wrong.status == .unprocessableContent && wrong.text.contains("<h1>"))
            let id = LimiterCursor(after: Limiter(address: host)).text
            _ = try await browser.post("/dashboard/hosts/remove", "token=\(token)&id=\(id)")
            #expect(try await server.limiters.limiter(host) == nil)
            let flow = Limiter.Address(tenant: server.key.tenant, kind: .flow, key: "f")
            _ = try await browser.post("/dashboard/flows/limits", "token=\(token)&name=f&order=fifoBlock&pinned=rate")
            let limits = try await server.limiters.limiter(flow)?.limits
            #expect(limits?.onFailure == .block && limits?.pinned == [.rate])
            #expect(try await browser.get("/dashboard/flows").text.contains("a failure blocks, rate pinned"))
        }
    }

    @Test func `a secret is rotated and shown once, and an endpoint is disabled and enabled`() async throws {
        let server = try await TestServer()
        let endpoint = WebhookEndpoint(
            tenant: server.key.tenant, url: try URLRecord("https://hooks.example/"), events: WebhookEvent.ends)
        try await server.webhooks.add(endpoint)
        let delivery = WebhookDelivery(
            id: WebhookDelivery.ID(), tenant: server.key.tenant, endpoint: endpoint.id, subject: .job(Job.ID()),
            event: .jobFinished, createdAt: .now, attempts: 1, failures: 1)
        server.webhooks.put(StoredDelivery(delivery, state: .abandoned, nextAttemptAt: .now))
        try await Self.test(server) { browser, token in
            let path = "/dashboard/webhooks/\(endpoint.id)"
            let rotated = try await browser.post("\(path)/rotate", "token=\(token)")
            let now = try #require(try await server.webhooks.endpoint(endpoint.id, of: server.key.tenant))
            #expect(now.secret != endpoint.secret && now.previousSecret?.secret == endpoint.secret)
            #expect(rotated.text.contains(now.secret.revealed))
            #expect(!(try await browser.get("/dashboard/webhooks").text.contains("whsec_")))
            let test = try await browser.post("\(path)/test", "token=\(token)")
            let page = try #require(test.headers[.location])
            #expect(test.status == .seeOther)
            #expect(try await browser.get(page).text.contains("endpoint.test"))
            #expect(try await browser.post("\(path)/test", "token=x").status == .forbidden)
            let replay = "/dashboard/webhooks/deliveries/\(delivery.id)/replay"
            #expect(try await browser.post(replay, "token=\(token)").status == .seeOther)
            #expect(
                try await server.webhooks.delivery(delivery.id, of: server.key.tenant)?.state == .pending)
            _ = try await browser.post("\(path)/disable", "token=\(token)")
            #expect(try await browser.get("/dashboard/webhooks").text.contains("disabled: requested"))
            _ = try await browser.post("\(path)/enable", "token=\(token)")
            #expect(try await browser.get("/dashboard/webhooks").text.contains(">enabled<"))
        }
    }

    @Test func `cookies, credentials, answers and keys are removed one by one`() async throws {
        let server = try await TestServer()
        let things = try await DashboardScreenTests.Things(server, saying: "plain", count: 2)
        let tenant = server.key.tenant
        try await Self.test(server) { browser, token in
            #expect(things.paths.count == 3)
            func send(_ list: String, _ action: Regex<(Substring, Substring)>, _ form: String = "") async throws {
                let page = try await browser.get(list)
                let match = try #require(page.text.firstMatch(of: action), "\(list)")
                let answer = try await browser.post(String(match.1), "token=\(token)\(form)")
                #expect(answer.status == .seeOther, "\(list): \(answer.text)")
            }
            let page = try await browser.get("/dashboard/cookies")
            let cookie = try #require(page.text.firstMatch(of: /name="cookie" value="([^"]+)"/)).1
            let form = "token=\(token)&session=default&cookie=\(cookie)"
            #expect(try await browser.post("/dashboard/cookies/delete", form).status == .seeOther)
            let address = SessionAddress(tenant: tenant, session: .default)
            #expect(try await server.cookies.cookies(of: address).count == 1)
            try await send("/dashboard/credentials", /action="(\/dashboard\/credentials\/crd_\w+\/delete)"/)
            #expect(try await server.credentials.credentials(of: address).count == 1)
            let cache = try await browser.get("/dashboard/cache")
            let answer = try #require(cache.text.firstMatch(of: /name="answer" value="(cch_\w+)"/)).1
            _ = try await browser.post("/dashboard/cache/purge", "token=\(token)&answer=\(answer)")
            #expect(try await server.cache.answers(CacheFilter(), of: tenant, after: nil, limit: 9).count == 1)
            #expect(try await browser.post("/dashboard/cache/purge", "token=\(token)&host=").status == .badRequest)
            try await send("/dashboard/groups", /action="(\/dashboard\/groups\/grp_\w+\/close)"/)
            #expect(try await server.groups.groups(of: tenant, after: nil, limit: 9).count { $0.closedAt != nil } == 1)
            let keys = try await server.keys.keys(of: tenant, after: nil, limit: 9)
            let plain = try #require(keys.first { $0.key.spec.name == "plain" }?.key)
            _ = try await browser.post("/dashboard/keys/\(plain.id)/revoke", "token=\(token)")
            #expect(try await server.keys.key(plain.id, of: tenant)?.key.revokedAt != nil)
            let session = try #require(things.paths.first { $0.contains("ses_") })
            _ = try await browser.post("\(session)/invalidate", "token=\(token)&mode=cancel")
            #expect(!(try await browser.get(session).text.contains(">active<")))
        }
    }
}
