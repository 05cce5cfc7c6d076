import FetchEngine
import Glibc
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
    @Test func `a session holds its delegate, and lets it go once it is invalidated`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        weak var remembered: DelegateLog?
        let session = {
            let log = DelegateLog()
            remembered = log
            return Session(delegate: log)
        }()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        task.resume()
        try await #require(remembered).happened("complete well")
        #expect(remembered != nil && (session.delegate as? DelegateLog) === remembered)
        session.finishTasksAndInvalidate()
        try await until { session.delegate == nil && remembered == nil }
    }

    // In a process of its own, whose memory nobody else takes. What is made once is there after the first sessions.
    // Proves: SES-23.
    @Test func `thousands of sessions leave memory as it was`() async {
        await #expect(processExitsWith: .success) {
            try await SessionTests.useSessions(500)
            let before = residentBytes()
            try await SessionTests.useSessions(4_000)
            // Their stored answers alone were 80 MB.
            guard residentBytes() - before < 32 << 20 else { exit(1) }
        }
    }

    /// Makes sessions that store an answer each, ends them, and waits until they are gone.
    fileprivate static func useSessions(_ count: Int) async throws {
        struct Gone {
            weak var session: Session?
            weak var delegate: DelegateLog?
            weak var cache: MemoryResponseCache?
        }
        let answer = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 20000\r\n\r\n"
        var all: [Gone] = []
        // The origin keeps what it received.
        var origin = try WireOrigin(playing: answer + String(repeating: "x", count: 20_000))
        for index in 0..<count {
            if index % 100 == 99 { origin = try WireOrigin(playing: answer + String(repeating: "x", count: 20_000)) }
            let (log, cache) = (DelegateLog(), MemoryResponseCache())
            var configuration = SessionConfiguration()
            configuration.urlCache = cache
            let session = Session(configuration: configuration, delegate: log)
            let request = Request(url: try URLRecord(origin.url()))
            _ = try await session.data(for: request)
            #expect(await cache.cachedResponse(for: request)?.data.count == 20_000)
            session.finishTasksAndInvalidate()
            all.append(Gone(session: session, delegate: log, cache: cache))
        }
        try await until { all.allSatisfy { $0.session == nil && $0.delegate == nil && $0.cache == nil } }
    }
}
