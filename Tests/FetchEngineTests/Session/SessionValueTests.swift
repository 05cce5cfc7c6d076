import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Values and references of sessions, and the ways to load without a delegate.
@Suite struct SessionValueTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: SES-17, SES-18, SES-19.
    @Test func `a session keeps its own copy of the configuration`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        var configuration = SessionConfiguration()
        configuration.httpAdditionalHeaders[.userAgent] = "first"
        let session = Session(configuration: configuration)
        var copy = configuration
        configuration.httpAdditionalHeaders[.userAgent] = "second"
        copy.timeoutIntervalForRequest = .seconds(1)
        #expect(configuration.timeoutIntervalForRequest == .seconds(60))
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(origin.received().contains("User-Agent: first\r\n"))
        #expect(session.configuration.httpAdditionalHeaders[.userAgent] == "first")
    }

    // Proves: BEY-32.
    @Test func `a request's own fields go before the session's`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        var configuration = SessionConfiguration()
        configuration.httpAdditionalHeaders = [.userAgent: "session", .acceptLanguage: "de"]
        var request = Request(url: try URLRecord(origin.url()))
        request.headerFields[.userAgent] = "request"
        _ = try await Session(configuration: configuration).data(for: request)
        let sent = origin.received()
        #expect(sent.contains("User-Agent: request\r\n"))
        #expect(!sent.contains("User-Agent: session"))
        #expect(sent.contains("Accept-Language: de\r\n"))
    }

    // Proves: SES-19, TSK-14, BEY-21.
    @Test func `sessions and tasks are references with numbers of their own`() throws {
        let session = Session()
        let url = try URLRecord("data:,x")
        let tasks = (0..<3).map { _ in session.dataTask(with: url) }
        #expect(Set(tasks.map(\.identifier)).count == 3)
        #expect(tasks[0].session === session)
        #expect(session.allTasks.map(\.identifier) == tasks.map(\.identifier))
    }

    // Proves: RSP-1, RSP-6.
    @Test func `a response is a value`() async throws {
        let task = Session().dataTask(with: try URLRecord("data:,hello"))
        let response = try await task.response()
        var other = response
        other = Response(url: other.url, status: .notFound)
        #expect(response.status == .ok)
        #expect(other.status == .notFound)
        #expect(task.response?.status == .ok)
    }

    // Proves: SES-16, TSK-12, LIF-2, CON-1.
    @Test func `a session works without a delegate, awaited or with a completion handler`()
        async throws
    {
        let session = Session()
        let request = Request(url: try URLRecord("data:,hello"))
        let awaited = try await session.data(for: request).0
        let completed = await withCheckedContinuation { continuation in
            session.dataTask(with: request) { continuation.resume(returning: $0) }.resume()
        }
        #expect(try completed.get().0 == awaited)
        session.finishTasksAndInvalidate()
        await expect(.sessionInvalidated) { try await session.data(for: request) }
    }

    // Proves: CON-7, LIF-1.
    @Test func `every method of a delegate has a default`() async throws {
        struct Silent: SessionDelegate {}
        let session = Session(delegate: Silent())
        let task = session.dataTask(with: try URLRecord("data:,hello"))
        await task.run()
        #expect(task.state == .completed)
        #expect(task.error == nil)
        session.invalidateAndCancel()
    }

    // Proves: CON-5.
    @Test func `loads in one call follow redirects by default`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
            try connection.receiveHead()
            try connection.send(Self.ok)
        }
        let (body, response) = try await Session().data(for: Request(url: try URLRecord(origin.url("/a"))))
        #expect(body == Array("hi".utf8))
        #expect(response.url.path == "/b")
    }

    // Proves: CON-6.
    @Test func `a completion handler runs where its actor does`() async throws {
        actor Receiver {
            private(set) var text = ""
            private var waiter: CheckedContinuation<Void, Never>?

            func receive(_ result: Result<([UInt8], Response), LoadError>) {
                preconditionIsolated()
                text = (try? result.get()).map { String(decoding: $0.0, as: UTF8.self) } ?? "failed"
                waiter?.resume()
                waiter = nil
            }

            func received() async {
                if text.isEmpty { await withCheckedContinuation { waiter = $0 } }
            }
        }
        let receiver = Receiver()
        let request = Request(url: try URLRecord("data:,hello"))
        Session().dataTask(with: request) { await receiver.receive($0) }.resume()
        await receiver.received()
        #expect(await receiver.text == "hello")
    }

    // Proves: CON-2.
    @Test func `two hundred loads that wait hold up nobody`() async throws {
        let gate = Gate()
        let slow = try WireOrigin { connection in
            try connection.receiveHead()
            try gate.wait()
            try connection.send(Self.ok)
        }
        let quick = try WireOrigin(playing: Self.ok)
        var configuration = SessionConfiguration()
        configuration.httpMaximumConnectionsPerHost = 200
        let session = Session(configuration: configuration)
        let request = Request(url: try URLRecord(slow.url()))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { try await session.data(for: request).0.count } }
            #expect(try await session.data(for: Request(url: try URLRecord(quick.url()))).0 == Array("hi".utf8))
            gate.open()
            var total = 0
            for try await count in group { total += count }
            #expect(total == 400)
        }
    }
}
