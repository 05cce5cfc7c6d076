import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The dashboard in a real browser.
@Suite struct DashboardTests {
    /// Set `SCREENSHOTS` to a directory to look at the pages of the browser.
    private func keep(_ browser: Browser, as name: String) async throws {
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        let screenshot = try await browser.screenshot
        #expect(screenshot.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        try screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }

    // Proves: SEC-70, SEC-72.
    @Test(.timeLimit(.minutes(2)))
    func `an operator signs in, finds a job and reads its story`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let job = try await service.fetch(origin.url("/redirect/2"))
            let failed = try await service.fetch("http://10.0.0.1/")
            let id = try #require(member(job, "id", as: String.self))
            try await Browser.with { browser in
                try await browser.open(service.base + "/dashboard")
                try await browser.type("fk_wrong", into: "#key")
                try await browser.follow("form.card button")
                #expect(try await browser.text("h1") == "Sign in")
                try await keep(browser, as: "signIn")

                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                #expect(try await browser.text("h1") == "Overview")
                #expect(try await browser.text("main").contains("addressForbidden"))
                try await keep(browser, as: "overview")

                try await browser.open(service.base + "/dashboard/jobs?state=failed")
                #expect(try await browser.text("main").contains(member(failed, "id", as: String.self) ?? "-"))
                try await keep(browser, as: "jobs")

                try await browser.open(service.base + "/dashboard/jobs/\(id)")
                #expect(try await browser.text("h1").contains(id))
                #expect(try await browser.text("main").contains("/relative-redirect/1"))
                _ = try await browser.text("svg.bars")
                try await keep(browser, as: "job")

                let again = try #require(member(failed, "id", as: String.self))
                try await browser.open(service.base + "/dashboard/jobs/\(again)")
                try await keep(browser, as: "failedJob")
                try await browser.follow("form[action$=retry] button")
                _ = try await service.job(again) { job in
                    member(job, "attempts", as: [[String: Any]].self)?.count == 2 && member(job, "state") == "failed"
                }
            }
            #expect(!service.logged.contains(key))
            #expect(try await service.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an operator searches jobs, and tries many that have failed again after a look at what would happen`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            var failed: [String] = []
            for number in 0..<3 {
                let job = try await service.fetch("http://10.0.0.1/\(number)", more: #", "labels": {"team": "a"}"#)
                failed.append(try #require(member(job, "id", as: String.self)))
            }
            _ = try await service.fetch("http://10.0.0.2/")
            try await Browser.with { browser in
                try await browser.open(service.base + "/dashboard/jobs")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                try await browser.type("staet:failed", into: "input[type=search]")
                try await browser.follow("form.search button")
                #expect(try await browser.text(".alert").contains("“staet:failed” is no word of a filter"))
                try await browser.open(service.base + "/dashboard/jobs")
                try await browser.type("state:failed host:10.0.0.1 label:team=a", into: "input[type=search]")
                try await browser.follow("form.search button")
                #expect(try await browser.text(".bar strong") == "3 jobs")
                #expect(try await browser.text("h1") == "Jobs")
                try await keep(browser, as: "jobsFound")
                try await browser.check("input[name=\(failed[0])]")
                try await browser.follow("button[value=retry]")
                #expect(try await browser.text("h1") == "Retry 1 job?")
                try await keep(browser, as: "jobsPreview")
                try await browser.follow("form.card button")
                #expect(try await browser.text(".notice") == "Retry: 1 of 1 jobs changed.")
                _ = try await service.job(failed[0]) { job in
                    member(job, "attempts", as: [[String: Any]].self)?.count == 2 && member(job, "state") == "failed"
                }
                try await browser.check("input[name=all]")
                try await browser.follow("button[value=retry]")
                try await browser.follow("form.card button")
                for id in failed {
                    _ = try await service.job(id) { job in
                        let count = member(job, "attempts", as: [[String: Any]].self)?.count ?? 0
                        return count >= (id == failed[0] ? 3 : 2) && member(job, "state") == "failed"
                    }
                }
            }
            #expect(try await service.stop() == 0)
        }
    }

    // R11, R35
    @Test(.timeLimit(.minutes(2)))
    func `an operator sees which hosts and flows wait for what, and pauses and resumes them`() async throws {
        // It sends `Retry-After` once: the waiting jobs are answered, and the circuit is not opened again.
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let status = head.contains("/busy") ? "503 Service Unavailable\r\nRetry-After: 3600" : "200 OK"
                try connection.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let limits = #"{"parallelism": 4, "rate": {"jobs": 10, "period": 60}, "maximumBytesPerSecond": 65536}"#
            #expect(try await service.request(.put, "/v1/hosts/api.example", body: limits).status == 201)
            let order = #"{"order": "fifo", "onFailure": "block"}"#
            #expect(try await service.request(.put, "/v1/flows/orders", body: order).status == 201)
            let failed = try await service.fetch("http://10.0.0.1/", more: #", "flow": {"key": "orders"}"#)
            _ = try await service.fetch(origin.url("/busy"))
            _ = try await LimiterTests.submit(origin.url(), to: service)
            try await Browser.with { browser in
                try await browser.open(service.base + "/dashboard/hosts")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                let hosts = try await browser.text("table")
                #expect(hosts.contains("circuit open") && hosts.contains("503, Retry-After"))
                #expect(hosts.contains("4 at once, 10 in 60 s, 65536 bytes/s"))
                try await browser.type("slow.example", into: "section > form[action$=pause] input[name=name]")
                try await browser.follow("section > form[action$=pause] button")
                #expect(try await browser.text("tbody").contains("slow.example\npaused"))
                try await keep(browser, as: "hosts")

                try await browser.click(#"button[aria-label="Resume 127.0.0.1:\#(origin.port)"]"#)
                try await until { try await !browser.text("tbody").contains("circuit open") }
                try await browser.open(service.base + "/dashboard/flows")
                let flows = try await browser.text("table")
                #expect(flows.contains("held up") && flows.contains(member(failed, "id", as: String.self) ?? "-"))
                try await keep(browser, as: "flows")
            }
            #expect(try await service.stop() == 0)
        }
    }
}
