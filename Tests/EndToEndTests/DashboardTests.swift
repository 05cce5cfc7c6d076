import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The dashboard in a real browser.
@Suite struct DashboardTests {
    /// Set `SCREENSHOTS` to a directory to look at what the browser shows.
    private func keep(_ browser: Browser, as name: String) async throws {
        let screenshot = try await browser.screenshot
        #expect(screenshot.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        try screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }

    /// SEC-70, SEC-72.
    @Test(.timeLimit(.minutes(2)))
    func `an operator signs in, finds a job and reads its story`() async throws {
        let origin = try await Origin.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let key = try await place.run("keys", "create")
            let service = try await ServiceProcess.start(place, key: key)
            let job = try await service.fetch(origin.url("/redirect/2"))
            let failed = try await service.fetch("http://10.0.0.1/")
            let id = try #require(member(job, "id", as: String.self))
            try await Browser.with { browser in
                try await browser.open(service.base + "/dashboard")
                try await browser.type("fk_wrong", into: "#key")
                try await browser.click("form.card button")
                #expect(try await browser.text("h1") == "Sign in")
                try await keep(browser, as: "signIn")

                try await browser.type(key, into: "#key")
                try await browser.click("form.card button")
                #expect(try await browser.text("h1") == "Overview")
                #expect(try await browser.text("main").contains("addressForbidden"))
                try await keep(browser, as: "overview")

                try await browser.open(service.base + "/dashboard/jobs?state=failed")
                #expect(try await browser.text("main").contains(member(failed, "id", as: String.self) ?? "-"))
                try await keep(browser, as: "jobs")

                try await browser.open(service.base + "/dashboard/jobs/\(id)")
                #expect(try await browser.text("h1").contains(id))
                #expect(try await browser.text("main").contains("/relative-redirect/1"))
                _ = try await browser.text("svg.waterfall")
                try await keep(browser, as: "job")
            }
            #expect(!service.logged.contains(key))
            #expect(try await service.stop() == 0)
        }
    }
}
