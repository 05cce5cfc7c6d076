import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

/// Several URLs of one file, of which attempts load one after the other.
@Suite struct MirrorTests {
    private func spec(_ request: String, kind: String = "download") throws -> JobSpec {
        try JobSpec(json: JSONParser.parse(#"{"kind": "\#(kind)", "request": {\#(request)}}"#.utf8))
    }

    private static let mirrors =
        #""url": "https://a.example/f", "mirrors": ["https://b.example/f", "https://a.example/g"]"#

    @Test func `a job keeps them in their order, and they are no part of one that is no download`() throws {
        let job = try spec(Self.mirrors)
        #expect(
            job.request.urls.map { "\($0)" } == ["https://a.example/f", "https://b.example/f", "https://a.example/g"])
        #expect(try JobSpec(stored: JSONParser.parse(job.json)) == job)
        let error = #expect(throws: InvalidInput.self) { try spec(Self.mirrors, kind: "data") }
        #expect(error?.violations.map(\.pointer) == ["/request/mirrors"])
    }

    @Test(arguments: [
        (#""url": "https://a.example/", "mirrors": ["https://u:p@b.example/"]"#, "/request/mirrors/0"),
        (#""url": "https://a.example/", "mirrors": ["https://b.example/", "data:,x"]"#, "/request/mirrors/1"),
        (#""url": "https://a.example/", "mirrors": ["file:///etc/passwd"]"#, "/request/mirrors/0"),
        (#""url": "https://a.example/", "mirrors": ["nonsense"]"#, "/request/mirrors/0"),
        (#""url": "https://a.example/", "mirrors": [5]"#, "/request/mirrors/0"),
        (#""url": "https://a.example/", "mirrors": "https://b.example/""#, "/request/mirrors"),
        (#""url": "data:,x", "mirrors": ["https://b.example/"]"#, "/request/mirrors"),
        (#""url": "https://a.example/", "method": "POST", "mirrors": ["https://b.example/"]"#, "/request/mirrors"),
        (#""url": "https://a.example/", "body": {"text": "x"}, "mirrors": ["https://b.example/"]"#, "/request/mirrors"),
    ])
    func `what cannot be one is refused by its place`(_ request: String, _ pointer: String) throws {
        let error = #expect(throws: InvalidInput.self) { try spec(request) }
        #expect(error?.violations.map(\.pointer) == [pointer], "\(String(describing: error))")
    }

    @Test func `there are 16 at most`() throws {
        func request(_ count: Int) -> String {
            let list = (0..<count).map { #""https://m\#($0).example/""# }.joined(separator: ",")
            return #""url": "https://a.example/", "mirrors": [\#(list)]"#
        }
        #expect(try spec(request(16)).request.mirrors.count == 16)
        #expect(throws: InvalidInput.self) { try spec(request(17)) }
    }

    @Test func `attempts load them in turn, and what is secret goes to the origin of the first alone`() throws {
        let headers = #""headers": {"Authorization": "Bearer s", "X-Own": "1"}"#
        let request = try spec("\(Self.mirrors), \(headers)").request
        let hosts = (0..<5).map { request.attempt(after: $0).url.description }
        #expect(
            hosts == [
                "https://a.example/f", "https://b.example/f", "https://a.example/g", "https://a.example/f",
                "https://b.example/f",
            ])
        let secrets = (0..<4).map { request.attempt(after: $0).headers[.authorization] }
        #expect(secrets == ["Bearer s", nil, "Bearer s", "Bearer s"])
        #expect((0..<4).allSatisfy { request.attempt(after: $0).headers[HTTPField.Name("X-Own")!] == "1" })
    }

    @Test func `limits are those of the host that an attempt loads from`() throws {
        let job = ClaimedJob(
            id: Job.ID(), tenant: Tenant.ID(rawValue: 1), spec: try spec(Self.mirrors), claim: 2, tries: 1)
        #expect(job.hostLimiter?.key == "b.example" && job.limiters.map(\.key) == ["b.example"])
        #expect(job.originQueue?.limiter.key == "b.example" && job.nextHost == "a.example")
    }

    @Test func `the queries of all of them are sealed where that of the job is`() throws {
        let text =
            #""url": "https://a.example/?k=1", "mirrors": ["https://b.example/?k=2"], "sensitive": ["query"]"#
        let job = try spec(text)
        let shown = String(decoding: job.json, as: UTF8.self)
        #expect(!shown.contains("k=1") && !shown.contains("k=2"), "\(shown)")
        // Nobody submits what was shown.
        #expect(throws: InvalidInput.self) { try JobSpec(json: JSONParser.parse(job.json)) }
    }

    @Test func `a key that is bound to hosts is bound in them too`() throws {
        let hosts = try #require(
            try APIKeySpec(
                json: JSONParser.parse(#"{"name": "k", "scopes": ["jobs:write"], "hosts": ["a.example"]}"#.utf8)
            ).hosts)
        let key = APIKeySpec(name: "k", hosts: hosts)
        var job = try spec(Self.mirrors)
        #expect(key.bind(&job).map(\.pointer) == ["/request/mirrors/0"])
    }

    // MARK: Failures

    private func wait(
        _ code: LoadError.Code, status: Int? = nil, retryAfter: Duration? = nil, tries: Int,
        until deadline: Timestamp? = nil, _ policy: RetryPolicy = RetryPolicy()
    ) throws -> Duration? {
        let failure = RetryPolicy.Failure(code: code, status: status, retryAfter: retryAfter, wasSent: true)
        return policy.wait(after: failure, of: try spec(Self.mirrors).request, tries: tries, until: deadline, random: 0)
    }

    @Test func `one that was not loaded yet is tried at once, after whatever is not the node's own fault`() throws {
        for code in [
            LoadError.Code.timedOut, .cannotFindHost, .serverCertificateUntrusted, .addressForbidden,
            .contentDigestMismatch, .httpTooManyRedirects, .badServerResponse,
        ] {
            #expect(try wait(code, tries: 0) == .zero && wait(code, tries: 1) == .zero, "\(code)")
        }
        for code in [LoadError.Code.cancelled, .cannotWriteToFile, .dataLengthExceedsMaximum] {
            #expect(try wait(code, tries: 0) == nil, "\(code)")
        }
        var one = RetryPolicy()
        one.maximumAttempts = 1
        #expect(try wait(.timedOut, tries: 1, one) == .zero && wait(.timedOut, tries: 2, one) == nil)
        #expect(try wait(.timedOut, tries: 0, until: Timestamp(microseconds: 1)) == nil)
    }

    @Test func `when all were loaded the rules of retries hold, and the patience of one server is not that of another`()
        throws
    {
        var policy = RetryPolicy()
        policy.maximumAttempts = 5
        #expect(try wait(.timedOut, tries: 2, policy) == .seconds(4))
        #expect(try wait(.serverCertificateUntrusted, tries: 2, policy) == nil)
        #expect(try wait(.badServerResponse, status: 503, retryAfter: .seconds(600), tries: 2, policy) == .seconds(4))
        #expect(try wait(.timedOut, tries: 4, policy) == nil)
    }

    @Test func `a change of the URLs leaves the rest as it is`() throws {
        var change = JobChange()
        change.urls = [try URLRecord("https://c.example/"), try URLRecord("https://a.example/f")]
        let changed = try change.applied(to: try spec(Self.mirrors))
        #expect(changed.request.urls.map(\.host) == ["c.example", "a.example"] && changed.kind == .download)
    }
}
