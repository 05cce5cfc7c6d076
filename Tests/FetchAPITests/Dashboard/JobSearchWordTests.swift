import FetchJobs
import Testing

@testable import FetchAPI

/// The words of the filter of the list of jobs.
@Suite struct JobSearchWordTests {
    private static let session = TenantSession.ID()

    @Test func `each word sets its member, and the filter is written back with the same words`() throws {
        let text =
            #"state:failed status:5xx error:timedOut host:a.example:8080 url:https://a.example/?b=c "#
            + #"prefix:https://a.example/b method:POST size:1000.. kind:download session:\#(Self.session) "#
            + #"after:2026-11-01T00:00:00.000Z before:2026-12-01T00:00:00.000Z label:a=b=c "label:two words=x y""#
        let filter = try JobSearch(text).filter
        #expect(filter.state == .failed && filter.status?.description == "5xx" && filter.error == "timedOut")
        #expect(filter.host == "a.example:8080" && filter.kind == .download && filter.session == Self.session)
        #expect(filter.url?.text == "https://a.example/?b=c" && filter.prefix?.host == "a.example")
        #expect(filter.method == "POST" && filter.bodyBytes?.range == 1000...Int64.max)
        #expect([40, 41].map { BodySizeFilter(String(repeating: "0", count: $0)) != nil } == [true, false])
        #expect(filter.createdAfter == Timestamp(rfc3339: "2026-11-01T00:00:00Z"))
        #expect(filter.labels.map(\.text) == ["a:b=c", "two words:x y"])
        #expect(JobSearch.text(filter) == text)
        #expect(try JobSearch("after:2026-11-01").filter.createdAfter == filter.createdAfter)
        #expect(try JobSearch("  ").filter == JobFilter())
    }

    @Test func `a job's id, a URL, a host, a state and a status are understood alone`() throws {
        let id = Job.ID()
        #expect(try JobSearch(id.description).job == id)
        #expect(try JobSearch("https://u:p@A.example:443/./path?q#f").filter.prefix?.text == "https://a.example/path?q")
        #expect(try JobSearch("http://a.example:8080").filter == JobSearch("http://a.example:8080/").filter)
        #expect(try JobSearch("http://a.example:8080").filter.host == "a.example:8080")
        #expect(try JobSearch("label:from=https://a.example/").filter.labels.first?.value == "https://a.example/")
        #expect(throws: JobSearch.Fault.self) { try JobSearch("a.example localhost") }
        #expect(try JobSearch("127.0.0.1:80 failed 404").filter.host == "127.0.0.1:80")
        #expect(try JobSearch("failed 404").filter.status?.description == "404")
        #expect(try JobSearch("[::1]:8080").filter.host == "[::1]:8080")
    }

    @Test(arguments: [
        ("staet:failed", "“staet:failed” is no word of a filter. Known are state:, status:, error:"),
        ("state:lost", "“state:lost” must be one of scheduled, queued, running"),
        ("state:failed state:queued", "“state:queued” says another value"),
        ("status:600", "“status:600” must be a status"),
        ("host:", "host: has no value"), ("label:x", "“label:x” must have the form label:name=value"),
        ("after:soon", "“after:soon” must be a day or a time"), ("group:x", "“group:x” must be the id of a group"),
        ("url:a.example", "“url:a.example” must be a URL with its whole host"), ("data://", "must be a URL"),
        ("size:5..4", "“size:5..4” must be a number of bytes or a range"), ("size:..", "must be a number of bytes"),
        (#"label:"a=b"#, "quotation mark"), ("nonsense", "“nonsense” is no word"),
        (String(repeating: "x", count: 2001), "more than 2000 bytes"),
    ])
    func `a word that is not understood is named, with what is known in its place`(text: String, message: String) throws
    {
        let fault = try #require(throws: JobSearch.Fault.self) { try JobSearch(text) }
        #expect(fault.message.contains(message), "\(fault.message)")
    }

    @Test func `cells of a table are texts, whatever an origin has written`() {
        #expect(JobTable.cell("=1+1") == "'=1+1" && JobTable.cell("a") == "a")
        #expect(JobTable.cell("a,\"b\"") == "\"a,\"\"b\"\"\"" && JobTable.cell("-x\r\ny") == "\"'-x\r\ny\"")
    }
}
