import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

// The inbox of the dashboard.

extension DashboardTests {
    @Test func `an answer is for all alike only where they are about one host`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            let hostless = [try await server.ask(host: nil), try await server.ask(host: nil)]
            var page = try await browser.get("/dashboard/questions")
            #expect(!page.text.contains("like this"))
            let token = try Browser.token(in: page)
            let form = "token=\(token)&before=2100-01-01T00:00:00Z&all=yes&answer=cancel"
            let answer = try await browser.post("/dashboard/questions/\(hostless[0].id)/answer", form)
            #expect(answer.status == .seeOther)
            let tenant = server.key.tenant
            #expect(try await server.questions.question(hostless[0].id, of: tenant)?.state == .answered)
            #expect(try await server.questions.question(hostless[1].id, of: tenant)?.state == .open)

            let alike = [try await server.ask(), try await server.ask()]
            page = try await browser.get("/dashboard/questions")
            #expect(page.text.contains("for all 2 like this"))
            _ = try await browser.post("/dashboard/questions/\(alike[0].id)/answer", form)
            for question in alike {
                #expect(try await server.questions.question(question.id, of: tenant)?.state == .answered)
            }
        }
    }

    @Test func `an operator reads another tenant's questions, and answers none of them`() async throws {
        let server = try await TestServer()
        let question = try await server.ask(of: Tenant.ID(rawValue: 2))
        try await DashboardScreenTests.test(server) { browser in
            let own = try await browser.get("/dashboard/questions")
            #expect(own.text.contains(#"name="tenant""#) && !own.text.contains("\(question.id)"))
            let page = try await browser.get("/dashboard/questions?tenant=crawler")
            #expect(page.text.contains("Follow a redirect?") && page.text.contains("You look at the tenant crawler"))
            #expect(page.text.contains("/dashboard/jobs/\(question.job)?tenant=crawler"))
            #expect(!page.text.contains("<button name=\"answer\""))
            let form = "token=\(try Browser.token(in: own))&answer=cancel"
            let answer = try await browser.post("/dashboard/questions/\(question.id)/answer", form)
            #expect(answer.status == .notFound)
            let noted = server.audit.all.filter { $0.action == AuditAction.readAsOperator.rawValue }
            #expect(noted.map(\.object) == ["/dashboard/questions of crawler"])
        }
        try await DashboardScreenTests.test(server, as: .operator) { browser in
            let own = try await browser.get("/dashboard/questions")
            #expect(!own.text.contains(#"name="tenant""#))
            let other = try await browser.get("/dashboard/questions?tenant=crawler")
            #expect(other.status == .forbidden)
        }
    }

    @Test func `where the inbox goes on, the number of those alike is said to be that of the page`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            for _ in 0..<51 { _ = try await server.ask() }
            let first = try await browser.get("/dashboard/questions")
            #expect(first.text.contains("for all like this (50 on this page)"))
            let link = try #require(first.text.firstMatch(of: /rel="next" href="([^"]+)"/))
            let last = try await browser.get(String(link.1))
            #expect(last.text.contains("Follow a redirect?") && !last.text.contains("like this"))
        }
    }

    @Test func `"all like this" means what the page shows, to the last question that was asked`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            for _ in 0..<30 {
                let questions = [try await server.ask(), try await server.ask()]
                let page = try await browser.get("/dashboard/questions")
                let before = try #require(page.text.firstMatch(of: /name="before" value="([^"]+)"/)).1
                let form = "token=\(try Browser.token(in: page))&before=\(before)&all=yes&answer=cancel"
                _ = try await browser.post("/dashboard/questions/\(questions[0].id)/answer", form)
                let last = try await server.questions.question(questions[1].id, of: server.key.tenant)
                #expect(last?.state == .answered)
            }
        }
    }

    @Test func `certificates are shown apart from the facts, and header fields are not taken for them`() async throws {
        try await Self.test(try await TestServer()) { browser, server in
            let facts =
                #"{"response":{"headers":[{"name":"X-Pem","value":"field"},{"name":"Set-Cookie"}]},"#
                + #""chain":[{"subject":"CN=a","pem":"-----BEGIN"}]}"#
            _ = try await server.ask(
                kind: .didReceiveServerTrust, content: #"{"request":{},"facts":\#(facts)}"#)
            let page = try await browser.get("/dashboard/questions")
            #expect(page.text.contains("<summary>Certificate</summary><pre>-----BEGIN</pre>"))
            #expect(page.text.components(separatedBy: "-----BEGIN").count == 2)
            #expect(page.text.contains("<dt>response headers X-Pem</dt><dd>field</dd>"))
            #expect(page.text.contains("<dt>response headers Set-Cookie</dt><dd>&lt;redacted&gt;</dd>"))
            #expect(page.text.contains("<dt>chain 1 subject</dt><dd>CN=a</dd>"))
        }
    }

    @Test func `the answer of a decision is told, however long what an origin has said is`() throws {
        let long = String(repeating: "x", count: 5000)
        let decision = """
            {"kind": "willPerformHTTPRedirection", "facts": {"from": "https://a.example/\(long)", "to":
             "https://b.example/\(long)"}, "answer": "cancel", "by": {"who": "configuration"}, "waited": 2,
             "refusal": "\(long)"}
            """
        let text = DecisionSentence(try JSONParser.parse(decision.utf8)).text
        #expect(text.contains("to https://b.example/xxx"))
        #expect(text.contains("…): cancel, by configuration after 2.0 s. It was not used: xxx"))
        #expect(text.hasSuffix("x…") && text.count < 1500)
    }
}
