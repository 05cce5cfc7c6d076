import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Synchronization

@testable import FetchAPI

// The readers of texts that clients of the service write, and of the limits that origins state.
extension FuzzTarget {
    func runOnService(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .jobJSON: Self.jobJSON(bytes)
        case .cursor: Self.cursor(text)
        case .cron: Self.cron(text)
        case .rateLimit: Self.rateLimit(text)
        case .query: Self.query(text)
        case .token: Self.token(text)
        case .curl: Self.curl(text)
        case .serviceJSON: Self.serviceJSON(bytes)
        case .waitExpression: Self.waitExpression(text)
        case .traceContext: Self.traceContext(text)
        case .provider: Self.provider(text)
        case .issuerKeys: Self.issuerKeys(bytes)
        case .clientFields: Self.clientFields(text)
        case .operations: Self.operations(bytes)
        case .xmlCall: Self.xmlCall(bytes)
        default: preconditionFailure("\(self) is read elsewhere")
        }
    }

    /// Any JSON is a job, another body, or a list of errors; as a patch it applies to itself.
    private static func jobJSON(_ bytes: [UInt8]) {
        guard let json = try? JSONParser.parse(bytes) else { return }
        expectViolations(of: [
            { _ = try JobSpec(json: json) }, { _ = try ScheduleSpec(json: json) }, { _ = try SessionSpec(json: json) },
            { _ = try JobChange(json: json) }, { _ = try RegisteredProtocolSpec(json: json) },
            { _ = try ProtocolReply(envelope: json, to: try Request("archive://shelf/7"), followedBy: nil) },
        ])
        _ = json.merging(json)
    }

    /// Any JSON is what a client stores beside jobs, or a list of errors.
    private static func serviceJSON(_ bytes: [UInt8]) {
        guard let json = try? JSONParser.parse(bytes) else { return }
        expectViolations(of: [
            { _ = try APIKeySpec(json: json) }, { _ = try CookieSubmission(json: json) },
            { _ = try CookieReading(json: json) }, { _ = try CacheSubmission(json: json) },
            { _ = try CredentialSubmission(json: json) }, { _ = try JobGroupSpec(json: json) },
            { _ = try WebhookEndpointSpec(json: json) }, { _ = try WebhookEndpointPatch(json: json) },
            { _ = try SecretRotation(json: json) }, { _ = try DeliveryReplay(json: json) },
            { _ = try TenantChange(json: json) },
        ])
    }

    /// Any JSON is what steers jobs, questions and loads, or a list of errors; what is stored of it reads as itself.
    private static func operations(_ bytes: [UInt8]) {
        guard let json = try? JSONParser.parse(bytes), let request = try? Request("http://a.example/") else { return }
        expectViolations(of: [
            {
                let text = EgressDocument.text(of: try EgressDocument.rules(json: json))
                precondition((try? EgressDocument(stored: text, version: 1)) != nil)
            },
            { _ = try SharedLimits(json: json, of: .host) }, { _ = try SharedLimits(json: json, of: .flow) },
            {
                let check = InputCheck()
                _ = JobFilter(reader: JSONReader(json, check: check))
                try check.finish()
            },
            {
                let check = InputCheck()
                _ = WhatIf(reader: JSONReader(json, check: check), about: request, in: SessionConfiguration())
                try check.finish()
            },
        ])
        for kind in Question.Kind.allCases {
            expectViolations(of: [
                {
                    let reply = try Reply(json: json, to: kind)
                    _ = (reply.shown, reply.secretBytes)
                }
            ])
        }
    }

    /// Each reads its JSON, or says what is wrong with it.
    private static func expectViolations(of attempts: [() throws -> Void]) {
        for attempt in attempts {
            do { try attempt() } catch let input as InvalidInput {
                precondition((1...InvalidInput.maximumViolations).contains(input.violations.count))
            } catch {
                preconditionFailure("\(error)")
            }
        }
    }

    /// What a call of XML-RPC brings is written as XML that reads as the same, but for the kinds that JSON has not.
    private static func xmlCall(_ bytes: [UInt8]) {
        guard let call = try? XMLRPCReader.call(in: bytes) else { return }
        for value in call.parameters {
            var writer = JSONWriter()
            writer.value(value)
            let answer = XMLRPCWriter.answer(.success(RawJSON(writer.bytes)))
            // Between the parameters of an answer there is what stands between those of a call.
            let head = Array("<methodCall><params>".utf8)
            let again = head + answer.dropFirst(45).dropLast(26) + Array("</params></methodCall>".utf8)
            guard let read = try? XMLRPCReader.call(in: again) else { preconditionFailure("is written as no XML") }
            precondition(read.parameters.count == 1)
        }
    }

    private static func cursor(_ text: String) {
        if let cursor = try? Cursor<Job.Kind>(text, filter: "") { precondition(cursor.text == text) }
        if let cursor = try? LimiterCursor(text) { precondition(cursor.text == text) }
    }

    private static func cron(_ text: String) {
        guard let expression = try? CronExpression(text), let zone = TimeZone(named: "Europe/Berlin") else {
            return
        }
        guard let next = expression.next(after: 1_700_000_000, in: zone) else { return }
        precondition(next > 1_700_000_000)
    }

    /// An origin is believed up to a day.
    private static func rateLimit(_ text: String) {
        guard let url = try? URLRecord("https://www.example.com/") else { return }
        for name in ["RateLimit", "RateLimit-Reset", "Retry-After", "Cache-Status"] {
            guard let name = HTTPField.Name(name) else { continue }
            var fields: HTTPFields = [:]
            fields.append(HTTPField(name: name, lenientValue: Array(text.utf8)))
            let response = Response(url: url, status: .tooManyRequests, headerFields: fields)
            let now = Timestamp(microseconds: 1_700_000_000_000_000)
            guard case .open(let circuit) = Limiter.Signal(of: response, now: now) else { continue }
            precondition(circuit.until <= now.advanced(by: Limiter.Signal.longestOpenCircuit))
        }
    }

    /// A token that is read is spelt in one way; as the header of one, any text is that or refused.
    private static func token(_ text: String) {
        let part = OpaqueText.write(text)
        for text in [text, "\(part).\(part).AAAA", "\(part).e30.AAAA"] {
            guard let token = try? SignedToken(text) else { continue }
            let signature = text.utf8.dropFirst(token.message.count + 1)
            precondition(SignedToken.bytes(Array(signature)[...]) == token.signature)
            precondition(text.utf8.starts(with: token.message) && text.utf8.count <= SignedToken.maximumLength)
        }
        _ = (SignInLink(text), APIKeyToken(text))
        let (job, secret) = (Job.ID(), SessionSecret(bytes: [UInt8](repeating: 7, count: 32)))
        let own = StreamToken(tenant: Tenant.ID(rawValue: 1), job: job, key: APIKey.ID(), now: 0).text(secret)
        precondition(StreamToken(own, job: job, secret: secret, now: 1) != nil)
        // Nobody else can write one, whatever is put in its place or behind it.
        for text in [text, own + text, "fs_" + text, own.replacing("fs_1.", with: "fs_\(text).")]
        where !text.utf8.elementsEqual(own.utf8) {
            precondition(StreamToken(text, job: job, secret: secret, now: 1) == nil)
        }
    }

    /// What is read is JSON that a job can be looked for in.
    private static func curl(_ text: String) {
        guard let command = try? CurlCommand(text) else { return }
        precondition((try? JSONParser.parse(command.job.json.utf8)) == command.job)
        _ = try? JobSpec(json: command.job)
    }

    private static func query(_ text: String) {
        guard let query = try? Query(text) else { return }
        precondition(Set(query.names).count == query.names.count)
    }

    /// A formula reads as itself, and has a value for every attempt.
    private static func waitExpression(_ text: String) {
        guard let formula = try? WaitExpression(text) else { return }
        precondition((try? WaitExpression(formula.text)) == formula)
        for retried in [0, 1, 1000] { _ = formula.value(retried: retried) }
    }

    /// The first line is `traceparent`, the others are `tracestate`; what is passed on is read as the same.
    private static func traceContext(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 8, omittingEmptySubsequences: false).map(String.init)
        guard let context = TraceContext(parent: lines[0], states: Array(lines.dropFirst())) else { return }
        var fields = HTTPFields()
        context.write(to: &fields)
        precondition(TraceContext(fields) == context)
    }

    /// What an identity provider says of itself, and the query that a browser brings back from it.
    private static func provider(_ text: String) {
        let issuer = "https://issuer.example"
        let metadata = try? ProviderMetadata(Array(text.utf8), of: issuer)
        if let answer = OpenIDAnswer(text), let metadata { _ = answer.isOf(issuer, metadata) }
        _ = OpenIDAnswer.error(text)
        if let url = IssuerURL(text) { precondition(IssuerURL("\(url)") == url) }
    }

    /// The keys that an issuer publishes, from the reading of the text to the check of a token.
    private static func issuerKeys(_ bytes: [UInt8]) {
        InlineExecutor.run {
            guard let keys = try? await IssuerKeys(bytes) else { return }
            precondition(keys.has(nil) && keys.faults.count <= IssuerKeys.maximumKeys)
            let part = OpaqueText.write(#"{"alg":"ES256","kid":"a"}"#)
            guard let token = try? SignedToken("\(part).e30.\(String(repeating: "A", count: 86))") else { return }
            // Nobody has signed it.
            precondition((try? keys.check(token)) == nil)
        }
    }

    /// A line for `Host`, and the others for `Prefer`.
    private static func clientFields(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 8, omittingEmptySubsequences: false).map(String.init)
        let request = HTTPRequest(method: .get, scheme: nil, authority: lines[0], path: "/")
        if HostField.isSound(in: request, mayLack: false) {
            // What stands for a user, a path or a query would be read otherwise elsewhere. Of the value of a field, HTTPTypes
            // takes what no field may have.
            precondition(request.authority?.contains { "@/?# \\\t".contains($0) } == false)
        }
        var fields: HTTPFields = [:]
        guard let prefer = HTTPField.Name("Prefer") else { return }
        for line in lines.dropFirst() { fields.append(HTTPField(name: prefer, lenientValue: Array(line.utf8))) }
        let preferences = Preferences(of: fields)
        precondition((0...Preferences.maximumWait).contains(preferences.wait ?? 0))
        _ = preferences.applied
    }
}

/// Runs what is asynchronous on the thread that asks for it: its time is measured, and a fuzzer knows no other thread.
private final class InlineExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let isDone = Mutex(false)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    static func run(_ operation: @escaping @Sendable () async -> Void) {
        let executor = InlineExecutor()
        Task(executorPreference: executor) {
            await operation()
            executor.isDone.withLock { $0 = true }
        }
        while !executor.isDone.withLock({ $0 }) {
            let next = executor.jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            next?.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }
}
