import FetchEngine
import Foundation
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Ten thousand tasks, each cancelled at an instant of its own (R32).
@Suite(.timeLimit(.minutes(3))) struct CancellationStormTests {
    private static let answers = [
        "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]

    fileprivate static func makeOrigin() throws -> WireOrigin {
        let turn = Atomic<Int>(0)
        return try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let count = turn.add(1, ordering: .relaxed).newValue
                try connection.send(Self.answers[count % Self.answers.count])
            }
        }
    }

    // Proves: LIF-13, CON-9.
    @Test func `every task ends once, and no task, descriptor or connection is left`() async throws {
        let origin = try Self.makeOrigin()
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
        // The origin's side closes when ours has, and it may still accept connections that were given up meanwhile.
        try await until { try Self.descriptors() <= before }
    }

    // In a process of its own, where nobody else takes memory or starts threads. A hundred bytes lost with each task
    // would be seen.
    @Test func `a second storm takes neither memory nor threads that stay`() async {
        await #expect(processExitsWith: .success) {
            var (memory, threads) = (0, 0)
            for number in 1...3 {
                try await CancellationStormTests.storm(
                    at: try CancellationStormTests.makeOrigin(), Tally(), Mutex<[WeakTask]>([]))
                // The first ones make the permanent objects.
                guard number > 1 else { continue }
                if number == 2 {
                    (memory, threads) = (
                        try CancellationStormTests.usedMemory(), try CancellationStormTests.count(of: "/proc/self/task")
                    )
                }
                try await until {
                    try CancellationStormTests.count(of: "/proc/self/task") <= threads
                        && CancellationStormTests.usedMemory() < memory + 1_000_000
                }
            }
        }
    }

    fileprivate static func storm(
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

    /// How many descriptors are open, without the timers that the runtime makes when somebody first sleeps by a clock.
    private static func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            return target != nil && target != "anon_inode:[timerfd]"
        }
    }

    fileprivate static func count(of path: String) throws -> Int {
        let directory = try #require(opendir(path))
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    /// How many bytes the program has taken from malloc and not given back, as glibc counts; 0 under a sanitizer.
    ///
    /// Swift's view of glibc leaves `malloc_info` out.
    fileprivate static func usedMemory() throws -> Int {
        typealias MallocInfo = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
        let mallocInfo = try #require(dlsym(nil, "malloc_info").map { unsafeBitCast($0, to: MallocInfo.self) })
        var (text, length) = (UnsafeMutablePointer<CChar>?.none, 0)
        let stream = try #require(open_memstream(&text, &length))
        guard mallocInfo(0, stream) == 0, fclose(stream) == 0, let text else { return 0 }
        defer { free(text) }
        // The sums of all arenas come last: free pieces, and the memory from the system.
        let sizes =
            String(cString: text).components(separatedBy: "</heap>").last?
            .matches(of: /type="(\w+)"(?: count="\d+")? size="(\d+)"/).map { ($0.1, Int($0.2) ?? 0) } ?? []
        return sizes.reduce(0) { sum, size in
            switch size.0 {
            case "current", "mmap": sum + size.1
            case "fast", "rest": sum - size.1
            default: sum
            }
        }
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
