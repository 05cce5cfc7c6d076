import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// What is around the content of every page: the navigation, the colours, and the files that it loads.
@Suite struct FrameTests {
    @Test func `the navigation shows the screens that a role may open, and marks the one that is shown`() {
        func items(_ role: Role?, _ path: String) -> [Navigation.Item] {
            Navigation(for: role, at: path).sections.flatMap(\.items)
        }
        func current(_ path: String) -> [String] { items(.admin, path).filter(\.isCurrent).map(\.path) }
        #expect(items(.admin, "/dashboard").contains { $0.path == "/dashboard/audit" })
        #expect(!items(.viewer, "/dashboard").contains { $0.path == "/dashboard/audit" })
        #expect(items(nil, "/docs").map(\.path) == ["/docs"])
        #expect(current("/dashboard") == ["/dashboard"])
        #expect(current("/dashboard/jobs/job_x") == ["/dashboard/jobs"])
        #expect(current("/dashboard/jobsx").isEmpty)
        let keys = items(.admin, "/dashboard").compactMap(\.key)
        #expect(Set(keys).count == keys.count)
    }

    @Test func `every screen of the navigation is there, and marks itself`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, _ in
            let screens = Navigation(for: .operator, at: "").sections.flatMap(\.items)
            for screen in screens where screen.path.hasPrefix("/dashboard") {
                let (title, path) = (screen.title, screen.path)
                let page = try await browser.get(path)
                #expect(page.status == .ok, "\(path)")
                let marked = page.text.matches(of: /<a href="([^"]+)"[^>]* aria-current="page">([^<]+)</)
                #expect(marked.contains { $0.1 == path && $0.2 == title }, "\(path)")
            }
        }
    }

    @Test func `files that pages load are sent again only when they have changed`() async throws {
        try await TestServer().test { call async throws in
            for (path, type) in [
                ("style.css", "text/css"), ("app.js", "text/javascript"), ("link.js", "text/javascript"),
            ] {
                let first = try await call(.get, "/dashboard/\(path)", headers: [.authorization: ""])
                #expect(first.status == .ok && first.headers[.contentType] == "\(type); charset=utf-8")
                #expect(first.headers[.xContentTypeOptions] == "nosniff" && first.bytes.count < 20_000)
                let tag = try #require(first.headers[.eTag])
                let second = try await call(
                    .get, "/dashboard/\(path)", headers: [.authorization: "", .ifNoneMatch: tag])
                #expect(second.status == .notModified && second.bytes.isEmpty && second.headers[.eTag] == tag)
            }
        }
    }

    @Test func `the colours that a visitor chooses stay in the browser`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, _ in
            let page = try await browser.get("/dashboard/jobs?state=failed")
            #expect(page.text.contains(#"<html lang="en">"#))
            #expect(page.text.contains(#"name="next" value="/dashboard/jobs?state=failed""#))
            let form = "theme=dark&next=%2Fdashboard%2Fjobs%3Fstate%3Dfailed"
            #expect(try await browser.post("/dashboard/theme", form, site: "cross-site").status == .forbidden)
            let chosen = try await browser.post("/dashboard/theme", form)
            #expect(chosen.status == .seeOther && chosen.headers[.location] == "/dashboard/jobs?state=failed")
            let field = try #require(chosen.headers[.setCookie])
            #expect(field.hasPrefix("fetchd-theme=dark; ") && field.contains("SameSite=Strict"))
            let session = browser.cookie ?? ""
            browser.cookie = session + "; fetchd-theme=dark"
            #expect(try await browser.get("/dashboard").text.contains(#"<html lang="en" data-theme="dark">"#))
            browser.cookie = session + #"; fetchd-theme="><script>"#
            #expect(try await browser.get("/dashboard").text.contains(#"<html lang="en">"#))
            let system = try await browser.post("/dashboard/theme", "theme=system&next=https://a.example/")
            #expect(system.headers[.setCookie]?.contains("Max-Age=0") == true)
            #expect(system.headers[.location] == "/dashboard")
        }
    }
}
