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

    // Proves: BKG-2, BKG-1, BKG-3, SES-18.
    @Test func `of a background session's name there is one at a time`() async throws {
        let log = DelegateLog()
        let first = try Session(background: "tests.one", delegate: log)
        #expect(throws: LoadError.self) { try Session(background: "tests.one", delegate: log) }
        first.finishTasksAndInvalidate()
        try await log.happened("invalid")
        _ = try Session(background: "tests.one", delegate: log)
    }

    // Proves: BKG-4.
    @Test func `a background session has no data tasks and no streams`() async throws {
        let session = try Session(background: "tests.two", delegate: DelegateLog())
        let request = Request(url: try URLRecord("http://127.0.0.1:1/"))
        await expect(.unsupportedURL) { try await session.data(for: request) }
        await expect(.unsupportedURL) { try await session.uploadTask(withStreamedRequest: request).data() }
    }

    // Proves: BKG-5, BKG-10, BKG-15, RED-16, FN-13, SES-4.
    @Test func `a background session follows without asking and says when all is told`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.receive(2)
                try connection.send(
                    head.hasPrefix("PUT /first ")
                        ? "HTTP/1.1 307 Moved\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n" : Self.ok)
            }
        }
        var answers = DelegateLog.Answers()
        answers.redirect = { _, _ in .cancel }
        let log = DelegateLog(answers)
        let session = try Session(background: "tests.three", delegate: log)
        let request = Request(url: try URLRecord(origin.url("/first")), method: .put)
        session.uploadTask(with: request, from: .bytes([1, 2])).resume()
        try await log.happened("events finished")
        #expect(
            log.events == ["created", "sent", "response 200", "data", "metrics 2", "complete well", "events finished"])
    }
}
