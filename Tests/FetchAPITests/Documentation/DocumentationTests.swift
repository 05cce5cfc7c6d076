import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Yams

@testable import FetchAPI

/// The reference pages, as a browser without a key gets them.
@Suite struct DocumentationTests {
    private static let open: HTTPFields = [.authorization: ""]

    @Test func `every page is small, and every link on it leads to a page and a place there`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            var pages: [String: String] = [:]
            var waiting = ["/docs"]
            while let path = waiting.popLast() {
                guard pages[path] == nil else { continue }
                let page = try await call(.get, path, headers: Self.open)
                #expect(page.status == .ok, "\(path)")
                #expect(page.bytes.count <= 100_000, "\(path) has \(page.bytes.count) bytes")
                pages[path] = page.text
                guard page.headers[.contentType]?.hasPrefix("text/html") == true else { continue }
                waiting += Self.links(in: page.text).map { String($0.prefix { $0 != "#" }) }
                    .filter { $0.hasPrefix("/docs") }
            }
            // Pages of operations, schemas, tags, problems and errors.
            #expect(pages.count > 400)
            for (path, text) in pages {
                for link in Self.links(in: text) where link.contains("#") {
                    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                    let target = parts[0].isEmpty ? text : pages[String(parts[0])] ?? ""
                    #expect(target.contains("id=\"\(parts[1])\""), "\(link) on \(path)")
                }
            }
        }
    }

    private static func links(in page: String) -> [String] {
        page.matches(of: #/(?:href|src)="([^"]*)"/#).map { String($0.output.1) }
            .filter { !$0.hasPrefix("/dashboard") && !$0.hasPrefix("/openapi") }
    }

    @Test func `every member of every schema is on the page of the schema`() async throws {
        let server = try await TestServer()
        let document = try #require(try Yams.load(yaml: ServiceRoutes.openAPI) as? [String: Any])
        let components = try #require(document["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any]).mapValues { Self.members(of: $0) }
        try await server.test { call in
            var count = 0
            for (name, members) in schemas {
                let page = try await call(.get, "/docs/schemas/\(name)", headers: Self.open).text
                for member in members {
                    count += 1
                    #expect(page.contains("<dt><code>\(member)</code>"), "\(member) of \(name)")
                }
            }
            #expect(count > 1000)
        }
    }

    /// The members of a schema with the path to each, read without the code that makes the pages.
    private static func members(of schema: Any, at path: String = "") -> [String] {
        guard let schema = schema as? [String: Any], schema["$ref"] == nil else { return [] }
        var found: [String] = []
        for (name, member) in schema["properties"] as? [String: Any] ?? [:] {
            let place = path.isEmpty ? name : "\(path).\(name)"
            found += [place] + members(of: member, at: place)
        }
        if let items = schema["items"] { found += members(of: items, at: path + "[]") }
        for word in ["oneOf", "anyOf", "allOf"] {
            for part in schema[word] as? [Any] ?? [] { found += members(of: part, at: path) }
        }
        if let others = schema["additionalProperties"] as? [String: Any] {
            found += members(of: others, at: path.isEmpty ? "{name}" : "\(path).{name}")
        }
        return found
    }

    @Test func `an operation's page has its parameters, answers, problems and programs`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let page = try await call(.get, "/docs/operations/submitJob", headers: Self.open)
            for part in [
                "<h1><code>POST /v1/jobs</code></h1>", "Idempotency-Key", "<code>jobs:write</code>",
                #"<a href="/docs/schemas/JobSpec">JobSpec</a>"#, #"<h3 id="202">202</h3>"#, "Preference-Applied",
                #"<a href="/docs/problems/queueFull"><code>queueFull</code></a>"#, "curl -X POST",
                "urllib.request", "await fetch(", "URLSession.shared", #"id="console""#,
            ] { #expect(page.text.contains(part), "\(part)") }
            let configuration = try await call(.get, "/docs/schemas/LoadConfiguration", headers: Self.open).text
            #expect(configuration.contains(#"<div id="redirects.maximum">"#))
            #expect(configuration.contains("<li>0 to 100</li>") && configuration.contains("default <code>20</code>"))
            #expect(configuration.contains(#"<a href="/docs/operations/submitJob">"#))
        }
    }

    @Test func `the console's script is allowed to ask this service and nobody else`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let page = try await call(.get, "/docs/operations/getJob", headers: Self.open)
            #expect(page.headers[.contentSecurityPolicy] == PagePolicy.text)
            #expect(page.text.matches(of: /<script src="\/d(ashboard\/app|ocs\/docs)\.js"/).count == 2)
            #expect(page.text.matches(of: /<script/).count == 2 && !page.text.contains(" style="))
            #expect(
                page.text.contains(#"<section class="console card" id="console""#) && page.text.contains(" hidden>"))
            let script = try await call(.get, "/docs/docs.js", headers: Self.open)
            #expect(script.headers[.contentType] == "text/javascript; charset=utf-8")
            for word in ["localStorage", "sessionStorage", "document.cookie", "innerHTML", "eval"] {
                #expect(!script.text.contains(word))
            }
            let schema = try await call(.get, "/docs/schemas/Job", headers: Self.open)
            #expect(schema.headers[.contentSecurityPolicy] == PagePolicy.text && !schema.text.contains("docs.js"))
        }
    }

    @Test func `pages and documents are not sent again to a client that has them`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            for path in [
                "/docs", "/docs?q=retry", "/docs/tags/jobs", "/docs/operations/getJob", "/docs/schemas/Job",
                "/docs/problems", "/docs/errors/timedOut", "/openapi.yaml", "/openapi.json", "/docs/docs.js",
            ] {
                let first = try await call(.get, path, headers: Self.open)
                let tag = try #require(first.headers[.eTag], "\(path)")
                #expect(first.headers[.cacheControl] == "no-cache")
                let again = try await call(.get, path, headers: [.authorization: "", .ifNoneMatch: tag])
                #expect(again.status == .notModified && again.bytes.isEmpty && again.headers[.eTag] == tag, "\(path)")
                let other = try await call(.get, path, headers: [.authorization: "", .ifNoneMatch: #"W/"x""#])
                #expect(other.status == .ok && other.bytes == first.bytes)
            }
        }
    }

    @Test func `the description as JSON says what the one in YAML says`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let document = try await call(.get, "/openapi.yaml", headers: Self.open).text
            #expect(document == Embedded.files["openapi.yaml"])
            let json = try await call(.get, "/openapi.json", headers: Self.open)
            #expect(json.headers[.contentType] == "application/json")
            let read = try JSONSerialization.jsonObject(with: Data(json.bytes)) as? NSDictionary
            let yaml = try Yams.load(yaml: document, Self.resolver())
            #expect(read == Self.plain(try #require(yaml)) as? NSDictionary)
        }
    }

    /// YAML as JSON has it: dates and words such as `on` are text.
    private static func resolver() throws -> Resolver {
        try Resolver.default.removing(.timestamp).removing(.bool).appending(.bool, "^(?:true|false)$")
    }

    /// The value in the form that the reader of JSON has.
    private static func plain(_ value: Any) -> Any {
        switch value {
        case let members as [AnyHashable: Any]:
            Dictionary(uniqueKeysWithValues: members.map { ("\($0)", plain($1)) }) as NSDictionary
        case let elements as [Any]: elements.map(plain) as NSArray
        default: value
        }
    }

    // MARK: Search

    @Test func `a search finds operations, members, problems and errors`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            for (query, path) in [
                ("retryJob", "/docs/operations/retryJob"), ("POST+/v1/jobs/batch", "/docs/operations/submitJobBatch"),
                ("jobspec", "/docs/schemas/JobSpec"),
                ("allowHTTPSToHTTP", "/docs/schemas/LoadConfiguration#redirects."),
                ("queueFull", "/docs/problems/queueFull"), ("timedout", "/docs/errors/timedOut"),
            ] {
                let page = try await call(.get, "/docs?q=\(query)", headers: Self.open)
                #expect(page.text.contains(#"<a href="\#(path)"#), "\(query)")
            }
            #expect(try await call(.get, "/docs?q=zzzz", headers: Self.open).text.contains("0 results"))
            #expect(try await call(.get, "/docs?q=+", headers: Self.open).text.contains("<h2>Schemas</h2>"))
        }
    }

    // Proves: SEC-72.
    @Test func `what is searched for is text, and short`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            for query in [
                "<script>alert(1)</script>", "\"\u{301}onfocus=x autofocus '", "{{q}}{{{frame}}}", "%s\u{202E}",
            ] {
                let page = try await call(.get, "/docs?q=\(query.percentEncoded)", headers: Self.open)
                #expect(page.status == .ok)
                #expect(page.text.matches(of: /<script/).count == 1 && !page.text.contains("\u{202E}"))
                #expect(page.text.contains("<strong>\(MarkupEscape.escaped(query))</strong>"))
                #expect(page.text.contains("value=\"\(MarkupEscape.escaped(query))\""))
            }
            let huge = String(repeating: "a", count: 101)
            for query in ["q=\(huge)", "q=%FF", "q=%00", "q=a&q=b", "q=a&x=1"] {
                let answer = try await call(.get, "/docs?\(query)", headers: Self.open)
                #expect(answer.problem == .invalidParameter, "\(query)")
            }
            for path in [
                "/docs/schemas/..", "/docs/schemas/%2e%2e%2fJob", "/docs/schemas/<b>", "/docs/operations/",
                "/docs/tags/x",
                "/docs/errors/..%2F..%2Fetc%2Fpasswd", "/docs/problems/nonsense", "/docs/schemas/job",
            ] { #expect(try await call(.get, path, headers: Self.open).problem == .notFound, "\(path)") }
        }
    }

    // MARK: Problems and errors

    @Test func `every problem says more than its title: the cause, what to do and what it looks like`() async throws {
        let server = try await TestServer()
        try await server.test { call in
            let index = try await call(.get, "/docs/problems", headers: Self.open).text
            for code in ProblemCode.allCases {
                for text in [code.cause, code.advice] {
                    #expect(text.count > 25 && text.hasSuffix("."), "\(code)")
                    #expect(!text.lowercased().hasPrefix(code.title.lowercased()), "\(code)")
                }
                #expect(code.cause != code.advice, "\(code)")
                #expect(index.contains(#"<a href="/docs/problems/\#(code.rawValue)">"#), "\(code)")
                let page = try await call(.get, "/docs/problems/\(code.rawValue)", headers: Self.open).text
                #expect(page.contains("HTTP/1.1 \(code.status.code)") && page.contains("&quot;\(code.rawValue)&quot;"))
            }
            let page = try await call(.get, "/docs/problems/queueFull", headers: Self.open).text
            #expect(page.contains(#"<a href="/docs/operations/submitJob">"#))
        }
    }

    @Test func `every load error that the sources name has its page`() async throws {
        let files = try #require(
            FileManager.default.enumerator(atPath: FileManager.default.currentDirectoryPath + "/Sources"))
        var named: Set<String> = []
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: "Sources/\(file)", encoding: .utf8)
            let pattern =
                file.hasSuffix("TargetRefusal.swift") || file.hasSuffix("TargetRule.swift")
                ? #/let \w+ = Self\("(\w+)"\)/# : #/let \w+ = Self\("(\w+)", (?:-\d+|LoadError)/#
            named.formUnion(text.matches(of: pattern).map { String($0.output.1) })
        }
        #expect(named.count > 60 && named == Set(LoadErrorKind.all.map(\.name)))
        #expect(LoadErrorKind.all.count == named.count)
        let server = try await TestServer()
        try await server.test { call in
            let index = try await call(.get, "/docs/errors", headers: Self.open).text
            for error in LoadErrorKind.all {
                let guide = try #require(LoadErrorGuide.of(error.name), "\(error.name)")
                for text in [guide.cause, guide.advice] {
                    #expect(text.count > 25 && text.hasSuffix("."), "\(error.name)")
                }
                #expect(index.contains(#"<a href="/docs/errors/\#(error.name)">"#))
                let page = try await call(.get, "/docs/errors/\(error.name)", headers: Self.open).text
                #expect(page.contains("&quot;code&quot;: \(error.number),"), "\(error.name)")
            }
        }
    }

    @Test func `descriptions are text but for the marks that are known`() {
        let prose = Prose(links: ["Job": "/docs/schemas/Job"])
        #expect(
            prose.blocks("One\nline.\n\nAnother `<b>`.") == "<p>One line.</p><p>Another <code>&lt;b&gt;</code>.</p>")
        #expect(
            prose.blocks("Words:\n- one\n  more\n- **two**")
                == "<p>Words:</p><ul><li>one more</li><li><strong>two</strong></li></ul>")
        #expect(
            prose.line("A *job* is a `Job`, `*` and 2 * 3.")
                == #"A <em>job</em> is a <a href="/docs/schemas/Job"><code>Job</code></a>, <code>*</code> and 2 * 3."#)
        #expect(prose.line("`open <script> ** *") == "`open &lt;script&gt; ** *")
        #expect(prose.blocks(nil).isEmpty)
    }
}
