import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The events of a job, as server-sent events (WHATWG HTML §9.2).
///
/// Events of the attempt that runs, here or on another node, are sent with their position as `id`; a client that comes
/// back states in `Last-Event-ID` the last one that it has. Progress has no id: the newest is all that counts. The end
/// closes the stream.
struct EventsRoute: Sendable {
    struct Pace: Sendable {
        /// The shortest time between two progress events, and between two looks into the store for jobs that do not run
        /// here.
        var tick = Duration.milliseconds(500)
        /// The longest time between two such looks.
        var longestLook = Duration.seconds(2)
        /// How long a client is believed that it may read on.
        var trust = Authenticator.lifetime
        /// How long nothing is sent at most.
        var heartbeat = Duration.seconds(15)
    }

    let jobs: any JobStore
    let live: LiveJobs
    let forwarding: Forwarding
    let streams: OpenStreams
    let tokens: StreamTokens
    var pace = Pace()

    var routes: [Route] {
        [
            Route(.get, "/v1/jobs/{id}/events", tenant: followByToken).takingStreamTokens,
            Route(.post, "/v1/jobs/{id}/events/token", tenant: makeToken),
        ]
    }

    // MARK: Browsers

    private func makeToken(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Job.ID(call.parameter), try await jobs.job(id, of: tenant) != nil else {
            throw JobRoutes.notFound
        }
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        let (token, end) = try await tokens.make(for: id, of: tenant, by: try call.requireKey())
        return .json { writer in
            writer.member("token", token)
            writer.member("href", "/v1/jobs/\(id)/events?\(StreamTokens.parameter)=\(token)")
            writer.member("expiresAt", end.description)
        }
    }

    /// The stream of the API, for clients with a key and for browsers with a token.
    private func followByToken(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query(allowing: [StreamTokens.parameter])
        var response = try await follow(call, tenant) { try await tokens.requireKey(of: call) }
        // Pages of every site may read it who have the token: it is all that they need, and a browser adds nothing.
        if call.bringsStreamToken, response.status == .ok { response.headers[.accessControlAllowOrigin] = "*" }
        return response
    }

    // MARK: The stream

    /// - Parameter requireAccess: Throws when the client may not read on, for one.
    func follow(
        _ call: Call, _ tenant: Tenant.ID, requiring requireAccess: @escaping @Sendable () async throws -> Void
    ) async throws -> Response {
        guard let id = Job.ID(call.parameter), try await jobs.job(id, of: tenant) != nil else {
            throw JobRoutes.notFound
        }
        let last = call.headers[.lastEventID]
        // The status that tells a client not to come back (§9.2.3).
        guard last != EventStream.finalID else { return Response(status: .noContent) }
        let stream = EventStream(
            id: id, tenant: tenant, jobs: jobs, live: live, pace: pace,
            elsewhere: EventRelay(call: call, id: id, tenant: tenant, forwarding: forwarding, pace: pace),
            requireAccess: requireAccess,
            last: last.flatMap { JobEvent.Position($0) },
            looks: PollBackoff(from: pace.tick, upTo: pace.longestLook))
        return .eventStream(to: call, at: try streams.begin(.job, of: tenant)) { try await stream.send(to: &$0) }
    }
}

extension Response {
    /// Server-sent events, which end when they have been sent, or with the client's connection.
    ///
    /// - Parameter place: Kept until then.
    static func eventStream(
        to call: Call, at place: OpenStreams.Place,
        _ send: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        let request = call.request.body
        return Response(
            status: .ok,
            headers: [
                .contentType: EventStream.mediaType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                .xAccelBuffering: "no",
                // Hearing of a client that leaves takes reading on behind the request: no other can follow it.
                .connection: "close",
            ],
            body: ResponseBody { writer in
                defer { withExtendedLifetime(place) {} }
                try? await request.consumeWithCancellationOnInboundClose { _ in try await send(&writer) }
                try await writer.finish(nil)
            })
    }
}

/// One client's view of one job's events.
struct EventStream {
    static let mediaType = "text/event-stream"
    static let finalID = "final"

    let id: Job.ID
    let tenant: Tenant.ID
    let jobs: any JobStore
    let live: LiveJobs
    let pace: EventsRoute.Pace
    let elsewhere: EventRelay
    /// Throws when the client may not read on.
    let requireAccess: @Sendable () async throws -> Void
    /// The last event that the client has.
    var last: JobEvent.Position?
    /// Into the store.
    var looks: PollBackoff

    /// Sends events until the job is final, the client may not read on or the service stops.
    func send(to writer: inout any ResponseBodyWriter) async throws {
        let follower = live.follow(id, of: tenant)
        defer { live.leave(follower) }
        var stream = self
        var progress: JobProgress?
        var (isSilentSince, isTrustedSince) = (ContinuousClock.now, ContinuousClock.now)
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            if ContinuousClock.now - isTrustedSince >= pace.trust {
                // While the store does not say, what it said last holds.
                do { try await requireAccess() } catch is StoreError {}
                isTrustedSince = .now
            }
            // Looked at before the events, so that those of its last moment are not missed.
            let state = try await stream.state()
            if case .removed = state { return }
            if case .claimed = state, try await elsewhere.send(to: &writer, after: &stream.last) { return }
            var text = stream.news(follower, &progress)
            if case .final(let final) = state { text += Self.text("job.finished", id: Self.finalID, final.json) }
            if text.isEmpty, ContinuousClock.now - isSilentSince >= pace.heartbeat { text = ":\n\n" }
            if !text.isEmpty {
                try await writer.write(ByteBuffer(string: text))
                isSilentSince = .now
            }
            if case .final = state { return }
            try await Task.sleep(for: pace.tick)
        }
    }

    /// Events and progress that the client does not have yet.
    private mutating func news(_ follower: JobFollower, _ progress: inout JobProgress?) -> String {
        var text = ""
        for job in follower.news() {
            // Before the events, so that the response is among them of which it counts bytes (RSP-7).
            let current = job.progress
            // Recorded progress is for webhooks; here it is sent as it is.
            let events = job.events(after: last).filter { $0.name != .progress }
            for event in events {
                text += Self.text(event.name.rawValue, id: event.position.description, event.data.bytes)
                last = event.position
            }
            guard let current, current != progress else { continue }
            // It may be the progress of the part before, which must not follow the response of the next part.
            if current.part != nil, events.contains(where: { $0.name == .response }) { continue }
            text += Self.text("job.progress", id: nil, JSONWriter.object(current.write))
            progress = current
        }
        return text
    }

    private enum State {
        case goesOn
        /// Some node has it, but not this one, as far as is known.
        case claimed
        case final(Job)
        case removed
    }

    /// Where the job is, as far as is known; the store is not asked while it runs here, and ever more rarely otherwise.
    private mutating func state() async throws -> State {
        guard live.job(id, of: tenant) == nil else {
            looks.reset()
            return .goesOn
        }
        guard looks.isDue() else { return .goesOn }
        guard let job = try await jobs.job(id, of: tenant) else { return .removed }
        if job.isClaimed { return .claimed }
        return job.state.isFinal ? .final(job) : .goesOn
    }

    /// JSON has no line breaks of its own, so one line of data holds it.
    static func text(_ name: String, id: String?, _ data: [UInt8]) -> String {
        (id.map { "id: \($0)\n" } ?? "") + "event: \(name)\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
    }
}
