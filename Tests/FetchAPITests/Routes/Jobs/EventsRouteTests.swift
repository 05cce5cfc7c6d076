import FetchJobs
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import FetchAPI

/// Who may follow jobs, how many of them, and how often the store is asked for it.
@Suite(.timeLimit(.minutes(1))) struct EventsRouteTests {
    private struct Discarding: ResponseBodyWriter {
        func write(_ buffer: ByteBuffer) async throws {}
        func finish(_ trailers: HTTPFields?) async throws {}
    }

    @Test func `a tenant may have so many streams open at a node, and one more when one has ended`() async throws {
        let server = try await TestServer()
        let path = "/v1/jobs/\(try await server.queueJob())/events"
        try await server.test { call async throws in
            var open: [Response] = []
            for _ in 0..<1000 { open.append(try await call.response(.get, path)) }
            #expect(open.allSatisfy { $0.status == .ok })
            let refused = try await call(.get, path)
            #expect(refused.problem == .tooManyCalls && refused.headers[.retryAfter] == "5")
            #expect(refused.headers[.rateLimitPolicy] == #""streams";q=1000"#)
            #expect(refused.json?["detail"]?.string?.contains("1000 streams of jobs' events") == true)
            // Streams of stored events have a limit of their own.
            let endpoint = try await call(.post, "/v1/webhooks/endpoints", body: #"{"polled": true}"#)
            let stored = "\(try #require(endpoint.headers[.location]))/events"
            #expect(try await call.response(.get, stored, headers: [.accept: "text/event-stream"]).status == .ok)
            // Its client left before anything was sent.
            open.removeLast()
            open.append(try await call.response(.get, path))
            #expect(open.last?.status == .ok)
        }
    }

    @Test(arguments: [false, true])
    func `a stream ends once its key is revoked, or that of its token`(hasToken: Bool) async throws {
        let server = try await TestServer()
        let job = try await server.queueJob()
        let tokens = StreamTokens(
            keys: server.keys, signIns: server.signIns,
            authenticator: Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1)))
        let fields: HTTPFields = hasToken ? [:] : [.authorization: server.authorization]
        let head = HTTPRequest(
            method: .get, scheme: "http", authority: "localhost", path: "/v1/jobs/\(job)/events", headerFields: fields)
        let call = Call(
            request: Request(head: head, body: RequestBody(buffer: ByteBuffer())), id: RequestID(of: [:]),
            parameters: ["\(job)"], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            channel: NIOAsyncTestingChannel(), connection: nil, key: server.key)
        let pace = EventsRoute.Pace(tick: .milliseconds(1), trust: .zero)
        let forwarding = Forwarding(node: Node.ID(), directory: server.nodes, client: server.nodes)
        let stream = EventStream(
            id: job, tenant: server.key.tenant, jobs: server.jobs, live: server.live, pace: pace,
            elsewhere: EventRelay(
                call: call, id: job, tenant: server.key.tenant, forwarding: forwarding, pace: pace),
            requireAccess: { try await tokens.requireKey(of: call) }, last: nil,
            looks: PollBackoff(from: pace.tick, upTo: pace.longestLook))
        #expect(try await server.keys.revoke(server.key.id, of: server.key.tenant))
        var writer: any ResponseBodyWriter = Discarding()
        do {
            try await stream.send(to: &writer)
            Issue.record("It went on to an end.")
        } catch let problem as Problem {
            #expect(problem.code == .unauthorized)
        }
    }

    @Test func `who asks for long asks ever more rarely, and as at first when something has changed`() {
        var looks = PollBackoff(from: .seconds(1), upTo: .seconds(3))
        let start = ContinuousClock.now
        var asked: [Int] = []
        for second in 0..<10 where looks.isDue(at: start + .seconds(second)) { asked.append(second) }
        #expect(asked == [0, 1, 3, 6, 9])
        looks.reset()
        asked = []
        for second in 10..<15 where looks.isDue(at: start + .seconds(second)) { asked.append(second) }
        #expect(asked == [10, 11, 13])
    }
}
