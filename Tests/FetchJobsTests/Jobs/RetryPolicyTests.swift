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

    @Test func `a server that is heeded for its job alone says how long just that one waits, a day at most`() {
        var policy = RetryPolicy()
        policy.retryAfterScope = .job
        func wait(_ retryAfter: Duration?) -> Duration? {
            self.wait(policy, .badServerResponse, status: 503, retryAfter: retryAfter, tries: 1)
        }
        #expect(wait(nil) == .seconds(2) && wait(.milliseconds(10)) == .milliseconds(10))
        #expect(wait(.seconds(8 * 86_400)) == .seconds(86_400))
    }

    @Test(arguments: [
        ("1d10h30m", 124_200_000), ("10s", 10_000), ("6m5.5s", 365_500), ("250ms", 250), ("0s", 0), ("", nil),
        ("s", nil),
        ("10", nil), ("1y", nil), ("1..5s", nil), ("99999999999d", nil), ("-1s", nil), ("1 s", nil),
    ])
    func `a time with units is read, and nothing else`(_ text: String, _ milliseconds: Int?) {
        #expect(Duration(units: text) == milliseconds.map { .milliseconds($0) })
    }

    @Test func `transient errors are tried again, three attempts in all`() {
        #expect(wait() == .seconds(1))
        #expect(wait(tries: 1) == .seconds(2))
        #expect(wait(tries: 2) == nil)
        #expect(wait(RetryPolicy(), .serverCertificateUntrusted) == nil)
        #expect(wait(RetryPolicy(), .cancelled) == nil)
    }

    // However long the time and however short the waits: there are fewer attempts than a column has numbers.
    @Test func `timeouts are repeated up to the deadline where that is wanted, and other failures are not`() {
        var policy = RetryPolicy()
        policy.repeatsTimeouts = true
        func wait(_ seconds: Double, _ code: LoadError.Code = .timedOut, tries: Int = 1000) -> Duration? {
            policy.backoff = RetryPolicy.Backoff(initial: .milliseconds(1), factor: 1)
            return self.wait(policy, code, tries: tries, until: Timestamp.now.advanced(by: .seconds(seconds)))
        }
        #expect(wait(10_000, tries: 1) == .milliseconds(1))
        let later = wait(10_000)
        #expect(later.map { $0 > .seconds(99) && $0 <= .seconds(100) } == true)
        #expect(wait(-1) == nil)
        #expect(wait(10_000, .networkConnectionLost) == nil)
        #expect(self.wait(policy, tries: 1000) == nil, "there is no deadline")
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
        #expect([429, 503].allSatisfy { policy.statuses.contains($0) } && !policy.statuses.contains(500))
        #expect(policy.errors == ["timedOut"])
    }

    // MARK: Statuses

    private func retry(_ members: String) throws -> RetryPolicy {
        let text = #"{"request": {"url": "http://origin.example/"}, "configuration": {"retry": {\#(members)}}}"#
        let spec = try JobSpec(json: JSONParser.parse(text.utf8))
        #expect(try JobSpec(stored: JSONParser.parse(spec.json)) == spec)
        return RetryPolicy(spec.configuration.retry)
    }

    @Test(
        arguments: [
            ("503", [503], [500, 504, 200]), (#""5xx", 429"#, [500, 599, 429], [499, 428, 200]),
            (#""!2xx""#, [304, 404, 500], [200, 299]), (#""!2xx", "!404""#, [302, 500], [200, 404]),
            (#""4xx", "!404""#, [400, 410], [404, 500, 200]), (#""!404", "404""#, [], [404, 500]),
            ("202", [202], [200]),
            ("", [], [500]),
        ] as [(String, [Int], [Int])])
    func `failures are statuses, classes of them, and all but some`(
        _ entries: String, _ failures: [Int], _ others: [Int]
    ) throws {
        let statuses = try retry(#""statuses": [\#(entries)]"#).statuses
        #expect(failures.allSatisfy { statuses.contains($0) })
        #expect(!others.contains { statuses.contains($0) })
    }

    @Test(arguments: ["199", "600", #""1xx""#, #""6xx""#, #""xx""#, #""!!2xx""#, #""!""#, #""5XX""#, "true", "503.5"])
    func `other texts are no statuses, and it is said what is`(_ entry: String) throws {
        #expect {
            try retry(#""statuses": [\#(entry)]"#)
        } throws: { error in
            guard let violation = (error as? InvalidInput)?.violations.first else { return false }
            return violation.pointer == "/configuration/retry/statuses/0"
        }
    }

    // MARK: Waits

    @Test func `waits are listed, and the last one is that of all others`() throws {
        let policy = try retry(#""maximumAttempts": 9, "backoff": {"delays": [0.5, 600, 20]}"#)
        #expect(
            (0..<5).map { policy.backoff.wait(after: $0, random: 1) } == [0.5, 600, 20, 20, 20].map { .seconds($0) })
        let bounded = try retry(#""backoff": {"delays": [100, 1], "maximum": 10, "jitter": 1}"#)
        #expect(bounded.backoff.wait(after: 0, random: 0.5) == .seconds(5))
    }

    @Test(
        arguments: [
            ("5", [5, 5, 5]), ("1 + retried * 2", [1, 3, 5]), ("(1 + retried) * 2", [2, 4, 6]),
            ("pow(2, retried)", [1, 2, 4]), ("8 / 2 / 2 - -1", [3, 3, 3]), ("min(2, retried, 7)", [0, 1, 2]),
            ("max(1.5,retried)", [1.5, 1.5, 2]), ("round(sqrt(abs(-6.25))) + floor(0.9) + ceil(.1)", [4, 4, 4]),
            ("exp(0) - 2", [0, 0, 0]), ("1 / 0", [86_400, 86_400, 86_400]),
            ("exp(1000 * retried)", [1, 86_400, 86_400]),
            ("0 / 0", [86_400, 86_400, 86_400]), ("sqrt(-1)", [86_400, 86_400, 86_400]),
        ] as [(String, [Double])])
    func `waits are worked out, and are never negative or longer than they may be`(
        _ expression: String, _ waits: [Double]
    ) throws {
        let policy = try retry(#""backoff": {"expression": "\#(expression)"}"#)
        #expect((0..<3).map { policy.backoff.wait(after: $0, random: 1).seconds } == waits)
    }

    @Test(
        arguments: [
            ("", "function"), ("2 +", "function"), ("2 3", "operator"), ("(1", ")"), ("1)", "operator"),
            ("pow(2)", "arguments"), ("sqrt(1, 2)", "arguments"), ("tries", "tries"), ("1..2", "number"),
            ("pow 2", "("),
            (String(repeating: "(", count: 99), "deeply"), (String(repeating: "-", count: 99), "deeply"),
            (String(repeating: "1+", count: 200) + "1", "256"),
        ])
    func `a formula that is none is refused with the place`(_ expression: String, _ word: String) throws {
        #expect {
            try retry(#""backoff": {"expression": "\#(expression)"}"#)
        } throws: { error in
            guard let violation = (error as? InvalidInput)?.violations.first else { return false }
            return violation.pointer == "/configuration/retry/backoff/expression" && violation.message.contains(word)
        }
    }

    @Test(
        arguments: [
            #""delays": [1], "initial": 2"#, #""delays": [1], "expression": "1""#, #""expression": "1", "factor": 2"#,
            #""delays": []"#,
        ])
    func `only one of the ways to say the waits is taken`(_ members: String) {
        #expect(throws: InvalidInput.self) { try retry(#""backoff": {\#(members)}"#) }
    }

    @Test(arguments: [#""delays": [604801]"#, #""initial": 604801"#, #""maximum": 604801"#])
    func `a wait longer than a week is refused`(_ members: String) {
        #expect(throws: InvalidInput.self) { try retry(#""backoff": {\#(members)}"#) }
    }
}
