import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The screens with figures and lists, in a real browser, without JavaScript, on a screen of any size.
@Suite struct DashboardScreensTests {
    /// By the names of their screenshots.
    private static let screens = [
        ("overview", "/dashboard"), ("jobs", "/dashboard/jobs"), ("job", "/dashboard/jobs/{id}"),
        ("newJob", "/dashboard/jobs/new"), ("newJobJSON", "/dashboard/jobs/new?view=json"),
        ("newJobCurl", "/dashboard/jobs/new?view=curl"), ("questions", "/dashboard/questions"),
        ("groups", "/dashboard/groups"), ("schedules", "/dashboard/schedules"),
        ("schedule", "/dashboard/schedules/{schedule}"), ("sessions", "/dashboard/sessions"),
        ("session", "/dashboard/sessions/default"), ("ownSession", "/dashboard/sessions/{session}"),
        ("cookies", "/dashboard/cookies"), ("credentials", "/dashboard/credentials"), ("cache", "/dashboard/cache"),
        ("explain", "/dashboard/cache/explain?url="), ("webhooks", "/dashboard/webhooks"),
        ("deliveries", "/dashboard/webhooks/deliveries"), ("delivery", "/dashboard/webhooks/deliveries/{delivery}"),
        ("bulk", "/dashboard/jobs/actions?action=retry&q=state%3Afailed&all=yes"),
        ("noMatch", "/dashboard/jobs?q=host%3Anone.example"), ("notFound", "/dashboard/schedules/sch_none"),
        ("hosts", "/dashboard/hosts"), ("flows", "/dashboard/flows"),
        ("nodes", "/dashboard/nodes"), ("tenants", "/dashboard/tenants"), ("usage", "/dashboard/usage"),
        ("keys", "/dashboard/keys"), ("audit", "/dashboard/audit"), ("system", "/dashboard/system"),
    ]

