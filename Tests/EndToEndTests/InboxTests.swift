import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The inbox of the dashboard, in a real browser.
@Suite struct InboxTests {
    /// Set `SCREENSHOTS` to a directory to look at the pages of the browser.
    private func keep(_ browser: Browser, as name: String) async throws {
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        let screenshot = try await browser.screenshot
        #expect(screenshot.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        try screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }

    // Proves: AUT-33.
    @Test(.timeLimit(.minutes(2)))
    func `a person sees what loads ask, and answers one, and all that ask alike`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /go")
                        ? "HTTP/1.1 302 Found\r\nLocation: /a\r\nX-Odd: <b>&\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            func submit(_ path: String) async throws -> String {
                let kind = path == "/go" ? "willPerformHTTPRedirection" : "didReceiveResponse"
                let delegate = #""delegate": {"via": "api", "questions": ["\#(kind)"], "timeout": 200}"#
                let body = #"{"request": {"url": "\#(origin.url(path))"}, "configuration": {\#(delegate)}}"#
                return try #require(member(try await service.request(.post, "/v1/jobs", body: body).json, "id"))
            }
            var jobs: [String] = []
            for path in ["/go", "/go", "/b"] { jobs.append(try await submit(path)) }
            for job in jobs {
                _ = try await service.job(job) { member($0, "state") == "awaitingDecision" }
            }
            try await Browser.with { browser in
                try await browser.open(service.base + "/dashboard/questions")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                #expect(try await browser.text("h1") == "Questions")
                let page = try await browser.text("main")
                #expect(page.contains("Follow a redirect?") && page.contains("Take the response?"))
                #expect(
                    page.contains(origin.url("/a")) && page.contains("<b>&") && page.contains("for all 2 like this"))
                try await keep(browser, as: "questions")

                // Enter, which sends a form by its first button, decides nothing: that button is disabled.
                try await browser.type("mine\u{E007}", into: "article:first-of-type input[name=note]")
                try await browser.check("article:first-of-type input[name=all]")
                try await browser.follow("article:first-of-type button[value=returnResponse]")
                let ended = try await browser.text("table")
                #expect(ended.contains("a person at the dashboard") && ended.contains("mine"))
                for job in jobs.prefix(2) {
                    let ended = try await service.job(job) { member($0, "state") == "succeeded" }
                    #expect(member(ended, "response", "status") == 302)
                }
                try await browser.follow("article:first-of-type button[value=cancel]")
                _ = try await service.job(jobs[2]) { member($0, "state") == "cancelled" }
                #expect(try await browser.text("main").contains("No load waits for an answer."))
                try await keep(browser, as: "questionsAnswered")
            }
            #expect(try await service.stop() == 0)
        }
    }
}
