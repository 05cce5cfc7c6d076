import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The page of a job and that of a new one, in a real browser.
@Suite struct DashboardJobTests {
    private static let plain = ["--blink-settings=scriptEnabled=false"]

    /// Set `SCREENSHOTS` to a directory to look at the pages of the browser.
    private func keep(_ browser: Browser, as name: String) async throws {
        let screenshot = try await browser.screenshot
        guard let directory = ProcessInfo.processInfo.environment["SCREENSHOTS"] else { return }
        try screenshot.write(to: URL(filePath: directory).appending(path: "\(name).png"))
    }

    private func signIn(_ browser: Browser, _ service: ServiceProcess, _ key: String) async throws {
        try await browser.open(service.base + "/dashboard/jobs")
        try await browser.type(key, into: "#key")
        try await browser.follow("form.card button")
    }

    private func submit(_ job: String, _ service: ServiceProcess) async throws -> String {
        let answer = try await service.request(.post, "/v1/jobs", body: job)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    @Test(.timeLimit(.minutes(2)))
    func `the page of a running download shows how far it is, and then its end, by itself`() async throws {
        let (content, first, second) = (pattern(600_000), Gate(), Gate())
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
                try connection.send(Array(content[..<150_000]))
                try first.wait()
                try connection.send(Array(content[150_000..<450_000]))
                try second.wait()
                try connection.send(Array(content[450_000...]))
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let id = try await submit(#"{"kind": "download", "request": {"url": "\#(origin.url("/f"))"}}"#, service)
            try await Browser.with { browser in
                try await signIn(browser, service, key)
                try await until { try await service.request(.head, "/v1/jobs/\(id)/body").status == 200 }
                try await browser.open(service.base + "/dashboard/jobs/\(id)")
                let progress = "[data-live=progress]"
                try await until { try await browser.text(progress).contains("150") }
                #expect(try await browser.text("h1").contains("running"))
                #expect(try await browser.text(progress).contains("of 600 kB"))
                try await keep(browser, as: "jobRunning")
                // The browser is told apart from a reload by what only this page knows.
                try await browser.run("window.isSame = true")
                first.open()
                try await until { try await browser.text(progress).contains("450") }
                second.open()
                try await until { try await browser.text("h1").contains("succeeded") }
                #expect(try await browser.evaluate("window.isSame", as: Bool.self))
                #expect(try await browser.text("main").contains("Ended: succeeded"))
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `without JavaScript a pasted curl command is read, found wrong, mended, explained and submitted`() async throws
    {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            try await Browser.with(flags: Self.plain) { browser in
                try await signIn(browser, service, key)
                try await browser.follow("a[href='/dashboard/jobs/new']")
                #expect(try await browser.text("h1") == "New job")
                try await browser.follow(".filters button[value=curl]")
                try await browser.type("curl -k \(origin.url("/anything"))", into: "textarea[name=command]")
                try await browser.follow(".buttons button[value=form]")
                #expect(try await browser.text(".alert").contains("-k: certificates are always verified"))
                try await browser.open(service.base + "/dashboard/jobs/new?view=curl")
                try await browser.type(
                    "curl -sL -X PUT '\(origin.url("/anything"))' -H 'X-Team: search' -d 'a=b'",
                    into: "textarea[name=command]")
                try await keep(browser, as: "newJobCurl")
                try await browser.follow(".buttons button[value=form]")
                try await browser.type("soon", into: "input[name=runAt]")
                try await browser.follow(".buttons button[value=check]")
                #expect(try await browser.text(".faults").contains("/runAt"))
                try await keep(browser, as: "newJobFault")
                try await browser.clear("input[name=runAt]")
                try await browser.follow(".buttons button[value=check]")
                #expect(try await browser.text(".notice") == "The job is valid. Nothing was stored.")
                try await browser.follow(".buttons button[value=explain]")
                #expect(try await browser.text("main").contains("The target is allowed."))
                #expect(try await browser.text("pre").contains("effectiveConfiguration"))
                try await keep(browser, as: "newJobExplained")
                try await browser.follow(".buttons button[value=submit]")
                let id = String(try await browser.url.split(separator: "/").last ?? "")
                let job = try await service.job(id) { member($0, "state") == "succeeded" }
                #expect(member(job, "request", "method") == "PUT")
                try await browser.open(service.base + "/dashboard/jobs/\(id)")
                let page = try await browser.text("main")
                #expect(page.contains("X-Team") && page.contains(#""a": "b""#) && page.contains("Waiting for a slot"))
                #expect(page.contains("curl -L '\(origin.url("/anything"))'"))
                try await keep(browser, as: "jobWithoutScripts")
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a failed job is tried again from its page, and anew with changes`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let failed = try await service.fetch("http://10.0.0.1/", more: #", "labels": {"team": "a"}"#)
            let id = try #require(member(failed, "id", as: String.self))
            try await Browser.with { browser in
                try await signIn(browser, service, key)
                try await browser.open(service.base + "/dashboard/jobs/\(id)")
                try await browser.follow("a[href='/docs/errors/addressForbidden']")
                #expect(try await browser.text("h1") == "addressForbidden")
                try await browser.open(service.base + "/dashboard/jobs/\(id)")
                try await browser.follow("form[action$=retry] button")
                // The page follows the job by itself.
                try await until { try await browser.text("main").contains("Attempt 2 ended: failed") }
                try await browser.follow("a[href='/dashboard/jobs/new?from=\(id)']")
                try await browser.clear("input[name=url]")
                try await browser.type(origin.url("/get"), into: "input[name=url]")
                try await browser.follow(".buttons button[value=submit]")
                try await until { try await browser.text("h1").contains("succeeded") }
                #expect(try await browser.text("main").contains(#"{"team":"a"}"#))
            }
            #expect(try await service.stop() == 0)
        }
    }

    /// Markup in everything that an origin and a client control.
    private func hostile() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let body = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
                let status =
                    head.hasPrefix("GET /r") ? "302 <b>moved</b>\r\nLocation: /<b>next</b>?<i>q</i>" : "200 <b>OK</b>"
                try connection.send(
                    "HTTP/1.1 \(status)\r\nX-Evil: <b>field</b><script>window.pwned=1</script>\r\n"
                        + "Set-Cookie: <b>c</b>=<b>v</b>\r\nCache-Control: <b>x</b>\r\n"
                        + "Content-Type: text/html\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
    }

    // Proves: SEC-72.
    @Test(.timeLimit(.minutes(2)))
    func `markup in URL, header fields, labels, body and error is text on every page of a job`() async throws {
        let origin = try hostile()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let more = #"""
                "labels": {"<b>l</b>": "<img src=x onerror=window.pwned=1>"}, "flow": {"key": "<b>f</b>"}, "session": "default"
                """#
            let fields = #""headers": [{"name": "X-Mine", "value": "<b>mine</b><script>window.pwned=1</script>"}]"#
            let url = origin.url("/r?a=<b>u</b>&c='\"><script>window.pwned=1</script>").replacing("\"", with: "%22")
            var ids: [String] = []
            for target in [url, "http://10.0.0.1/<b>x</b>"] {
                ids.append(try await submit(#"{"request": {"url": "\#(target)", \#(fields)}, \#(more)}"#, service))
                _ = try await service.job(ids[ids.count - 1]) { ["succeeded", "failed"].contains(member($0, "state")) }
            }
            try await Browser.with { browser in
                try await signIn(browser, service, key)
                for path in ids.flatMap({ ["/\($0)", "/new?from=\($0)", "/new?view=json&from=\($0)"] }) + [""] {
                    try await browser.open(service.base + "/dashboard/jobs\(path)")
                    let live = try await browser.evaluate(
                        "[document.querySelectorAll('main b, main i, main script, main img, body > script').length, "
                            + "window.pwned === undefined ? 0 : 1]", as: [Int].self)
                    #expect(live == [0, 0], "\(path)")
                }
                try await browser.open(service.base + "/dashboard/jobs/\(ids[0])")
                let page = try await browser.text("main")
                for text in [
                    "<b>field</b>", "<b>mine</b>", "<b>c</b>", "onerror=window.pwned=1", "window.pwned=1</script>",
                ] {
                    #expect(page.contains(text), "\(text)")
                }
                // A file that the browser saves and never shows.
                let body = try await browser.runAsync(
                    """
                    const done = arguments[arguments.length - 1];
                    fetch("/dashboard/jobs/\(ids[0])/body").then((answer) =>
                        done([answer.headers.get("content-type"), answer.headers.get("content-security-policy")]));
                    """, as: [String].self)
                #expect(body == ["application/octet-stream", "sandbox; default-src 'none'"])
            }
            #expect(try await service.stop() == 0)
        }
    }
}
