import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes

/// The spans of jobs: each as a whole, each time that it waited, its attempts, and the requests of those.
///
/// They are made from what is known when they are over, and cost nothing for jobs that are in no trace that is recorded.
struct JobSpans: Sendable {
    private let tracer: Tracer

    init(_ tracer: Tracer) { self.tracer = tracer }

    /// The trace of a job whose spans are to be recorded, its own where it was submitted in none; nil for none.
    func trace(of job: ClaimedJob) -> TraceContext? {
        guard let trace = job.spec.trace else { return tracer.root(of: job.id) }
        return trace.isSampled ? trace : nil
    }

    /// From when it was due until its attempt began.
    func recordWait(of job: ClaimedJob, claimedAt time: Timestamp) {
        guard let trace = trace(of: job) else { return }
        let start = job.storedAt ?? time.advanced(by: .zero - (job.waited ?? .zero))
        var span = Span("wait", .internal, trace.at(SpanID()), parent: job.span, from: start, to: .now)
        span.set(job)
        tracer.record(span)
    }

    /// One attempt, and what it did on the network.
    func recordAttempt(of job: ClaimedJob, _ outcome: JobOutcome) {
        guard let trace = trace(of: job) else { return }
        let attempt = trace.at(SpanID(of: job.id, attempt: job.claim))
        var span = Span(
            "attempt", .internal, attempt, parent: job.span, from: outcome.startedAt, to: outcome.finishedAt)
        span.set(job)
        span.set("fetchd.attempt.number", job.claim)
        span.set("server.address", job.url.host)
        span.set("http.response.status_code", outcome.status)
        if let name = outcome.errorName { span.fail(name) }
        tracer.record(span)
        guard let observation = outcome.observation else { return }
        var methods = observation.redirects.filter { $0.cause == .response }[...]
        var method = job.spec.request.method
        for (number, transaction) in observation.transactions.enumerated() {
            var hop = Span(
                transaction, method, at: trace.at(SpanID()), below: attempt.span, since: observation.startedAt)
            if number > 0 { hop.set("http.request.resend_count", number) }
            if transaction.status == nil, number == observation.transactions.count - 1, let name = outcome.errorName {
                hop.fail(name)
            }
            tracer.record(hop)
            if let next = methods.first, transaction.url == next.url, transaction.status == next.status.code {
                method = next.method
                methods.removeFirst()
            }
        }
    }

    /// The job as a whole: from its submission to its end.
    func recordEnd(of job: ClaimedJob, _ outcome: JobOutcome) {
        guard let trace = trace(of: job) else { return }
        // Its id holds the time, to the millisecond.
        let start = Timestamp(microseconds: Int64(job.id.uuid.high >> 16) * 1000)
        var span = Span(
            "job", .internal, trace.at(job.span), parent: trace.span == job.span ? nil : trace.span, from: start,
            to: outcome.finishedAt)
        span.set(job)
        span.set("fetchd.job.kind", job.spec.kind.rawValue)
        span.set("fetchd.job.state", outcome.state.rawValue)
        span.set("fetchd.job.attempts", job.tries + 1)
        span.set("server.address", job.url.host)
        if let name = outcome.errorName { span.fail(name) }
        tracer.record(span)
    }
}

extension ClaimedJob {
    /// The span of the job.
    ///
    /// One that was tried again after its end, or was lost with a node, has another one.
    fileprivate var span: SpanID { SpanID(of: id, life: max(0, claim - Int32(clamping: tries) - 1)) }

    /// The place of its attempt, for others that go on from there.
    ///
    /// - Parameter spans: Who records spans here; nil for nobody, and others go on from where the job came from.
    func attemptTrace(recordedBy spans: JobSpans?) -> TraceContext? {
        guard let trace = spans?.trace(of: self) else { return spec.trace }
        return trace.at(SpanID(of: id, attempt: claim))
    }
}

extension Span {
    fileprivate mutating func set(_ job: ClaimedJob) {
        set("fetchd.job.id", job.id.description)
        set("fetchd.tenant.id", "\(job.tenant)")
    }

    /// One request and its answer.
    fileprivate init(
        _ transaction: TransactionMetrics, _ method: HTTPRequest.Method, at context: TraceContext,
        below parent: SpanID, since taskStart: Timestamp
    ) {
        let url = transaction.url
        let start = taskStart.advanced(by: transaction.fetchStart)
        let isLocal = transaction.resourceFetchType == .localCache
        self.init(
            method.ofSpans ?? "HTTP", isLocal ? .internal : .client, context, parent: parent, from: start,
            to: start.advanced(by: transaction.responseEnd))
        if url.isHTTP || url.isFTP { set("url.full", url.redacted) }
        if url.isHTTP {
            set("http.request.method", method.ofSpans ?? "_OTHER")
            set("http.response.status_code", transaction.status)
        }
        set("server.address", url.host)
        set("server.port", url.effectivePort)
        setConnection(transaction)
        if isLocal { set("fetchd.cache.hit", true) }
        set("http.request.body.size", transaction.countOfRequestBodyBytesSent)
        set("http.response.body.size", transaction.countOfResponseBodyBytesReceived)
        if let status = transaction.status, url.isHTTP, status >= 400 { fail(String(status)) }
        let phases: [(String, Duration?)] = [
            ("dns", transaction.domainLookupEnd),
            ("connect", transaction.secureConnectionStart ?? transaction.connectEnd),
            ("tls", transaction.secureConnectionEnd), ("request sent", transaction.requestEnd),
            ("first byte", transaction.responseStart),
        ]
        events = phases.compactMap { name, time in time.map { Event(name, at: start.advanced(by: $0)) } }
    }

    private mutating func setConnection(_ transaction: TransactionMetrics) {
        switch transaction.networkProtocolName {
        case "h2"?: set("network.protocol.version", "2")
        case let name? where name.hasPrefix("http/"): set("network.protocol.version", String(name.dropFirst(5)))
        default: break
        }
        set("network.peer.address", transaction.remoteAddress)
        set("network.peer.port", transaction.remotePort)
        if let version = transaction.negotiatedTLSProtocolVersion, version.hasPrefix("TLSv") {
            set("tls.protocol.version", String(version.dropFirst(4)))
        }
        if transaction.remoteAddress != nil { set("fetchd.connection.reused", transaction.isReusedConnection) }
    }
}

extension HTTPRequest.Method {
    private static let known: Set<Self> = [
        .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch,
    ]

    /// The method as spans have it; nil for one that a client has made up.
    fileprivate var ofSpans: String? { Self.known.contains(self) ? rawValue : nil }
}
