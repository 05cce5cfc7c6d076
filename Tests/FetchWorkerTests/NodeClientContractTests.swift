import FetchEngine
import FetchJobs
import FetchWorker
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// The client of other nodes over the engine and the one of tests keep the same promises.
@Suite struct NodeClientContractTests {
    @Test("the client of tests keeps the promise", arguments: NodeClientContract.clauses)
    func memory(_ clause: Clause<NodeClientContract.Subject>) async throws {
        let nodes = MemoryNodes()
        let pieces = Mutex([Array("nobody".utf8)])
        let next = { @Sendable in pieces.withLock { $0.popLast() } }
        nodes.answer(at: "http://node", with: NodeAnswer(status: .notFound, headers: [.retryAfter: "7"], next: next))
        let subject = NodeClientContract.Subject(client: nodes, node: "http://node", nowhere: "http://nowhere")
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the client over the engine keeps the promise", arguments: NodeClientContract.clauses)
    func engine(_ clause: Clause<NodeClientContract.Subject>) async throws {
        let origin = try WireOrigin { connection in
            guard let head = try connection.receiveHead(), head.hasPrefix("GET /v1/jobs HTTP/1.1\r\n") else { return }
            try connection.send("HTTP/1.1 404 Not Found\r\nRetry-After: 7\r\nContent-Length: 6\r\n\r\nnobody")
        }
        let closed = try WireOrigin(isOpen: false) { _ in }
        let client = EngineNodeClient(session: Session(configuration: EngineNodeClient.sessionConfiguration))
        let subject = NodeClientContract.Subject(
            client: client, node: "http://127.0.0.1:\(origin.port)", nowhere: "http://127.0.0.1:\(closed.port)")
        #expect(try await clause.differences(in: subject) == [])
    }
}
