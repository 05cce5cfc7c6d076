package import FetchEngine
import FetchJobs
package import FetchRuntime
package import HTTPTypes
package import Logging
import ServiceLifecycle
import Synchronization

/// Sends the spans of this process to a collector, in batches, by OpenTelemetry's protocol over HTTP in JSON.
package final class SpanExporter: Service {
    package struct Configuration: Sendable {
        /// Where a collector takes traces.
        package let url: URLRecord
        /// Fields of every request, such as one with credentials.
        package var headers = HTTPFields()
        /// What says whose the spans are: pairs of names and texts.
        package var resource: [(String, String)] = []
        /// That of the program.
        package var version = ""
        /// How long a span waits for others at most.
        package var interval = Duration.seconds(5)
        /// How long the collector has to answer.
        package var timeout = Duration.seconds(10)
        /// How long the last spans may take at the stop.
        package var lastWait = Duration.seconds(5)

        package init(url: URLRecord) { self.url = url }
    }

    /// What came of sending a batch.
    private enum Result {
        /// It is not sent again.
        case over
        /// It may be taken later, after so long at least.
        case again(after: Duration?)
    }

    /// How often a batch is sent; meanwhile others wait, and are dropped when there are too many.
    private static let maximumTries = 6
    private static let backoff = RetryPolicy.Backoff(initial: .seconds(1), maximum: .seconds(30))
    /// The statuses after which a batch is sent again (OTLP, "Retryable Response Codes").
    private static let passing: Set = [429, 502, 503, 504]

    private let configuration: Configuration
    private let tracer: Tracer
    private let session: Session
    private let logger: Logger
    private let clock: NodeClock
    private let spans: (exported: Counter, failed: Counter)
    /// The batch whose sending a stop has ended.
    private let unsent = Mutex<[Span]>([])

    /// - Parameters:
    ///   - session: Loads nothing but exports; made with ``sessionConfiguration(_:)``.
    ///   - metrics: Where exported spans are counted, and those that no collector took.
    package init(
        configuration: Configuration, tracer: Tracer, session: Session,
        metrics: MetricsRegistry = MetricsRegistry(), logger: Logger, clock: NodeClock = .continuous
    ) {
        self.configuration = configuration
        self.tracer = tracer
        self.session = session
        self.logger = logger
        self.clock = clock
        let outcomes = metrics.counter(.traceSpans)
        spans = (outcomes["exported"], outcomes["failed"])
    }

    /// The configuration of exports.
    package static func sessionConfiguration(_ standard: SessionConfiguration) -> SessionConfiguration {
        var configuration = standard
        configuration.redirects.policy = .return
        configuration.removeStorages()
        configuration.httpMaximumConnectionsPerHost = 1
        // The operator has named the collector: it may be inside the network that jobs may not reach.
        configuration.targetPolicy = .unrestricted
        return configuration
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await self.keepExporting() }
        await exportLast()
    }

    private func keepExporting() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                while !Task.isCancelled {
                    try? await self.clock.sleep(for: self.configuration.interval)
                    self.tracer.isDue.signal()
                }
            }
            for await _ in tracer.isDue.values { await exportAll() }
            group.cancelAll()
        }
    }

    private func exportAll() async {
        while !Task.isCancelled {
            let batch = tracer.take()
            guard !batch.isEmpty else { return }
            await export(batch)
        }
    }

    /// Sends a batch until it is taken, or given up.
    private func export(_ batch: [Span]) async {
        for tries in 1...Self.maximumTries {
            let result = await send(batch, within: configuration.timeout)
            guard case .again(let wait) = result else { return }
            guard !Task.isCancelled else { break }
            guard tries < Self.maximumTries else { return spans.failed.add(batch.count) }
            let backoff = Self.backoff.wait(after: tries - 1, random: .random(in: 0...1))
            try? await clock.sleep(for: max(wait ?? .zero, backoff))
            if Task.isCancelled { break }
        }
        unsent.withLock { $0 = batch }
    }

    /// Sends what is there at the stop, once.
    private func exportLast() async {
        let end = ContinuousClock.now + configuration.lastWait
        var batch = unsent.withLock { $0 }
        while true {
            if batch.isEmpty { batch = tracer.take() }
            guard !batch.isEmpty else { return }
            let rest = min(end - .now, configuration.timeout)
            guard rest > .zero, case .over = await send(batch, within: rest) else {
                return spans.failed.add(batch.count)
            }
            batch = []
        }
    }

    private func send(_ batch: [Span], within time: Duration) async -> Result {
        let body = Span.export(batch, resource: configuration.resource, version: configuration.version)
        var request = Request(url: configuration.url, method: .post, headerFields: configuration.headers)
        request.headerFields[.contentType] = "application/json"
        request.body = .bytes(body)
        var settings = session.configuration
        settings.timeoutIntervalForResource = time
        do throws(LoadError) {
            let task = session.dataTask(with: request, configuration: settings)
            let response = try await task.response(bufferingUpTo: 64 * 1024)
            let answer = task.completeBody
            if answer == nil { task.cancel() }
            return note(response, answer ?? [], batch.count)
        } catch {
            if !Task.isCancelled { warn(batch.count, ["error": "\(error.code.name)"]) }
            return .again(after: nil)
        }
    }

    private func note(_ response: Response, _ answer: [UInt8], _ count: Int) -> Result {
        guard response.status.kind != .successful else {
            let refused = min(count, Self.refused(answer))
            spans.exported.add(count - refused)
            if refused > 0 {
                spans.failed.add(refused)
                warn(refused, ["http.status": "\(response.status.code)"])
            }
            return .over
        }
        warn(count, ["http.status": "\(response.status.code)"])
        guard Self.passing.contains(response.status.code) else {
            spans.failed.add(count)
            return .over
        }
        return .again(after: response.retryAfter())
    }

    /// How many spans the collector says that it has not taken.
    private static func refused(_ answer: [UInt8]) -> Int {
        let count = (try? JSONParser.parse(answer))?.member("partialSuccess")?.member("rejectedSpans")
        switch count {
        case .string(let text): return max(0, Int(text) ?? 0)
        case .number(let number): return max(0, Int(number.text) ?? 0)
        default: return 0
        }
    }

    private func warn(_ count: Int, _ reason: Logger.Metadata) {
        logger.warning(
            "the collector did not take spans", metadata: reason.merging(["spans.count": "\(count)"]) { $1 })
    }
}
