import FetchEngine
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Ten thousand tasks, each cancelled at an instant of its own (TSK-8, LIF-13, CON-9, ERR-7).
@Suite(.timeLimit(.minutes(3))) struct CancellationStormTests {
    private static let answers = [
        "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]

    @Test func `every task ends once, and no task, descriptor or connection is left`() async throws {
        let turn = Atomic<Int>(0)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let count = turn.add(1, ordering: .relaxed).newValue
                try connection.send(Self.answers[count % Self.answers.count])
            }
        }
        // The loop's own descriptors stay.
        _ = TransferLoop.shared
        let before = try Self.descriptors()
        let tally = Tally()
        let left = Mutex<[WeakTask]>([])
        try await Self.storm(at: origin, tally, left)
        try await until { left.withLock { tasks in tasks.allSatisfy { $0.task == nil } } }
        let ends = tally.ends
        #expect(ends.count == 10_000)
        #expect(ends.values.allSatisfy { $0 == 1 })
        // The origin's side closes when ours has, and it may still accept what was given up meanwhile.
        try await until { try Self.descriptors() <= before }
    }

    private static func storm(
        at origin: WireOrigin, _ tally: Tally, _ left: borrowing Mutex<[WeakTask]>
    ) async throws {
        var configuration = SessionConfiguration()
        configuration.httpMaximumConnectionsPerHost = 32
        let session = Session(configuration: configuration, delegate: tally)
        let request = Request(url: try URLRecord(origin.url()))
        for wave in 0..<100 {
            await withTaskGroup { group in
                for index in 0..<100 {
                    let task = session.dataTask(with: request)
                    left.withLock { $0.append(WeakTask(task: task)) }
                    if (wave + index).isMultiple(of: 3) {
                        group.addTask { _ = try? await task.data() }
                    } else {
                        task.resume()
                    }
                    group.addTask {
                        for _ in 0..<Int.random(in: 0..<200) { await Task.yield() }
                        task.cancel()
                    }
                }
            }
        }
        session.finishTasksAndInvalidate()
        await tally.invalidated()
    }

    private static func descriptors() throws -> Int {
        let directory = try #require(opendir("/proc/self/fd"))
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}

private struct WeakTask: Sendable {
    weak var task: SessionTask?
}

/// Counts the ends of tasks, and waits for the session's.
private final class Tally: SessionDelegate {
    private let counts = Mutex<[UInt64: Int]>([:])
    private let end = AsyncStream.makeStream(of: Void.self)

    var ends: [UInt64: Int] { counts.withLock { $0 } }

    func invalidated() async {
        for await _ in end.stream {}
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        counts.withLock { $0[task.identifier, default: 0] += 1 }
    }

    func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async { end.continuation.finish() }
}