    /// Set `SCREENSHOTS` to a directory to look at the pages of the browser.
    private func keep(_ browser: Browser, as name: String) async throws {
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        let screenshot = try await browser.screenshot
        #expect(screenshot.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        try screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }

    /// An origin that lets be cached, fails, asks for patience, and takes webhooks.
    private func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.contains("POST /hook") {
                    try connection.send("HTTP/1.1 500 Broken\r\nContent-Length: 9\r\n\r\n<b>no</b>")
                } else if head.hasPrefix("GET /busy") {
                    try connection.send("HTTP/1.1 503 Busy\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n")
                } else if head.hasPrefix("GET /missing") {
                    try connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                } else {
                    try connection.send(
                        "HTTP/1.1 200 OK\r\n"
                            + "Cache-Control: max-age=600\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")
                }
            }
        }
    }

    /// Something of everything that the screens show.
    ///
    /// - Returns: By the names in ``screens`` the ids of a job that has a webhook and a body, of its delivery, and of
    ///   others.
    @discardableResult
    private func fill(_ service: ServiceProcess, _ origin: WireOrigin) async throws -> [String: String] {
        func make(_ path: String, _ body: String, _ method: HTTPRequest.Method = .post) async throws -> String {
            let answer = try await service.request(method, path, body: body)
            try #require(answer.status < 300, "\(path): \(answer.text)")
            return member(answer.json, "id") ?? ""
        }
        let url = origin.url("/hook")
        let hook = try await make("/v1/webhooks/endpoints", #"{"url": "\#(url)", "events": ["job.finished"]}"#)
        let group = try await make("/v1/groups", #"{"labels": {"batch": "<b>nightly</b>"}}"#)
        for path in ["/page", "/page", "/missing"] { _ = try await service.fetch(origin.url(path)) }
        let more = #""webhook": {"endpoint": "\#(hook)"}, "group": "\#(group)""#
        var jobs: [String] = []
        for url in [origin.url("/other"), "http://10.0.0.1/", "http://10.0.0.2/"] {
            let job = try await make("/v1/jobs", #"{"request": {"url": "\#(url)"}, \#(more)}"#)
            jobs.append(job)
            _ = try await service.job(job) { ["succeeded", "failed"].contains(member($0, "state") ?? "") }
        }
        let job = #"{"request": {"url": "\#(origin.url("/page"))?token=hidden"}}"#
        let labels = #""labels": {"why": "<b>news</b>"}"#
        let schedule = try await make("/v1/schedules", #"{"cron": "*/5 * * * *", "job": \#(job), \#(labels)}"#)
        let session = try await make(
            "/v1/sessions", #"{"description": "<b>shop</b>", "configuration": {"timeouts": {"connect": 5}}}"#)
        let space = #""host": "127.0.0.1", "port": 80, "protocol": "http", "authenticationMethod": "httpBasic""#
        _ = try await make(
            "/v1/credentials", #"{"protectionSpace": {\#(space)}, "user": "<b>me</b>", "password": "hunter2hunter2"}"#)
        let cookie = #"{"name": "visitor", "value": "<i>hidden</i>", "domain": "shop.example"}"#
        _ = try await make("/v1/cookies", #"{"cookies": [\#(cookie)]}"#)
        _ = try await make("/v1/hosts/shop.example", #"{"parallelism": 4, "rate": {"jobs": 10, "period": 60}}"#, .put)
        _ = try await make("/v1/flows/mail", #"{"order": "fifo"}"#, .put)
        _ = try await service.fetch(origin.url("/busy"))
        let deliveries = try await service.request(.get, "/v1/webhooks/deliveries?job=\(jobs[0])")
        let delivery = try #require(member(deliveries.json, "data", "0", "id", as: String.self))
        return ["id": jobs[0], "schedule": schedule, "session": session, "delivery": delivery]
    }

    /// The address of a screen.
    private static func address(
        _ name: String, _ path: String, _ ids: [String: String], _ origin: WireOrigin
    ) -> String {
        ids.reduce(path) { $0.replacing("{\($1.key)}", with: $1.value) }
            + (name == "explain" ? origin.url("/page").escaped : "")
    }

    /// Whether the background of a page is as dark or as light as the scheme.
    private func isShown(in theme: String, by browser: Browser) async throws -> Bool {
        let color = try await browser.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number)", as: [Int].self)
        return color.reduce(0, +) < 384 ? theme == "dark" : theme == "light"
    }

    @Test(.timeLimit(.minutes(4)))
    func `every screen is there without JavaScript, on a desk and on a phone, light and dark`() async throws {
        let origin = try origin()
        let address = "127.0.0.1:\(origin.port)"
        try await ServiceProcess.Place.with(allowing: [address]) { place in
            let key = try await place.key(scopes: .all)
            let service = try await ServiceProcess.start(place, key: key)
            let ids = try await fill(service, origin)
            for (width, theme) in [(1280, "light"), (1280, "dark"), (1000, "light"), (360, "light")] {
                try await Browser.with(width: width, flags: ["--blink-settings=scriptEnabled=false"]) { browser in
                    try await browser.resize(width: width, height: 1600)
                    try await browser.prefer(scheme: theme)
                    try await browser.open(service.base + "/dashboard")
                    try await browser.type(key, into: "#key")
                    try await browser.follow("form.card button")
                    for (name, path) in Self.screens {
                        try await browser.open(service.base + Self.address(name, path, ids, origin))
                        let heading = try await browser.text("h1")
                        let main = try await browser.text("main")
                        #expect(!heading.isEmpty && heading != "Sign in", "\(name)")
                        // The page of a schedule has its job as it was submitted.
                        for secret in ["hunter2"] + (name == "schedule" ? [] : ["hidden"]) {
                            #expect(!main.contains(secret), "\(name)")
                        }
                        #expect(try await browser.evaluate("window.innerWidth", as: Int.self) == width)
                        #expect(try await isShown(in: theme, by: browser), "\(name)")
                        let shown = try await browser.evaluate(
                            "[document.documentElement.scrollWidth <= window.innerWidth, "
                                + "document.querySelectorAll('main b').length === 0, "
                                + "!!document.querySelector('nav [aria-current=page]'), "
                                + "\(name != "jobs") || [...document.querySelectorAll('main .scroll')].every("
                                + "(place) => place.scrollWidth <= place.clientWidth)]", as: [Bool].self)
                        #expect(shown == [true, true, true, true], "\(name) at \(width)")
                        try await keep(browser, as: "\(name)-\(width)-\(theme)")
                    }
                }
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(4)), arguments: ["light", "dark"])
    func `no screen breaks a rule of accessibility`(theme: String) async throws {
        let origin = try origin()
        let address = "127.0.0.1:\(origin.port)"
        try await ServiceProcess.Place.with(allowing: [address]) { place in
            let key = try await place.key(scopes: .all)
            let service = try await ServiceProcess.start(place, key: key)
            try await Browser.with(width: 1280) { browser in
                try await browser.prefer(scheme: theme)
                try await browser.open(service.base + "/dashboard")
                #expect(try await isShown(in: theme, by: browser))
                #expect(try await Accessibility.violations(of: browser) == [], "signing in")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                let ids = try await fill(service, origin)
                for (name, path) in Self.screens {
                    try await browser.open(service.base + Self.address(name, path, ids, origin))
                    let violations = try await Accessibility.violations(of: browser, colorsOnly: theme == "dark")
                    #expect(violations == [], "\(name)")
                }
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an operator follows a figure to its list, and acts there`() async throws {
        let origin = try origin()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key(scopes: .all)
            let service = try await ServiceProcess.start(place, key: key)
            try await fill(service, origin)
            try await Browser.with(width: 1280) { browser in
                try await browser.open(service.base + "/dashboard")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                let overview = try await browser.text("main")
                #expect(overview.contains("addressForbidden") && overview.contains("503, Retry-After"))
                #expect(overview.contains("answered 4xx") && overview.contains("live"))
                try await browser.follow("a[href='/dashboard/jobs?state=failed']")
                #expect(try await browser.text("main").contains("addressForbidden"))

                try await browser.open(service.base + "/dashboard/schedules")
                try await browser.follow("form[action$=pause] button")
                #expect(try await browser.text("main").contains("paused"))
                try await browser.open(service.base + "/dashboard/schedules")
                try await browser.follow("form[action$=run] button")
                #expect(try await browser.url.contains("/dashboard/jobs/job_"))

                try await browser.open(service.base + "/dashboard/webhooks/deliveries")
                try await browser.follow("tbody tr td a")
                let delivery = try await browser.text("main")
                #expect(delivery.contains("webhook-signature") && delivery.contains("<b>no</b>"))
                try await keep(browser, as: "delivery-1280-light")

                try await browser.open(service.base + "/dashboard/cookies")
                try await browser.click("details.danger summary")
                try await browser.follow("details.danger button")
                #expect(try await browser.text("main").contains("There are no cookies here."))
            }
            #expect(try await service.stop() == 0)
        }
    }
}

extension String {
    /// As the value of a parameter.
    fileprivate var escaped: String { addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self }
}
