import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// How spans get to a collector, whatever that answers.
@Suite(.timeLimit(.minutes(1))) struct SpanExporterTests {
    /// What a collector got.
    private final class Inbox: Sendable {
        let requests = Mutex<[(head: String, body: String)]>([])

        var count: Int { requests.withLock { $0.count } }
        /// The names of spans, request by request.
        var names: [[String]] {
            requests.withLock { requests in
                requests.map { request in request.body.matches(of: /"name":"(s\d+)"/).map { String($0.1) } }
            }
        }
    }

    private let registry = MetricsRegistry()
    private let clock = ManualClock()
    private let inbox = Inbox()
    private let tracer: Tracer

    init() {
        var configuration = Tracer.Configuration()
        configuration.batch = 2
        tracer = Tracer(configuration: configuration, metrics: registry)
    }

    private func count(_ outcome: String) -> Int {
        for match in registry.text.matches(of: /fetchd_trace_spans_total\{outcome="(\w+)"\} (\d+)/)
        where match.1 == outcome { return Int(match.2) ?? 0 }
        return 0
    }

    /// A collector with these answers, one after the other, the last one again and again; nil closes the connection.
    private func collector(_ answers: String?...) throws -> WireOrigin {
        try WireOrigin { [inbox] connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let body = String(decoding: try connection.receive(length), as: UTF8.self)
                let number = inbox.requests.withLock { requests in
                    requests.append((head, body))
                    return requests.count
                }
                guard let answer = answers[min(number, answers.count) - 1] else { return }
                try connection.send(answer)
            }
        }
    }

    private static func answer(_ status: Int, _ fields: String = "", _ body: String = "{}") -> String {
        "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    private func record(_ numbers: Range<Int>) throws {
        let context = try #require(tracer.context(below: nil))
        for number in numbers {
            tracer.record(Span("s\(number)", .internal, context, parent: nil, from: .now, to: .now))
        }
    }

    /// Runs an exporter, stops it in order, and returns when it has stopped.
    private func run(to origin: WireOrigin, _ body: () async throws -> Void = {}) async throws {
        var configuration = SpanExporter.Configuration(
            url: try URLRecord("http://127.0.0.1:\(origin.port)/v1/traces"))
        configuration.headers[.authorization] = "Bearer x"
        configuration.lastWait = .seconds(3)
        let exporter = SpanExporter(
            configuration: configuration, tracer: tracer,
            session: Session(configuration: SpanExporter.sessionConfiguration(.ephemeral)), metrics: registry,
            logger: .silent, clock: clock.clock)
        let group = ServiceGroup(services: [exporter], logger: .silent)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.next()
            try result.get()
        }
    }

    @Test func `a full batch is sent at once, others after a while, and the last at the stop`() async throws {
        let origin = try collector(Self.answer(200))
        try await run(to: origin) {
            await clock.untilAsleep()
            try record(0..<2)
            try await until { count("exported") == 2 }
            try record(2..<3)
            clock.advance(by: .seconds(5))
            try await until { count("exported") == 3 }
            try record(3..<4)
        }
        #expect(inbox.names == [["s0", "s1"], ["s2"], ["s3"]])
        let head = inbox.requests.withLock { $0.first?.head.lowercased() } ?? ""
        #expect(head.hasPrefix("post /v1/traces http/1.1") && head.contains("content-type: application/json"))
        #expect(head.contains("authorization: bearer x"))
        #expect(count("exported") == 4 && count("failed") == 0 && count("dropped") == 0)
    }

    @Test(arguments: [429, 502, 503, 504])
    func `a batch that may be taken later is sent again, no earlier than the collector says`(
        _ status: Int
    ) async throws {
        let origin = try collector(Self.answer(status, "Retry-After: 20\r\n"), nil, Self.answer(200))
        try await run(to: origin) {
            await clock.untilAsleep()
            try record(0..<2)
            // Beside the one that waits for the next batch.
            await clock.untilAsleep(for: .seconds(20))
            #expect(inbox.count == 1)
            clock.advance(by: .seconds(20))
            // A connection that ends without an answer is such a case too.
            try await until { inbox.count >= 2 }
            await clock.untilAsleep(2)
            clock.advance(by: .seconds(30))
            try await until { count("exported") == 2 }
        }
        #expect(inbox.names.allSatisfy { $0 == ["s0", "s1"] } && count("failed") == 0)
    }

    @Test(arguments: [301, 400, 401, 413, 500])
    func `a batch that is refused is not sent again, and others are`(_ status: Int) async throws {
        let origin = try collector(Self.answer(status, "Location: /\r\n"), Self.answer(200))
        try await run(to: origin) {
            await clock.untilAsleep()
            try record(0..<4)
            try await until { count("exported") == 2 }
        }
        #expect(inbox.names == [["s0", "s1"], ["s2", "s3"]] && count("failed") == 2)
    }

    @Test(arguments: [
        (#"{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "no"}}"#, 1),
        (#"{"partialSuccess": {"rejectedSpans": 5}}"#, 2), (#"{"partialSuccess": {}}"#, 0), ("", 0), ("<html>", 0),
    ])
    func `spans that the collector left out are counted`(_ body: String, _ refused: Int) async throws {
        try record(0..<2)
        try await run(to: try collector(Self.answer(200, "", body)))
        #expect(count("exported") == 2 - refused && count("failed") == refused)
    }

    @Test func `a collector that is gone holds up no stop`() async throws {
        let origin = try collector(nil)
        try record(0..<2)
        try await run(to: origin)
        #expect(count("failed") == 2 && count("exported") == 0)
    }

    // MARK: What spans tell

    private func job(_ url: String, trace: TraceContext?) throws -> ClaimedJob {
        var spec = try JobSpec.make(url: url)
        spec.trace = trace
        return ClaimedJob(id: Job.ID(), tenant: .first, spec: spec, claim: 1)
    }

    private func attribute(_ span: Span?, _ name: String) -> Span.Value? {
        span?.attributes.first { $0.name == name }?.value
    }

    @Test func `the requests of an attempt are told without queries, each by its own method`() throws {
        let trace = try #require(tracer.context(below: nil))
        let job = try job("https://user:sesame@a.example:8443/x?secret=sesame#sesame", trace: trace)
        let first = try URLRecord("https://a.example:8443/x?secret=sesame")
        let second = try URLRecord("http://b.example/y?token=sesame")
        var (one, two) = (TransactionMetrics(url: first), TransactionMetrics(url: second))
        (one.status, one.networkProtocolName, one.negotiatedTLSProtocolVersion) = (303, "h2", "TLSv1.3")
        (one.fetchStart, one.responseEnd, one.domainLookupEnd) = (.milliseconds(5), .milliseconds(20), .milliseconds(2))
        (two.fetchStart, two.responseEnd, two.networkProtocolName) = (.milliseconds(30), .milliseconds(9), "http/1.1")
        two.status = 404
        let start = Timestamp.now
        var outcome = JobOutcome(
            state: .failed, startedAt: start, finishedAt: start.advanced(by: .milliseconds(40)))
        outcome.errorName = "badServerResponse"
        outcome.observation = LoadObservation(
            transactions: [one, two],
            redirects: [Redirect(url: first, status: .seeOther, location: "", target: second, method: .head)],
            startedAt: start)
        JobSpans(tracer).recordAttempt(of: job, outcome)
        let spans = tracer.take() + tracer.take()
        #expect(spans.map(\.name) == ["attempt", "GET", "HEAD"])
        #expect(spans.dropFirst().allSatisfy { $0.parent == spans.first?.context.span && $0.kind == .client })
        #expect(attribute(spans[1], "url.full") == .text("https://a.example:8443/x"))
        #expect(attribute(spans[1], "network.protocol.version") == .text("2"))
        #expect(attribute(spans[1], "tls.protocol.version") == .text("1.3"))
        #expect(spans[1].start == start.advanced(by: .milliseconds(5)))
        #expect(spans[1].end == start.advanced(by: .milliseconds(25)))
        #expect(spans[1].events.map(\.name) == ["dns"] && spans[1].error == nil)
        #expect(attribute(spans[2], "http.request.resend_count") == .number(1))
        #expect(spans[2].error == "404" && attribute(spans[2], "server.port") == .number(80))
        let text = String(decoding: Span.export(spans, resource: [], version: "1"), as: UTF8.self)
        #expect(!text.contains("sesame") && text.contains(trace.trace.description))
    }

    @Test(arguments: ["data:,sesame", "file:///sesame"])
    func `a URL that is data itself is not told`(_ url: String) throws {
        let job = try job(url, trace: tracer.context(below: nil))
        var outcome = JobOutcome(state: .succeeded, startedAt: .now, finishedAt: .now)
        outcome.observation = LoadObservation(transactions: [TransactionMetrics(url: try URLRecord(url))])
        JobSpans(tracer).recordAttempt(of: job, outcome)
        let text = String(decoding: Span.export(tracer.take(), resource: [], version: "1"), as: UTF8.self)
        #expect(!text.contains("sesame"))
    }

    @Test(arguments: [TraceSampler.parentBasedAlwaysOn, .alwaysOff])
    func `a job in a trace that is not recorded has no spans, nor one in none where none is begun`(
        _ sampler: TraceSampler
    ) throws {
        let tracer = Tracer(configuration: .init(sampler: sampler))
        let spans = JobSpans(tracer)
        let unsampled = TraceContext(trace: TraceID(), span: SpanID(), isSampled: false)
        let outcome = JobOutcome(state: .succeeded, startedAt: .now, finishedAt: .now)
        for trace in sampler == .alwaysOff ? [nil, unsampled] : [unsampled] {
            let job = try job("https://a.example/", trace: trace)
            spans.recordWait(of: job, claimedAt: .now)
            spans.recordAttempt(of: job, outcome)
            spans.recordEnd(of: job, outcome)
            #expect(job.attemptTrace(recordedBy: spans) == trace)
        }
        #expect(tracer.take().isEmpty)
    }

    @Test func `a job in no trace begins one, whose first span it is`() throws {
        let outcome = JobOutcome(state: .succeeded, startedAt: .now, finishedAt: .now)
        let job = try job("https://a.example/", trace: nil)
        JobSpans(tracer).recordAttempt(of: job, outcome)
        JobSpans(tracer).recordEnd(of: job, outcome)
        let spans = tracer.take() + tracer.take()
        #expect(spans.map(\.name) == ["attempt", "job"])
        #expect(spans.last?.parent == nil && spans.first?.parent == spans.last?.context.span)
        #expect(Set(spans.map(\.context.trace)) == [TraceID(of: job.id)])
        let attempt = job.attemptTrace(recordedBy: JobSpans(tracer))
        #expect(attempt?.span == spans.first?.context.span && job.attemptTrace(recordedBy: nil) == nil)
    }
}
