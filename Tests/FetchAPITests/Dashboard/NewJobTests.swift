import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The page where jobs are written.
@Suite struct NewJobTests {
    private static let path = "/dashboard/jobs/new"

    /// A form as a browser sends it, with the token of the page.
    private static func form(_ browser: DashboardTests.Browser, _ fields: KeyValuePairs<String, String>) async throws
        -> TestAnswer
    {
        let token = try DashboardTests.Browser.token(in: try await browser.get(path))
        let pairs = fields.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }
        return try await browser.post(path, (["token=\(token)"] + pairs).joined(separator: "&"))
    }

    /// The text of a field of the page, which the page escapes.
    private static func escaped(_ text: String) -> String { MarkupEscape.escaped(text) }

    private static func count(_ server: TestServer) async throws -> Int {
        try await server.jobs.jobs(of: server.key.tenant, matching: JobFilter(), page: JobPage(limit: 10)).count
    }

    @Test func `a form becomes a job`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            #expect(try await browser.get("/dashboard/jobs").text.contains(#"href="\#(Self.path)""#))
            let answer = try await Self.form(
                browser,
                [
                    "view": "form", "do": "submit", "json": #"{"priority":0.9,"labels":{"old":"x"}}"#,
                    "url": "https://a.example/", "method": "PUT", "kind": "upload",
                    "headers": "X-A: b: c\r\nX-D:\r\n", "bodyForm": "json", "body": "{\"a\":\r\nnull}",
                    "labels": "team: search", "flow": "f", "runAt": "", "session": "", "group": "", "webhook": "",
                ])
            #expect(answer.status == .seeOther)
            let id = try #require(answer.headers[.location]?.split(separator: "/").last.flatMap { Job.ID(String($0)) })
            let job = try #require(try await server.jobs.job(id, of: server.key.tenant)?.storedSpec)
            #expect(
                String(decoding: job.json, as: UTF8.self)
                    == #"{"kind":"upload","request":{"url":"https://a.example/","method":"PUT","headers":[{"name":"X-A","#
                    + #""value":"b: c"},{"name":"X-D","value":""}],"body":{"json":{"a":null}}},"priority":0.9,"#
                    + #""flow":{"key":"f"},"labels":{"team":"search"}}"#)
        }
    }

    @Test func `what is wrong is told by member, next to its field, and nothing is stored`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            for verb in ["submit", "check", "explain"] {
                let answer = try await Self.form(
                    browser,
                    [
                        "view": "form", "do": verb, "json": #"{"priority":7}"#, "url": "ftp:<b>", "method": "GET",
                        "headers": "Host: b.example", "bodyForm": "none", "body": "", "labels": "", "runAt": "soon",
                    ])
                #expect(answer.status == .unprocessableContent, "\(verb)")
                for pointer in ["/request/url", "/request/headers/0/name", "/runAt", "/priority"] {
                    #expect(answer.text.contains("<code>\(pointer)</code>"), "\(pointer)")
                }
                #expect(answer.text.contains(##"<a href="#field-runAt">"##))
                #expect(answer.text.contains(#"id="field-url""#) && answer.text.contains(#"aria-invalid="true""#))
                #expect(answer.text.contains(#"value="ftp:&lt;b&gt;""#) && !answer.text.contains("<b>"))
            }
            let line = try await Self.form(
                browser, ["view": "form", "do": "check", "json": "{}", "url": "https://a.example/", "labels": "x"])
            #expect(line.status == .unprocessableContent && line.text.contains("<code>/labels</code>"))
            let json = try await Self.form(browser, ["view": "json", "do": "check", "json": "{\"a\": <b>"])
            #expect(
                json.status == .badRequest && json.text.contains("At byte")
                    && json.text.contains("{&quot;a&quot;: &lt;b&gt;"))
            #expect(try await Self.count(server) == 0)
        }
    }

    @Test func `the page of a refused job is as large as what was written, and not many times that`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let lines = String(repeating: "a:b\r\n", count: 60_000)
            let form: KeyValuePairs = [
                "view": "form", "do": "submit", "json": "{}", "url": "https://a.example/", "headers": lines,
            ]
            let long = "\"" + String(repeating: "x", count: 200_000) + "\""
            let labels = (0..<40).map { "\"\($0)\":\(long.prefix(2000))\(String($0))\"" }.joined(separator: ",")
            let deep = String(repeating: "[", count: 40) + Array(repeating: "1", count: 100_000).joined(separator: ",")
            let bad = deep + String(repeating: "]", count: 40)
            for fields in [
                form, ["view": "json", "do": "check", "json": #"{"request":"https://a.example/","a":\#(bad)}"#],
                ["view": "json", "do": "form", "json": #"{"request":{"url":\#(long),"body":{"json":\#(bad)}}}"#],
                [
                    "view": "json", "do": "check",
                    "json": #"{"request":"https://a.example/","labels":{\#(labels)},\#(long):1}"#,
                ],
                [
                    "view": "curl", "do": "form",
                    "command": "curl https://a.example/" + String(repeating: " -s", count: 60_000),
                ],
            ] {
                let sent = fields.reduce(0) { $0 + $1.value.utf8.count }
                let page = try await Self.form(browser, fields)
                #expect(page.status == .ok || page.status.kind == .clientError)
                #expect(page.text.contains("<h1>New job</h1>") && page.bytes.count < 2 * sent + 60_000, "\(sent)")
            }
            let page = try await Self.form(browser, form)
            #expect(page.status == .unprocessableContent && page.text.components(separatedBy: "a: b").count == 60_001)
            let faulty = (0..<30).map { #"{"name":"Host","value":"\#($0)"}"# }.joined(separator: ",")
            let many = try await Self.form(
                browser,
                [
                    "view": "json", "do": "check",
                    "json": #"{"request":{"url":"https://a.example/","headers":[\#(faulty)]}}"#,
                ])
            #expect(many.text.components(separatedBy: "/name</code>").count == 21)
            #expect(many.text.contains("There may be more of them"))
        }
    }

    @Test func `a form keeps of a job what it has no field for, and loses nothing`() throws {
        let job = try JSONParser.parse(
            #"""
            {"request":{"url":"https://a.example/","method":"PUT","headers":[{"name":"X-A","value":"1","sensitive":true},
             {"name":"X-B","value":"2"}],"body":{"blob":"blb_1"},"cachePolicy":"reloadIgnoringLocalCacheData"},
             "kind":"upload","labels":{"a":"b"},"runAt":"2026-11-21T10:52:00Z","flow":{"key":"f","x":1},"priority":0.9}
            """#.utf8)
        #expect(
            JobForm.rest(of: job).json
                == #"{"flow":{"key":"","x":1},"priority":0.9,"request":{"body":{"blob":"blb_1"},"#
                + #""cachePolicy":"reloadIgnoringLocalCacheData","headers":[{"name":"X-A","sensitive":true}]}}"#)
        let fields = JobForm.fields(of: job, faults: [])
        let query = try Query(
            fields.map { field in
                let chosen = field.options.first { $0.isChosen }?.value ?? field.value ?? ""
                return "\(field.name)=\(chosen.percentEncoded)"
            }.joined(separator: "&"))
        let back = try JobForm.job(of: query, on: JobForm.rest(of: job))
        let paths = [
            ["request", "url"], ["request", "body"], ["request", "headers"], ["flow"], ["labels"], ["runAt"],
        ]
        for path in paths {
            #expect(path.reduce(back) { $0[$1] ?? .null } == path.reduce(job) { $0[$1] ?? .null }, "\(path)")
        }
    }

    @Test func `header fields that were written as an object are in the form`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, _ in
            let job = #"{"request": {"url": "https://a.example/", "headers": {"Accept": "a/b", "X-A": ["1", "2"]}}}"#
            let form = try await Self.form(browser, ["view": "json", "do": "form", "json": job])
            #expect(form.status == .ok && form.text.contains("\nAccept: a/b\nX-A: 1\nX-A: 2</textarea>"))
        }
    }

    @Test func `validating and explaining change nothing`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let job = #"{"request": "https://a.example/", "webhook": {"url": "https://hooks.example/"}}"#
            let checked = try await Self.form(browser, ["view": "json", "do": "check", "json": job])
            #expect(checked.status == .ok && checked.text.contains("The job is valid. Nothing was stored."))
            let explained = try await Self.form(browser, ["view": "json", "do": "explain", "json": job])
            #expect(explained.status == .ok && explained.text.contains("How it would be run"))
            #expect(explained.text.contains("effectiveConfiguration"))
            #expect(try await Self.count(server) == 0)
            #expect(try await server.webhooks.endpoints(of: server.key.tenant, after: nil, limit: 1).isEmpty)
        }
    }

    @Test func `form and JSON are two sides of one job, and a curl command fills both`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let json = try await Self.form(
                browser,
                [
                    "view": "curl", "do": "json",
                    "command": "curl -sL -o x 'https://a.example/?q=<b>' -H 'X-A: 1' -d 'a=b' --max-redirs 2",
                ])
            #expect(json.status == .ok && json.text.contains("-o is left out"))
            #expect(json.text.contains(Self.escaped(#""url": "https://a.example/?q=<b>""#)))
            #expect(json.text.contains(Self.escaped(#""maximum": 2"#)) && !json.text.contains("<b>"))
            let job =
                #"{"request":{"url":"https://a.example/","headers":[{"name":"X-A","value":"1","sensitive":true}]},"#
                + #""configuration":{"redirects":{"maximum":2}}}"#
            let form = try await Self.form(browser, ["view": "json", "do": "form", "json": job])
            #expect(form.text.contains(#"value="https://a.example/""#) && form.text.contains("\nX-A: 1</textarea>"))
            let back = try await Self.form(
                browser,
                [
                    "view": "form", "do": "json", "json": job, "url": "https://b.example/", "method": "HEAD",
                    "headers": "x-a: 2", "bodyForm": "other", "body": "", "labels": "",
                ])
            for part in [
                #""url": "https://b.example/""#, #""method": "HEAD""#, #""sensitive": true"#, #""maximum": 2"#,
            ] {
                #expect(back.text.contains(Self.escaped(part)), "\(part)")
            }
            let refused = try await Self.form(
                browser, ["view": "curl", "do": "form", "command": "curl -k https://a.example/"])
            #expect(refused.status == .unprocessableContent && refused.text.contains("-k: certificates are always"))
            #expect(refused.text.contains("\ncurl -k https://a.example/</textarea>"))
        }
    }

    @Test func `a job is submitted again with changes, and its secrets have to be written again`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let spec = try JobSpec(
                json: JSONParser.parse(
                    #"{"request":{"url":"https://a.example/","headers":[{"name":"Authorization","value":"Bearer hunter2"}]}}"#
                        .utf8))
            let job = NewJob(tenant: server.key.tenant, spec: spec)
            _ = try await server.jobs.enqueue([job])
            server.jobs.finish(job.id, .failed)
            #expect(try await browser.get("/dashboard/jobs/\(job.id)").text.contains("\(Self.path)?from=\(job.id)"))
            let page = try await browser.get("\(Self.path)?from=\(job.id)&view=json")
            #expect(page.text.contains("&lt;redacted&gt;") && !page.text.contains("hunter2"))
            let answer = try await Self.form(
                browser, ["view": "json", "do": "submit", "json": String(decoding: spec.json, as: UTF8.self)])
            #expect(answer.status == .unprocessableContent)
            #expect(answer.text.contains("/request/headers/0/value") && answer.text.contains("is redacted"))
            let (other, _) = try await server.keys.create(name: "other", tenant: "other")
            let foreign = NewJob(tenant: other.tenant, spec: spec)
            _ = try await server.jobs.enqueue([foreign])
            #expect(try await browser.get("\(Self.path)?from=\(foreign.id)").status == .notFound)
        }
    }

    @Test func `a job of the page counts for the key of the session`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let spec = APIKeySpec(name: "few", scopes: Role.operator.scopes, maximumJobs: 1)
            let (key, token) = try await server.keys.create(spec, for: .tenantOf(server.key))
            var browser = DashboardTests.Browser(call: call, cookie: nil)
            _ = try await browser.signIn(token.revealed)
            let fields: KeyValuePairs = ["view": "json", "do": "submit", "json": #"{"request":"https://a.example/"}"#]
            #expect(try await Self.form(browser, fields).status == .seeOther)
            let exhausted = try await Self.form(browser, fields)
            #expect(exhausted.status == .forbidden && exhausted.text.contains("1 jobs may be submitted with the key"))
            #expect(
                try await server.jobs.jobs(of: key.tenant, matching: JobFilter(), page: JobPage(limit: 9)).count == 1)
        }
    }

    @Test func `no other page submits a job`() async throws {
        try await DashboardTests.test(try await TestServer()) { browser, server in
            let token = try DashboardTests.Browser.token(in: try await browser.get(Self.path))
            let form = "view=json&do=submit&json=%7B%22request%22%3A%22https%3A%2F%2Fa.example%2F%22%7D"
            for (extra, site) in [("", "same-origin"), ("&token=x", "same-origin"), ("&token=\(token)", "cross-site")] {
                #expect(try await browser.post(Self.path, form + extra, site: site).status == .forbidden)
            }
            #expect(try await Self.count(server) == 0)
        }
    }
}
