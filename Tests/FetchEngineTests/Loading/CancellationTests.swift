import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// A load ends exactly once, whenever it is ended.
@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
    /// Takes the head, sends the given bytes, and waits for the client to leave.
    private static func origin(sending bytes: String) throws -> WireOrigin {
        try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(bytes)
            try connection.receiveToEnd()
        }
    }

    private static let stages = [
        "", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    ]

    // Proves: BEY-9.
    @Test(arguments: stages)
    func `cancelling the calling task cancels the load`(_ sent: String) async throws {
        let origin = try Self.origin(sending: sent)
        let request = Request(url: try URLRecord(origin.url()))
        await withTaskGroup { group in
            group.addTask { await expect(.cancelled) { try await Session().data(for: request) } }
            group.addTask {
                try? await until { origin.connections.first?.received.isEmpty == false }
            }
            await group.next()
            group.cancelAll()
        }
        try await origin.ended()
    }

    @Test func `a task cancelled before its start never starts`() async throws {
        let origin = try Self.origin(sending: "")
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        task.cancel()
        await expect(.cancelled) { try await task.response() }
        #expect(task.state == .completed)
        #expect(origin.connections.isEmpty)
    }

    // Proves: FN-12, TSK-8, LIF-13, CON-9.
    @Test func `cancelling at random instants ends every load once, complete or cancelled`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 5\r\n\r\nabcde")
            }
        }
        let log = Log()
        let session = Session(delegate: log)
        let request = Request(url: try URLRecord(origin.url()))
        await withTaskGroup { group in
            for index in 0..<300 {
                let task = session.dataTask(with: request)
                group.addTask { _ = try? await task.response() }
                group.addTask {
                    for _ in 0..<index { await Task.yield() }
                    task.cancel()
                }
            }
        }
        #expect(log.completions.count == 300)
        #expect(Set(log.completions.keys).count == 300)
        #expect(log.completions.values.allSatisfy { $0 == ["cancelled"] || $0 == ["httpTooManyRedirects"] })
    }

    @Test func `a task that is dropped closes its connection`() async throws {
        let origin = try Self.origin(sending: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        let session = Session()
        _ = try await session.dataTask(with: Request(url: try URLRecord(origin.url()))).response()
        try await origin.ended()
    }

    // Proves: SES-20, SES-21, SES-22.
    @Test func `an invalidated session cancels its loads, refuses others and lets its delegate go`() async throws {
        let origin = try Self.origin(sending: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        let session = Session(delegate: Log())
        let request = Request(url: try URLRecord(origin.url()))
        let task = session.dataTask(with: request)
        _ = try await task.response()
        session.invalidateAndCancel()
        await expect(.cancelled) { for try await _ in task.body {} }
        await expect(.sessionInvalidated) { try await session.data(for: request) }
        try await until { session.delegate == nil }
    }

    @Test func `a session that finishes its loads completes them`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
            try gate.wait()
            try connection.send("abc")
        }
        let session = Session(delegate: Log())
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response()
        session.finishTasksAndInvalidate()
        #expect(session.delegate != nil)
        gate.open()
        for try await chunk in task.body { #expect(chunk == Array("abc".utf8)) }
        // It is let go after its last call.
        try await until { session.delegate == nil }
    }

    // Suspending repeats and loses nothing, and stops the clock.
    // Proves: TSK-7.
    @Test func `a suspended load goes on where it was`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
            try connection.send(pattern(3_000_000))
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response()
        var body: [UInt8] = []
        var count = 0
        for try await chunk in task.body {
            body += chunk
            count += 1
            if count % 2 == 0 {
                task.suspend()
                #expect(task.state == .suspended)
                task.resume()
            }
        }
        #expect(body == pattern(3_000_000))
        #expect(origin.connections.count == 1)
    }

    // Proves: CON-1.
    @Test func `a task that is run tells its delegate response, data, metrics and completion, in order`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let log = Log()
        let session = Session(delegate: log)
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        await task.run()
        #expect(log.events == ["response 200", "data hi", "metrics 1", "complete"])
    }

    @Test func `a response answered with cancel ends the load`() async throws {
        let origin = try Self.origin(sending: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        let log = Log(disposition: .cancel)
        let session = Session()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())), delegate: log)
        await task.run()
        #expect(log.events == ["response 200", "metrics 1", "complete cancelled"])
        try await origin.ended()
    }
}

/// Writes down the calls of a delegate.
final class Log: SessionDelegate {
    private let disposition: ResponseDisposition
    private let state = Mutex((events: [String](), completions: [UInt64: [String]]()))

    init(disposition: ResponseDisposition = .allow) { self.disposition = disposition }

    var events: [String] { state.withLock { $0.events } }
    var completions: [UInt64: [String]] { state.withLock { $0.completions } }

    private func note(_ event: String) { state.withLock { $0.events.append(event) } }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        note("response \(response.status.code)")
        return disposition
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async {
        note("data " + String(decoding: data, as: UTF8.self))
    }

    func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {
        note("metrics \(metrics.transactions.count)")
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        note("complete" + (error.map { " \($0.code)" } ?? ""))
        state.withLock { $0.completions[task.identifier, default: []].append(error?.code.name ?? "complete") }
    }
}
