import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The page of a job: its files, its body, its actions and its commands.
@Suite struct JobPageTests {
    private static func enqueue(_ server: TestServer, _ json: String) async throws -> Job.ID {
        let spec = try JobSpec(json: JSONParser.parse(json.utf8))
        let job = NewJob(tenant: server.key.tenant, spec: spec)
        _ = try await server.jobs.enqueue([job])
        return job.id
    }

    private static let plain = #"{"request":{"url":"https://a.example/"}}"#

    static func body(_ bytes: [UInt8], _ type: String?) -> StoredBody {
        StoredBody(
            location: .inline(bytes), bytes: Int64(bytes.count), digest: SHA256Digest(of: bytes), contentType: type)
    }

    @Test(arguments: [
        ("text/html", "<script>canary</script>", "&lt;script&gt;canary", "application/octet-stream"),
        ("image/svg+xml", "<svg onload=canary>", "&lt;svg onload=canary&gt;", "application/octet-stream"),
        ("image/png", "\u{1}\u{2}", #"<img class="preview""#, "image/png"),
        ("application/json", #"{"a":[1]}"#, "&quot;a&quot;: [\n    1", "application/octet-stream"),
        ("application/zip", "PK\u{3}\u{4}\u{0}\u{1}\u{2}", "0000  50 4b 03 04 00 01 02", "application/octet-stream"),
    ])
    func `a body is shown by its type, and no browser is told to run it`(
        type: String, content: String, shown: String, served: String
    ) async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let id = try await Self.enqueue(server, Self.plain)
            server.jobs.finish(id, .succeeded, body: Self.body(Array(content.utf8), type))
            let page = try await browser.get("/dashboard/jobs/\(id)")
            #expect(page.text.contains(shown))
            #expect(!page.text.contains("<script>canary") && !page.text.contains("<svg onload"))
            let body = try await browser.get("/dashboard/jobs/\(id)/body")
            #expect(body.bytes == Array(content.utf8))
            #expect(body.headers[.contentType] == served)
            #expect(body.headers[.contentDisposition]?.hasPrefix("attachment") == true)
            #expect(body.headers[.contentSecurityPolicy] == "sandbox; default-src 'none'")
            #expect(body.headers[.xContentTypeOptions] == "nosniff")
        }
    }

