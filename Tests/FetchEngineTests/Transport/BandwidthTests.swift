import EventLoop
import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// R17: how fast tasks are, alone and together.
///
/// Lower bounds only: how fast they would be otherwise does not matter.
@Suite(.timeLimit(.minutes(2))) struct BandwidthTests {
    private static let body = pattern(300_000)

    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
                try connection.send(body)
            }
        }
    }

    private static func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration)
    }

    private static func load(_ task: DataTask) async throws {
        _ = try await task.response(bufferingUpTo: 300_000)
        #expect(task.completeBody == body)
    }

    @Test func `a transfer takes the time that its speed allows`() async throws {
        let origin = try Self.origin()
        let session = Self.session { $0.maximumBytesPerSecond = 200_000 }
        let start = ContinuousClock.now
        try await Self.load(session.dataTask(with: Request(url: try URLRecord(origin.url()))))
        // All but the first eighth of a second's bytes: 275 000.
        #expect(ContinuousClock.now - start > .milliseconds(1300))
    }

    @Test func `tasks that share a bandwidth have it together, each direction by itself`() async throws {
        let origin = try Self.origin()
        let session = Self.session()
        let bandwidth = Bandwidth(bytesPerSecond: 400_000)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 {
                let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
                task.bandwidths = { [bandwidth] }
                group.addTask { try await Self.load(task) }
            }
            try await group.waitForAll()
        }
        #expect(ContinuousClock.now - start > .milliseconds(2000))
    }

    @Test func `an upload takes the time that its bandwidth allows`() async throws {
        let received = Mutex(0)
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            let count = try connection.receive(300_000).count
            received.withLock { $0 = count }
            try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
        }
        var request = Request(url: try URLRecord(origin.url()))
        request.method = .put
        request.body = .bytes(Self.body)
        let task = Self.session().dataTask(with: request)
        task.bandwidths = { [bandwidth = Bandwidth(bytesPerSecond: 200_000)] in [bandwidth] }
        let start = ContinuousClock.now
        _ = try await task.response(bufferingUpTo: 0)
        #expect(ContinuousClock.now - start > .milliseconds(1300))
        #expect(received.withLock { $0 } == 300_000)
    }

    // It would take five minutes otherwise.
    @Test(arguments: [nil, 100_000_000] as [Int64?])
    func `how fast a task is can be changed while it runs`(bytesPerSecond: Int64?) async throws {
        let origin = try Self.origin()
        let session = Self.session { $0.maximumBytesPerSecond = 1024 }
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        #expect(task.maximumBytesPerSecond == 1024)
        async let loaded: Void = Self.load(task)
        try await until { task.countOfBytesReceived > 0 }
        #expect(task.countOfBytesReceived < 300_000)
        task.maximumBytesPerSecond = bytesPerSecond
        #expect(task.maximumBytesPerSecond == bytesPerSecond)
        try await loaded
    }

    @Test func `a task that nothing bounded is bounded while it runs, and before`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
                try connection.send(Array(Self.body.prefix(1000)))
                try gate.wait()
                try connection.send(Array(Self.body.dropFirst(1000)))
            }
        }
        let loop = TaskLoop(name: "bounded")
        let running = Session(transferLoop: TransferLoop(loop))
            .dataTask(with: Request(url: try URLRecord(origin.url())))
        async let loaded: Void = Self.load(running)
        try await until { running.countOfBytesReceived == 1000 }
        running.maximumBytesPerSecond = 200_000
        // The loop has heard of it.
        await LoopHolder(loop).run {}
        let start = ContinuousClock.now
        gate.open()
        try await loaded
        #expect(ContinuousClock.now - start > .milliseconds(1300))

        let early = Self.session().dataTask(with: Request(url: try URLRecord(origin.url())))
        early.maximumBytesPerSecond = 200_000
        let second = ContinuousClock.now
        try await Self.load(early)
        #expect(ContinuousClock.now - second > .milliseconds(1300))
    }

    // It would take five minutes otherwise.
    @Test(arguments: [nil, 100_000_000] as [Int64?])
    func `a bandwidth can be changed while tasks run`(bytesPerSecond: Int64?) async throws {
        let origin = try Self.origin()
        let bandwidth = Bandwidth(bytesPerSecond: 1024)
        let task = Self.session().dataTask(with: Request(url: try URLRecord(origin.url())))
        task.bandwidths = { [bandwidth] }
        async let loaded: Void = Self.load(task)
        try await until { task.countOfBytesReceived > 0 }
        #expect(task.countOfBytesReceived < 300_000)
        bandwidth.bytesPerSecond = bytesPerSecond
        try await loaded
    }

    @Test func `a task that waits for its bandwidth is not idle, and can be cancelled`() async throws {
        let origin = try Self.origin()
        let bandwidth = Bandwidth(bytesPerSecond: 16_384)
        let session = Self.session { $0.timeoutIntervalForRequest = .seconds(1) }
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        task.bandwidths = { [bandwidth] }
        async let cancelled: Void = {
            // The second place comes after two seconds.
            try await until { task.countOfBytesReceived > 20_000 }
            task.cancel()
        }()
        await expect(.cancelled) { try await task.response(bufferingUpTo: 300_000) }
        try await cancelled
    }
}
