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

    // The password goes with the answer, and into no list; who has answered is written down.
    // Proves: AUT-33.
    @Test(.timeLimit(.minutes(2)), .enabled(if: LoopbackServer.nginx != nil))
    func `a person logs in for a load, and lets it trust a server`() async throws {
        let cave = try await LoopbackServer.nginxCave()
        let authority = try await TestAuthority()
        let strange = try await LoopbackServer.nginxTLS(try await authority.issue("strange", selfSigned: true))
        try await ServiceProcess.Place.with(allowing: [cave.rule, strange.rule]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let login = try await service.submit(
                cave.url("/basic/page"), asking: #"["didReceiveChallenge"]"#, timeout: 200)
            let trust = try await service.submit(
                "https://127.0.0.1:\(strange.port)/", asking: #"["didReceiveServerTrust"]"#, timeout: 200)
            for job in [login, trust] { _ = try await service.question(of: job) }
            try await Browser.with { browser in
                try await browser.open(service.base + "/dashboard/questions")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                let page = try await browser.text("main")
                #expect(page.contains("Log in?") && page.contains("httpBasic") && page.contains(Cave.realm))
                #expect(page.contains("Trust the server?") && page.contains("CN=strange"), "\(page)")
                #expect(page.contains("serverCertificateHasUnknownRoot"))
                try await keep(browser, as: "questionsOfTrust")

                try await browser.type(Cave.user, into: "article input[name=user]")
                try await browser.type(Cave.password, into: "article input[name=password]")
                try await browser.follow("article button[value=useCredential]")
                let entered = try await service.job(login) { member($0, "state") == "succeeded" }
                #expect(member(entered, "response", "status") == 200, "\(entered)")

                try await browser.follow("article button[value=accept]")
                let trusted = try await service.job(trust) { member($0, "state") == "succeeded" }
                #expect(member(trusted, "response", "status") == 200, "\(trusted)")
                let ended = try await browser.text("table")
                #expect(ended.components(separatedBy: "a person at the dashboard").count == 3, "\(ended)")
                let whole: String = try await browser.evaluate("document.documentElement.outerHTML")
                #expect(!whole.contains(Cave.password))
            }
            for job in [login, trust] {
                let list = try await service.request(.get, "/v1/jobs/\(job)/questions")
                #expect(member(list.json, "data", "0", "by", "who") == "operator", "\(list.text)")
                #expect(!list.text.contains(Cave.password))
            }
            let audit = try await service.request(.get, "/v1/audit?action=questions.answer")
            #expect(member(audit.json, "data", as: [Any].self)?.count == 2, "\(audit.text)")
            #expect(!"\(audit.text)\(service.logged)".contains(Cave.password))
            #expect(try await service.stop() == 0)
        }
    }
}
