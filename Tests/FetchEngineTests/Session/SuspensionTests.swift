import EventLoop
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Tasks that are held in the middle of their transfer.
@Suite(.timeLimit(.minutes(1))) struct SuspensionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: TSK-7.
    @Test func `a task goes on when it was resumed as often as suspended`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nfirst ")
            try gate.wait()
            try connection.send("second")
        }
        let other = try WireOrigin(playing: Self.ok)
        let session = Session()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response()
        var chunks = task.body.makeAsyncIterator()
        #expect(try await chunks.next() == Array("first ".utf8))
        task.suspend()
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        gate.open()
        try await origin.ended()
        // The rest is there, and the loop has looked at all that is there.
        #expect(try await session.data(for: Request(url: try URLRecord(other.url()))).0 == Array("hi".utf8))
        #expect(task.countOfBytesReceived == 6)
        task.resume()
        #expect(task.state == .running)
        #expect(try await chunks.next() == Array("second".utf8))
        #expect(try await chunks.next() == nil)
    }

    // Proves: TSK-7.
    @Test func `the server of a suspended task is held back, and loses and repeats nothing`() async throws {
        // More than the buffers on the way can hold.
        let chunks = (0..<1024).map { [UInt8](repeating: UInt8($0 % 251), count: 65_536) }
        let sent = TestSupport.Progress()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(chunks.count * 65_536)\r\n\r\n")
            for chunk in chunks {
                try connection.send(chunk)
                sent.add(1)
            }
        }
        let log = CollectingDelegate()
        let session = Session(delegate: log)
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        task.resume()
        try await until { log.count > 0 }
        task.suspend()
        var (last, looks) = (-1, 0)
        try await until {
            looks = sent.value == last ? looks + 1 : 0
            last = sent.value
            return looks == 10
        }
        #expect(last < chunks.count)
        task.resume()
        try await until { log.isOver }
        #expect(log.error == nil)
        #expect(log.body == Array(chunks.joined()))
        #expect(origin.connections.count == 1)
    }

    private enum Limit: CaseIterable { case request, resource }

    /// A load that was suspended while it was in its times.
    private static func suspended(
        _ request: Request, in session: Session, on holder: LoopHolder
    ) async throws -> DataTask {
        while true {
            let task = session.dataTask(with: request)
            guard (try? await task.response()) != nil else { continue }
            task.suspend()
            try await until { await holder.run { task.load.isSuspended } }
            if await holder.run({ task.isLoading }) { return task }
        }
    }

    // Proves: TSK-7.
    @Test(arguments: Limit.allCases)
    private func `the times of a suspended task stand still, and then go on`(_ limit: Limit) async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
            try connection.receiveToEnd()
        }
        let loop = TaskLoop(name: "standing")
        let holder = LoopHolder(loop)
        var configuration = SessionConfiguration()
        switch limit {
        case .request: configuration.timeoutIntervalForRequest = .milliseconds(200)
        case .resource: configuration.timeoutIntervalForResource = .milliseconds(200)
        }
        let session = Session(configuration: configuration, transferLoop: TransferLoop(loop))
        let task = try await Self.suspended(Request(url: try URLRecord(origin.url())), in: session, on: holder)
        // Longer than it may take.
        try await Task.sleep(for: .milliseconds(500))
        #expect(await holder.run { task.isLoading })
        #expect(task.state == .suspended)
        task.resume()
        await expect(.timedOut) { for try await _ in task.body {} }
    }

    // A moment is kept, as that at which a job expires.
    @Test func `time that counts goes on while a task is suspended`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receiveToEnd()
        }
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForResource = .milliseconds(100)
        configuration.countsTimeWhileSuspended = true
        let log = CollectingDelegate()
        let session = Session(configuration: configuration, delegate: log)
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        task.resume()
        try await until { !origin.connections.isEmpty || log.isOver }
        task.suspend()
        try await until { log.isOver }
        #expect(log.error?.code == .timedOut)
    }
}

extension SessionTask {
    /// Whether its transfer is not over.
    fileprivate var isLoading: Bool { load.exchange.map { $0.outcome == nil } ?? false }
}
