import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The bodies of a job: reading the response's, also while it arrives, and sending the request's while it leaves.
struct BodyRoute: Sendable {
    /// How long a body that is sent waits for its job to want it.
    static let patience = Duration.seconds(30)
    /// How long a body is waited for that is on its way from where it grew to where it is kept.
    static let movePatience = Duration.seconds(5)
    static let pollInterval = Duration.milliseconds(50)
    /// The interval of the question whether another node has the job: longer, since the database has to answer it.
    static let lookInterval = Duration.milliseconds(500)
    static let longestLookInterval = Duration.seconds(4)

    let jobs: any JobStore
    let questions: any QuestionStore
    let blobs: any BlobStore
    let live: LiveJobs
    let forwarding: Forwarding

    var routes: [Route] {
        [
            Route(.get, "/v1/jobs/{id}/body", tenant: read),
            Route(.head, "/v1/jobs/{id}/body", tenant: read),
            Route(.put, "/v1/jobs/{id}/body", tenant: send),
        ]
    }

    // MARK: Reading

    private func read(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: [Representation.redirectParameter, Framing.parameter])
        let redirects = try query.bool(Representation.redirectParameter) ?? false
        let framing = try query.oneOf(Framing.parameter, Framing.self)
        guard let id = Job.ID(call.parameter) else { throw JobRoutes.notFound }
        // Each look asks several questions, and the job may end between two of them: only a job that had ended before
        // the look began has no body.
        let deadline = ContinuousClock.now + Self.movePatience
        var (state, looks) = (JobState.queued, 0)
        repeat {
            let wasFinal = state.isFinal
            let found = try await find(id, of: tenant, for: call, redirects: redirects, in: framing)
            if let response = found.response { return response }
            if found.isMoving, ContinuousClock.now < deadline {
                try await Task.sleep(for: Self.pollInterval)
                continue
            }
            (state, looks) = (found.state, looks + 1)
            if wasFinal { break }
        } while state.isFinal || looks < 2
        guard state.isFinal else {
            throw Problem(.jobNotFinal, "The job is \(state.rawValue); its body is not complete.").retrying(after: 1)
        }
        throw Problem(.notFound, "The job has no response body.")
    }

    /// What a look for a body has found.
    private struct Found {
        /// The body; nil where there is none.
        var response: Response?
        var state: JobState
        /// The body is neither where it grew nor where it is kept: just now, or for good if its attempt has failed.
        var isMoving = false
    }

    /// The body as it is stored, or as it comes, to this node or to another one.
    private func find(
        _ id: Job.ID, of tenant: Tenant.ID, for call: Call, redirects: Bool, in framing: Framing?
    ) async throws -> Found {
        // Looked at first: a job that ends in between has its result by then.
        let running = live.job(id, of: tenant)
        if let body = try await jobs.body(of: id, tenant: tenant) {
            let response = try await Representation(body: body).response(to: call, from: blobs, redirects: redirects)
            return Found(response: response, state: .succeeded)
        }
        if let running, let body = running.body {
            do {
                return Found(response: try await follow(body, of: running, call, in: framing), state: .running)
            } catch let error as StoreError where error.code == .blobGone {
                return Found(state: .running, isMoving: true)
            }
        }
        guard let job = try await jobs.job(id, of: tenant) else { throw JobRoutes.notFound }
        guard !job.state.isFinal else { return Found(state: job.state) }
        return Found(response: try await forwarding.answer(to: call, about: id, of: tenant), state: job.state)
    }

    /// The bytes that are there, and then those that come; ends early when the job fails.
    private func follow(
        _ body: LiveBody, of job: LiveJob, _ call: Call, in framing: Framing?
    ) async throws -> Response {
        var headers = Representation.headers(type: body.contentType, filename: body.filename)
        headers[.cacheControl] = "no-store"
        guard call.request.method != .head else { return Response(status: .ok, headers: headers) }
        // Hearing of a client that leaves takes reading on behind the request: no other can follow it.
        headers[.connection] = "close"
        let file = try await body.open()
        let request = call.request.body
        let content = ResponseBody { writer in
            var offset: Int64 = 0
            var lines = LineCutter()
            try await request.consumeWithCancellationOnInboundClose { _ in
                for await _ in job.changes().cancelOnGracefulShutdown() {
                    let count = job.bodyState.count
                    while offset < count {
                        let bytes = try await file.read(from: offset, upTo: min(count - offset, 256 * 1024))
                        offset += Int64(bytes.count)
                        let whole = framing == .lines ? lines.add(bytes) : bytes
                        if !whole.isEmpty { try await writer.write(ByteBuffer(bytes: whole)) }
                    }
                }
            }
            let (count, isComplete, _) = job.bodyState
            guard isComplete, offset == count else { throw CancellationError() }
            // The last line needs no end.
            if !lines.rest.isEmpty { try await writer.write(ByteBuffer(bytes: lines.rest)) }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: content)
    }

    // MARK: Sending

    private func send(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Job.ID(call.parameter) else { throw JobRoutes.notFound }
        try await requireStreamedBody(of: id, tenant)
        let deadline = ContinuousClock.now + Self.patience
        var looks = PollBackoff(from: Self.lookInterval, upTo: Self.longestLookInterval)
        while ContinuousClock.now < deadline, !Task.isShuttingDownGracefully {
            let job = live.job(id, of: tenant)
            if let job, job.upload.isWanted { return try await feed(job, from: call) }
            if job == nil, looks.isDue(),
                let response = try await forwarding.answer(feeding: call, about: id, of: tenant)
            {
                return response
            }
            try await Task.sleep(for: Self.pollInterval)
        }
        throw Problem(.bodyNotWanted, "The job has not asked for its body.").retrying(after: 5)
    }

    private func requireStreamedBody(of id: Job.ID, _ tenant: Tenant.ID) async throws {
        guard let job = try await jobs.job(id, of: tenant) else { throw JobRoutes.notFound }
        guard !job.state.isFinal else { throw Problem(.bodyNotWanted, "The job is \(job.state.rawValue).") }
        if job.storedSpec?.request.body == .stream { return }
        guard try await isAnsweredByStream(id, tenant) else {
            throw Problem(.bodyNotWanted, "The job's request has no streamed body.")
        }
    }

    /// Whether an answer to a question of the job has promised a stream.
    private func isAnsweredByStream(_ id: Job.ID, _ tenant: Tenant.ID) async throws -> Bool {
        var filter = QuestionFilter(state: .answered)
        filter.job = id
        var last: Question.ID?
        repeat {
            let page = try await questions.questions(of: tenant, matching: filter, after: last, limit: 100)
            if page.contains(where: { $0.answer?.sendsStream == true }) { return true }
            last = page.count == 100 ? page.last?.id : nil
        } while last != nil
        return false
    }

    private func feed(_ job: LiveJob, from call: Call) async throws -> Response {
        var body = call.request.body.makeAsyncIterator()
        do {
            try await job.upload.feed { try await body.next().map { Array($0.readableBytesView) } }
        } catch let failure as LiveUpload.Failure {
            throw Self.problem(for: failure, of: job)
        }
        return Response(status: .noContent)
    }

    private static func problem(for failure: LiveUpload.Failure, of job: LiveJob) -> Problem {
        var problem =
            switch failure {
            case .notWanted: Problem(.bodyNotWanted, "The job has its body already.")
            case .cutShort where job.upload.isWanted:
                Problem(.bodyNotWanted, "The job has to send its body again: send it once more, from its start.")
            case .cutShort: Problem(.bodyNotWanted, "The job took no more of the body.")
            }
        // The rest of the body is not worth reading.
        problem.headers[.connection] = "close"
        return problem
    }
}

/// In which pieces a body is passed on while it arrives.
enum Framing: String, CaseIterable {
    static let parameter = "framing"

    /// Whole lines, each as soon as it has come.
    case lines
}

/// Cuts the bytes of a body into whole lines, which end with LF (BEY-28).
struct LineCutter {
    /// A line that is longer is passed on in pieces.
    private static let longestLine = 262_144

    /// The bytes of a line that is not whole yet.
    private(set) var rest: [UInt8] = []

    /// The lines that these bytes complete.
    mutating func add(_ bytes: [UInt8]) -> [UInt8] {
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        guard end > 0 || rest.count + bytes.count > Self.longestLine else {
            rest += bytes
            return []
        }
        let cut = end > 0 ? end : bytes.count
        defer { rest = Array(bytes[cut...]) }
        return rest + bytes[..<cut]
    }
}

extension StoredQuestion.StoredAnswer {
    /// Whether the client is to send a body.
    fileprivate var sendsStream: Bool {
        // It was written by the service: what cannot be read is not there.
        let answer = try? JSONParser.parse(value.bytes)
        let body = answer?.member("body") ?? answer?.member("request")?.member("body")
        return body?.member("stream") != nil
    }
}
