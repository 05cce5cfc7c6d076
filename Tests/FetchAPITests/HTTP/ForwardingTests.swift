import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Requests about jobs that other nodes have.
@Suite struct ForwardingTests {
    private static let owner = NodeAddress(id: Node.ID(), url: "http://10.0.0.1:8080")

    /// A server on which a job waits that another node has, as the nodes' directory says.
    private static func serve(
        owner: NodeAddress = owner, answering answer: NodeAnswer? = nil
    ) async throws -> (TestServer, path: String) {
        let server = try await TestServer()
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"https://origin.example/"}}"#.utf8))
        let job = NewJob(tenant: server.key.tenant, spec: spec)
        _ = try await server.jobs.enqueue([job])
        server.nodes.add(owner, of: job.id, job.tenant)
        if let answer, let url = owner.url { server.nodes.answer(at: url, with: answer) }
        return (server, "/v1/jobs/\(job.id)/body")
    }

    @Test func `the owner is asked with the caller's key and what says which bytes`() async throws {
        let answer = NodeAnswer(status: .notModified, headers: [.eTag: "\"a\"", .server: "x"]) { nil }
        let (server, path) = try await Self.serve(answering: answer)
        try await server.test { call async throws in
            let headers: HTTPFields = [
                .range: "bytes=5-", .ifNoneMatch: "\"a\"", .cookie: "secret=1", .via: "1.1 proxy", .requestID: "r1",
            ]
            let answer = try await call(.get, path, headers: headers)
            #expect(answer.status == .notModified)
            #expect(answer.headers[.eTag] == "\"a\"")
            #expect(answer.headers[.requestID] == "r1")
            let request = try #require(server.nodes.requests.first)
            #expect(request.target == path)
            #expect(request.headers[.authorization] == server.authorization)
            #expect(request.headers[.range] == "bytes=5-")
            #expect(request.headers[.ifNoneMatch] == "\"a\"")
            #expect(request.headers[.requestID] == "r1")
            #expect(request.headers[.cookie] == nil)
            #expect(request.headers[.via]?.hasPrefix("1.1 proxy, 1.1 nod_") == true)
        }
    }

    @Test func `a request that comes from another node is not forwarded again`() async throws {
        let (server, path) = try await Self.serve()
        try await server.test { call async throws in
            let answer = try await call(.get, path, headers: [.via: "1.1 proxy, 1.1 \(Node.ID())"])
            #expect(answer.problem == .jobNotFinal)
            #expect(server.nodes.requests.isEmpty)
        }
    }

    @Test(arguments: [owner, NodeAddress(id: Node.ID(), url: nil)])
    func `an owner that cannot be reached is told of`(owner: NodeAddress) async throws {
        let (server, path) = try await Self.serve(owner: owner)
        try await server.test { call async throws in
            let answer = try await call(.get, path)
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.problem == .nodeUnreachable)
            #expect(answer.headers[.retryAfter] == "5")
            #expect(answer.json?["detail"]?.string?.contains("\(owner.id)") == true)
        }
    }

    // Proves: SEC-41.
    @Test func `another tenant's job is not asked for`() async throws {
        let (server, path) = try await Self.serve()
        let (_, token) = try await server.keys.create(name: "other", tenant: "other")
        try await server.test { call async throws in
            let answer = try await call(.get, path, headers: [.authorization: "Bearer \(token.revealed)"])
            #expect(answer.problem == .notFound)
            #expect(server.nodes.requests.isEmpty)
        }
    }

    @Test(arguments: [1, 7, 1000])
    func `events are passed on whole, however they arrive`(piece: Int) {
        let text = "id: 1.1\nevent: a\ndata: {}\n\n:\n\nid: 1.2\nevent: b\ndata: {}\n\nid: fin"
        var cutter = EventCutter()
        var (events, last): ([UInt8], String?) = ([], nil)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            if let whole = cutter.add(Array(rest.prefix(piece))) {
                #expect(whole.events.suffix(2) == Array("\n\n".utf8)[...])
                events += whole.events
                last = whole.lastID ?? last
            }
            rest = rest.dropFirst(piece)
        }
        #expect(String(decoding: events, as: UTF8.self) == String(text.dropLast(7)))
        #expect(last == "1.2")
    }
}
