import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// Submitting many jobs in one request, line by line, in bounded memory.
struct BatchRoute: Sendable {
    static let maximumLines = 10_000
    static let maximumLineLength = 65_536
    static let groupLines = 500
    /// Groups end early when their lines are long.
    static let groupBytes = 1 << 20
    /// Results are held up to this size before the first is sent while lines still come in: a client that reads only
    /// after it has sent everything must not be waited for.
    static let heldBytes = 1 << 20

    let jobs: any JobStore
    let keys: any KeyStore
    let endpoints: KnownEndpoints
    let groups: KnownGroups
    let sessions: KnownSessions
    let holds: BlobPins
    let warnings: Warnings
    let submitted: Counter

    var routes: [Route] { [Route(.post, "/v1/jobs/batch", tenant: submit).taking(.jobs)] }

    private func submit(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/x-ndjson", "application/jsonl")
        let key = try IdempotencyKey(of: call.headers)
        var batch = Batch(
            route: self, owner: try call.requireKey(), key: key, requestID: call.id.text, trace: call.trace,
            body: call.request.body)
        // The first group decides whether there is an answer at all; after it the status is sent.
        let first = try await batch.results()
        guard !batch.isOver else { return .lines(ResponseBody(byteBuffer: first)) }
        let handover = Handover(batch)
        return .lines(
            ResponseBody { writer in
                if let batch = handover.take() { try await Self.answer(batch, after: first, to: &writer) }
                try await writer.finish(nil)
            }
        )
    }

    private static func answer(
        _ batch: consuming Batch,
        after first: ByteBuffer,
        to writer: inout any ResponseBodyWriter
    ) async throws {
        var held = first
        while !batch.isOver {
            var results = await batch.resultsOrProblem()
            held.writeBuffer(&results)
            guard held.readableBytes >= heldBytes else { continue }
            try await writer.write(held)
            held.clear()
        }
        try await writer.write(held)
    }
}

/// The lines of one request and their results.
///
/// Only one task at a time holds and advances a batch; it is handed from the route to the body of its response.
struct Batch {
    private enum Line {
        case job(NewJob, hasKey: Bool)
        case refused(Problem)

        var job: NewJob? { if case .job(let job, _) = self { job } else { nil } }
    }

    private let route: BatchRoute
    private let owner: APIKey
    private var tenant: Tenant.ID { owner.tenant }
    private let key: IdempotencyKey?
    private let requestID: String
    private let trace: TraceContext?
    private var body: RequestBody.AsyncIterator
    private var lines = NDJSONLines(maximumLength: BatchRoute.maximumLineLength)
    private var count = 0
    private var hasEnded = false
    private(set) var isOver = false

    init(
        route: BatchRoute, owner: APIKey, key: IdempotencyKey?, requestID: String, trace: TraceContext?,
        body: RequestBody
    ) {
        self.route = route
        self.owner = owner
        self.key = key
        self.requestID = requestID
        self.trace = trace
        self.body = body.makeAsyncIterator()
    }

    /// Reads, stores and answers the next group of lines.
    mutating func results() async throws -> ByteBuffer {
        let first = count + 1
        let group = try await group()
        let new = group.compactMap(\.job)
        // Fewer than there are jobs when the key has room for no more.
        var enqueued = try await route.keys.submitting(new, with: owner, route.jobs.enqueue).makeIterator()
        var results = ByteBuffer()
        for (offset, line) in group.enumerated() {
            switch line {
            case .refused(let problem): write(problem, line: first + offset, to: &results)
            case .job(let job, let hasKey):
                write(enqueued.next(), of: job, hasKey: hasKey, line: first + offset, to: &results)
            }
        }
        if count >= BatchRoute.maximumLines, !isOver { try await refuseMore(&results) }
        return results
    }

    /// The same, with a failure as the last line.
    mutating func resultsOrProblem() async -> ByteBuffer {
        do {
            return try await results()
        } catch {
            isOver = true
            var results = ByteBuffer()
            write(Problem(error), line: count, to: &results)
            return results
        }
    }

