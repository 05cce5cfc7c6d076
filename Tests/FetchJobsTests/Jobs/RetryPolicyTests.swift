import FetchEngine
import FetchJobs
import HTTPTypes
import Testing

/// When a job is tried again (R1, R33).
@Suite struct RetryPolicyTests {
    private let get: JobRequest

    init() throws { get = JobRequest(url: try URLRecord("http://origin.example/")) }

    private func wait(
        _ policy: RetryPolicy = RetryPolicy(),
        _ code: LoadError.Code = .timedOut,
        status: Int? = nil,
        retryAfter: Duration? = nil,
        wasSent: Bool = true,
        of request: JobRequest? = nil,
        tries: Int = 0,
        until deadline: Timestamp? = nil
    ) -> Duration? {
        let failure = RetryPolicy.Failure(code: code, status: status, retryAfter: retryAfter, wasSent: wasSent)
        return policy.wait(after: failure, of: request ?? get, tries: tries, until: deadline, random: 0)
    }

    // Proves: REL-16.
    @Test func `waits grow up to a limit, and chance makes them shorter`() {
        var backoff = RetryPolicy.Backoff()
        (backoff.initial, backoff.factor, backoff.maximum, backoff.jitter) = (.seconds(1), 3, .seconds(10), 0.5)
        #expect((0..<4).map { backoff.wait(after: $0, random: 0) } == [1, 3, 9, 10].map { .seconds($0) })
        #expect(backoff.wait(after: 500, random: 1) == .seconds(5))
    }

    @Test func `transient errors are tried again, three attempts in all`() {
        #expect(wait() == .seconds(1))
        #expect(wait(tries: 1) == .seconds(2))
        #expect(wait(tries: 2) == nil)
        #expect(wait(RetryPolicy(), .serverCertificateUntrusted) == nil)
        #expect(wait(RetryPolicy(), .cancelled) == nil)
    }

    @Test func `a list of errors takes the place of what is transient`() {
        var policy = RetryPolicy()
        policy.errors = ["cannotDecodeContentData"]
        #expect(wait(policy) == nil)
        #expect(wait(policy, .cannotDecodeContentData) != nil)
    }

    // Proves: REL-6.
    @Test func `what must not be repeated is tried again only when nothing of it was sent`() {
        var post = get
        post.method = .post
        #expect(wait(of: post) == nil)
        #expect(wait(RetryPolicy(), .cannotConnectToHost, wasSent: false, of: post) != nil)
        var policy = RetryPolicy()
        policy.replayUnsafe = true
        #expect(wait(policy, of: post) != nil)
        post.headers[HTTPField.Name("Idempotency-Key")!] = "k"
        #expect(wait(of: post) != nil)
        var put = get
        (put.method, put.body) = (.put, .stream)
        #expect(wait(of: put) == nil)
    }

    @Test func `a server that asks for time gets it, unless it asks for too much`() {
        #expect(wait(status: 503, retryAfter: .seconds(40)) == .seconds(40))
        #expect(wait(status: 503, retryAfter: .zero) == .seconds(1))
        #expect(wait(status: 503, retryAfter: .seconds(8 * 86_400)) == nil)
        var policy = RetryPolicy()
        policy.honorRetryAfter = false
        #expect(wait(policy, status: 503, retryAfter: .seconds(40)) == .seconds(1))
    }

    @Test func `no attempt begins after the deadline`() {
        #expect(wait(until: Timestamp.now.advanced(by: .seconds(60))) != nil)
        #expect(wait(tries: 1, until: Timestamp.now.advanced(by: .milliseconds(1500))) == nil)
    }

    @Test func `a configuration sets what it names, and reads back`() throws {
        let text = #"""
            , "configuration": {"retry": {"maximumAttempts": 5, "backoff": {"initial": 0.25, "jitter": 0},
              "statuses": [429, 503], "errors": ["timedOut"], "honorRetryAfter": false, "replayUnsafe": true}}
            """#
        let body = #"{"request": {"url": "http://origin.example/"}\#(text)}"#
        let spec = try JobSpec(json: JSONParser.parse(body.utf8))
        #expect(try JobSpec(json: JSONParser.parse(spec.json)) == spec)
        let policy = RetryPolicy(spec.configuration.retry)
        #expect(policy.maximumAttempts == 5 && policy.replayUnsafe && !policy.honorRetryAfter)
        #expect(policy.backoff.initial == .milliseconds(250) && policy.backoff.maximum == .seconds(300))
        #expect(policy.statuses == [429, 503] && policy.errors == ["timedOut"])
    }
}