    @Test func `its JSON and its archive are there for who has signed in`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let id = try await Self.enqueue(server, Self.plain)
            server.jobs.finish(id, .failed)
            let path = "/dashboard/jobs/\(id)"
            let json = try await browser.get("\(path)/json")
            #expect(json.headers[.contentType] == "application/json" && json.text.contains(#""id":"\#(id)""#))
            let archive = try await browser.get("\(path)/har")
            #expect(archive.headers[.contentDisposition] == "attachment; filename=\"\(id).har\"")
            #expect(archive.text.contains(#""version":"1.2""#))
            let page = try await browser.get(path)
            #expect(!page.text.contains("data-events") && !page.text.contains("\(path)/body"))
            browser.cookie = nil
            for part in ["json", "har", "body", "events"] {
                #expect(try await browser.get("\(path)/\(part)").status == .seeOther)
            }
        }
    }

    @Test func `a job is held and resumed by its page`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let id = try await Self.enqueue(server, Self.plain)
            let path = "/dashboard/jobs/\(id)"
            var page = try await browser.get(path)
            let form = "token=\(try DashboardTests.Browser.token(in: page))"
            #expect(page.text.contains("\(path)/suspend") && !page.text.contains("\(path)/resume"))
            #expect(page.text.contains(#"data-events="\#(path)/events""#))
            #expect(try await browser.post("\(path)/suspend", "token=x").status == .forbidden)
            #expect(try await browser.post("\(path)/suspend", form).headers[.location] == path)
            #expect(try await server.jobs.job(id, of: server.key.tenant)?.state == .suspended)
            page = try await browser.get(path)
            #expect(!page.text.contains("\(path)/suspend") && page.text.contains("\(path)/resume"))
            #expect(try await browser.post("\(path)/resume", form).status == .seeOther)
            #expect(try await server.jobs.job(id, of: server.key.tenant)?.state == .queued)
            server.jobs.finish(id, .succeeded)
            #expect(try await browser.post("\(path)/suspend", form).status == .conflict)
            #expect(try await browser.get(path).text.contains("action=delete&amp;\(id)=on"))
        }
    }

    @Test func `commands make the request again, without its secrets`() throws {
        let commands = RequestCommands(
            try JSONParser.parse(
                #"""
                {"request":{"url":"https://a.example/x?y=it's","method":"POST","headers":[
                  {"name":"Accept","value":"text/html"},{"name":"Authorization","value":"<redacted>"},
                  {"name":"Cookie","value":"stored in clear"}],"body":{"json":{"a":"$(reboot)"}}}}
                """#.utf8))
        #expect(
            commands.curl == #"""
                curl -L 'https://a.example/x?y=it'\''s' \
                  -X 'POST' \
                  -H 'Accept: text/html' \
                  -H 'Content-Type: application/json' \
                  --data-raw '{"a":"$(reboot)"}'
                # Left out: Authorization, Cookie
                """#)
        #expect(commands.fetchd.hasPrefix("fetchd get 'https://a.example/x?y=it'") && commands.fetchd.contains("-d '{"))
        for body in [#"{"blob":"blb_1"}"#, #"{"text":"<redacted>"}"#, #"{"text":"@/etc/passwd"}"#] {
            let spec = try JSONParser.parse(#"{"request":{"url":"https://a.example/","body":\#(body)}}"#.utf8)
            #expect(RequestCommands(spec).fetchd == "fetchd get 'https://a.example/'\n# Left out: the body")
        }
    }

    @Test func `certificates and the names of cookies are told`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let id = try await Self.enqueue(server, Self.plain)
            let chain = #"[{"subject":"CN=a.example","issuer":"CN=<b>ca</b>","sha256":"ab"}]"#
            let transfer =
                #"{"url":"https://a.example/","certificates":\#(chain),"cookies":["sid","<i>"],"duration":1}"#
            server.jobs.change(id) { job in
                job.attempts = [
                    Job.Attempt(
                        number: 1, startedAt: .now, finishedAt: .now, state: .succeeded, errorName: nil,
                        metrics: RawJSON(Array("[\(transfer),\(transfer)]".utf8)))
                ]
            }
            server.jobs.finish(id)
            let page = try await browser.get("/dashboard/jobs/\(id)").text
            #expect(page.components(separatedBy: "<dt>CN=a.example</dt>").count == 2)
            #expect(page.contains("issued by CN=&lt;b&gt;ca&lt;/b&gt;") && page.contains("<dd>sid, &lt;i&gt;</dd>"))
        }
    }

    @Test func `the last attempts are shown whole, earlier ones as a line each and in the JSON`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let id = try await Self.enqueue(server, Self.plain)
            let start = Timestamp.now
            let metrics = RawJSON(
                Array(
                    #"""
                    [{"url":"https://a.example/<b>","status":503,"connect":[0,0.1],"request":[0.1,0.1],
                      "response":[0.2,0.3],"duration":0.3}]
                    """#.utf8))
            server.jobs.change(id) { job in
                job.attempts = (1...14).map { number in
                    Job.Attempt(
                        number: number, startedAt: start.advanced(by: .seconds(number * 2)),
                        finishedAt: start.advanced(by: .seconds(number * 2 + 1)), state: .failed, errorName: nil,
                        metrics: metrics)
                }
            }
            server.jobs.finish(id, .failed)
            let page = try await browser.get("/dashboard/jobs/\(id)").text
            #expect(page.contains(#"<a href="/dashboard/jobs/\#(id)/json">4 earlier attempts</a>"#))
            #expect(page.contains(">Attempt 4</span>") && !page.contains(">Attempt 5</span>"))
            #expect(page.contains(">5 · 503 https://a.example/&lt;b&gt;</span>") && !page.contains("<b>"))
            #expect(page.contains("<h3>Attempt 14</h3>") && !page.contains("<h3>Attempt 4</h3>"))
            #expect(page.contains("<dt>First byte</dt><dd>100.0 ms</dd>"))
        }
    }

    @Test func `a page stays small, whatever an origin has sent`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let id = try await Self.enqueue(server, Self.plain)
            let fields = (0..<100).map { #"{"name":"X-\#($0)","value":"\#(String(repeating: "v", count: 300))"}"# }
            let transfers = (0..<60).map { _ in
                #"{"url":"https://a.example/","status":302,"connect":[0,1],"request":[1,1],"response":[2,3],"duration":3}"#
            }
            server.jobs.change(id) { job in
                job.response = RawJSON(
                    Array(#"{"status":200,"headers":[\#(fields.joined(separator: ","))]}"#.utf8))
                job.attempts = [
                    Job.Attempt(
                        number: 1, startedAt: .now, finishedAt: .now, state: .succeeded, errorName: nil,
                        metrics: RawJSON(Array("[\(transfers.joined(separator: ","))]".utf8)))
                ]
            }
            server.jobs.finish(id, .succeeded, body: Self.body(Array(repeating: 0x61, count: 16_384), "text/plain"))
            let page = try await browser.get("/dashboard/jobs/\(id)")
            #expect(page.bytes.count <= 100_000)
        }
    }
}
