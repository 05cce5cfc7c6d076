import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: SES-20, SES-22, FN-11.
    @Test func `an invalidated session finishes what it has and refuses what is new`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try gate.wait()
            try connection.send(Self.ok)
        }
        let log = DelegateLog()
        let session = Session(delegate: log)
        session.dataTask(with: Request(url: try URLRecord(origin.url()))).resume()
        try await until { !origin.connections.isEmpty }
        session.finishTasksAndInvalidate()
        await expect(.sessionInvalidated) { try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        gate.open()
        try await log.happened("invalid")
        #expect(log.events.suffix(3) == ["metrics 1", "complete well", "invalid"])
        session.invalidateAndCancel()
        #expect(log.events.filter { $0 == "invalid" }.count == 1)
    }

    // Proves: SES-21.
    @Test func `cancelling invalidation ends every task with cancelled`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            _ = try connection.receive(1)
        }
        let log = DelegateLog()
        let session = Session(delegate: log)
        for _ in 0..<3 { session.dataTask(with: Request(url: try URLRecord(origin.url()))).resume() }
        try await until { origin.connections.count >= 3 }
        session.invalidateAndCancel()
        try await log.happened("invalid")
        #expect(log.events.filter { $0 == "complete cancelled" }.count == 3)
        #expect(log.events.last == "invalid")
    }

    // Proves: SES-23.
    @Test func `an invalidated session lets its delegate go`() async throws {
        let session: Session
        weak var remembered: DelegateLog?
        do {
            let log = DelegateLog()
            remembered = log
            session = Session(delegate: log)
            session.finishTasksAndInvalidate()
            try await log.happened("invalid")
        }
        try await until { session.delegate == nil && remembered == nil }
    }
}