    private mutating func group() async throws -> [Line] {
        var group: [Line] = []
        var bytes = 0
        while group.count < BatchRoute.groupLines, bytes < BatchRoute.groupBytes, count < BatchRoute.maximumLines {
            guard let line = try await nextLine() else {
                isOver = true
                break
            }
            count += 1
            switch line {
            case .tooLong:
                group.append(
                    .refused(Problem(.contentTooLarge, "A line may have \(BatchRoute.maximumLineLength) bytes.")))
            case .text(let text):
                bytes += text.readableBytes
                group.append(try await read(text))
            }
        }
        return group
    }

    private mutating func nextLine() async throws -> NDJSONLines.Line? {
        while true {
            if let line = lines.next() { return line }
            if hasEnded { return nil }
            if let chunk = try await body.next() {
                lines.append(chunk)
            } else {
                hasEnded = true
                if let line = lines.last() { return line }
            }
        }
    }

    private nonisolated(nonsending) func read(_ text: ByteBuffer) async throws -> Line {
        do {
            let json = try JSONParser.parse(text.readableBytesView)
            let line = try await KeyReading.shared.read(json, of: tenant, BatchLine.init(json:))
            var spec = line.spec
            try owner.bind(&spec)
            // Most lines name neither.
            if spec.webhook != nil || spec.configuration.delegate.endpoint != nil {
                try await route.endpoints.settle(
                    &spec.webhook, asking: spec.configuration.delegate, of: tenant, by: owner)
            }
            if spec.group != nil { try await route.groups.require(spec.group, of: tenant) }
            let idempotency = line.key?.idempotency(for: spec) ?? key?.idempotency(for: spec, line: count)
            let job = try await route.sessions.job(spec, of: tenant, idempotency: idempotency, in: trace)
            try await route.holds.hold(for: job)
            return .job(job, hasKey: line.key != nil)
        } catch let error as StoreError where error.code != .elsewhere {
            throw error
        } catch {
            return .refused(Problem(error))
        }
    }

    /// Ends a batch that goes on beyond the limit.
    private mutating func refuseMore(_ results: inout ByteBuffer) async throws {
        isOver = true
        guard try await nextLine() != nil else { return }
        let problem = Problem(
            .contentTooLarge, "A batch may have \(BatchRoute.maximumLines) lines; the rest was not read.")
        write(problem, line: count + 1, to: &results)
    }

    // MARK: Results

    private func write(
        _ enqueued: Enqueued?, of job: NewJob, hasKey: Bool, line: Int, to results: inout ByteBuffer
    ) {
        switch enqueued {
        case .accepted(let id):
            route.submitted.add()
            write(to: &results) { writer in
                writer.member("line", line)
                writer.member("id", id.description)
                writer.member("state", job.spec.firstState.rawValue)
                route.warnings.write(&writer)
            }
        case .replayed(let id):
            write(to: &results) { writer in
                writer.member("line", line)
                writer.member("id", id.description)
                writer.member("replayed", true)
            }
        case .duplicate(let first):
            write(to: &results) { writer in
                writer.member("line", line)
                writer.member("id", first.description)
                writer.member("duplicate", true)
            }
        case .conflict: write(Problem.reusedKey(ofLine: hasKey), line: line, to: &results)
        case .sessionInvalidated: write(Problem.sessionInvalidated, line: line, to: &results)
        case .sessionFull: write(Problem.sessionFull, line: line, to: &results)
        case .noRoom(let room): write(Problem.noRoom(room), line: line, to: &results)
        case .queueFull(let quota): write(Problem.queueFull(quota: quota), line: line, to: &results)
        case .groupClosed: write(Problem.groupClosed, line: line, to: &results)
        case nil: write(Problem.keyExhausted(owner), line: line, to: &results)
        }
    }

    private func write(_ problem: Problem, line: Int, to results: inout ByteBuffer) {
        write(to: &results) { writer in
            writer.member("line", line)
            writer.member("problem", object: { problem.write(&$0, requestID: requestID) })
        }
    }

    private func write(to results: inout ByteBuffer, _ members: (inout JSONWriter) -> Void) {
        results.writeBytes(JSONWriter.object(members))
        results.writeInteger(UInt8(ascii: "\n"))
    }
}
