import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Requests that are sent once more because the first did not reach a server that looked at it.
@Suite struct RepeatTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    /// An origin that answers the first request of each connection, and closes it after having read another.
    private func closingOrigin(answering first: Int = .max) throws -> WireOrigin {
        let count = Atomic(0)
        return try WireOrigin { connection in
            try connection.receiveHead()
            guard count.wrappingAdd(1, ordering: .relaxed).oldValue < first else { return }
            try connection.send(Self.ok)
            try connection.receiveHead()
        }
    }

    /// Fills a session with so many kept connections.
    private func warm(_ session: Session, _ origin: WireOrigin, _ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let request = Request(url: try URLRecord(origin.url("/warm/\(number)")))
                group.addTask { _ = try await session.data(for: request) }
            }
            try await group.waitForAll()
        }
    }

    // RFC 9112 §9.3.1
    @Test(arguments: [HTTPRequest.Method.get, .put, .delete])
    func `a request whose kept connection is lost goes once more, on a new one, and both are on record`(
        _ method: HTTPRequest.Method
    ) async throws {
        let origin = try closingOrigin()
        let session = Session()
        try await warm(session, origin, 6)
        let made = origin.connections.count
        var request = Request(url: try URLRecord(origin.url("/once")), method: method)
        if method == .put { request.body = RequestBody.bytes([1, 2, 3]) }
        let task = session.dataTask(with: request)
        _ = try await task.response(bufferingUpTo: 100)
        #expect(origin.connections.count == made + 1)
        let sent = origin.connections.indices.map { origin.received(on: $0) }
        #expect(sent.count { $0.contains(" /once ") } == 2)
        let transactions = task.metrics.transactions
        #expect(transactions.map(\.connectionWasLost) == [true, false])
        #expect(transactions.map(\.isReusedConnection) == [true, false])
        #expect(transactions.map(\.status) == [nil, 200])
    }

    @Test func `it does not go a third time`() async throws {
        let origin = try closingOrigin(answering: 1)
        let session = Session()
        try await warm(session, origin, 1)
        await expect(.networkConnectionLost) {
            try await session.data(for: Request(url: try URLRecord(origin.url("/lost"))))
        }
        let sent = origin.connections.indices.map { origin.received(on: $0) }
        #expect(sent.count { $0.contains(" /lost ") } == 2)
    }

    @Test func `a POST whose kept connection is lost goes once`() async throws {
        let origin = try closingOrigin()
        let session = Session()
        try await warm(session, origin, 1)
        var request = Request(url: try URLRecord(origin.url("/post")), method: .post)
        request.body = RequestBody.bytes([1])
        await expect(.networkConnectionLost) { [request] in try await session.data(for: request) }
        let sent = origin.connections.indices.map { origin.received(on: $0) }
        #expect(sent.count { $0.contains(" /post ") } == 1)
    }

    private static let refusals: [(String, [UInt8])] = [
        ("REFUSED_STREAM", CutBodyTests.frame(3, 0, 1, [0, 0, 0, 7])),
        ("GOAWAY", CutBodyTests.frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])),
    ]

    // RFC 9113 §8.7: the server has not looked at it.
    @Test(arguments: refusals)
    func `a POST that a server has refused to look at goes once more`(_ name: String, _ frames: [UInt8]) async throws {
        let count = Atomic(0)
        let origin = try WireOrigin { connection in
            try connection.receive(24)
            try connection.send(CutBodyTests.frame(4, 0, 0))
            var (stream, refuses) = (UInt8(1), count.wrappingAdd(1, ordering: .relaxed).oldValue == 0)
            while true {
                let head = try connection.receive(9)
                _ = try connection.receive(Int(head[1]) << 8 + Int(head[2]))
                guard head[3] == 0, head[4] & 1 == 1 else { continue }
                stream = head[8]
                if refuses {
                    refuses = false
                    try connection.send(frames)
                } else {
                    try connection.send(CutBodyTests.frame(1, 5, stream, [0x88]))
                }
            }
        }
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2
        var request = Request(url: try URLRecord(origin.url()), method: .post)
        request.body = RequestBody.bytes([1])
        let task = Session(configuration: configuration).dataTask(with: request)
        let response = try await task.response(bufferingUpTo: 100)
        #expect(response.status.code == 200)
        #expect(task.metrics.transactions.count == 2)
        #expect(task.metrics.transactions.first?.requestStart == nil)
    }

    // RFC 9110 §10.1.1
    // Proves: UPL-10.
    @Test(arguments: ["Connection: close\r\nContent-Length: 0", "Content-Length: 4"], [HTTPRequest.Method.put, .post])
    func `a server that knows no expectations gets the request again without, on whatever connection`(
        _ fields: String, _ method: HTTPRequest.Method
    ) async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.contains("Expect:") {
                    let body = fields.contains("4") ? "oops" : ""
                    try connection.send("HTTP/1.1 417 Expectation Failed\r\n\(fields)\r\n\r\n\(body)")
                    if fields.contains("close") { return }
                } else {
                    try connection.receive(4)
                    try connection.send(Self.ok)
                }
            }
        }
        var configuration = SessionConfiguration()
        configuration.expectContinue = .always
        var request = Request(url: try URLRecord(origin.url()), method: method)
        request.body = .bytes(Array("body".utf8))
        let task = Session(configuration: configuration).dataTask(with: request)
        let response = try await task.response(bufferingUpTo: 100)
        #expect(response.status.code == 200 && task.completeBody == Array("hi".utf8))
        #expect(task.metrics.transactions.map(\.status) == [417, 200])
    }
}
