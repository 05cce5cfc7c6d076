import EventLoop
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// Loads of the same thing at the same time.
@Suite struct CoalescingTests {
    private static func loadAll(_ count: Int, _ session: Session, _ request: Request) async -> [String] {
        await withTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    do { return try await session.text(request).0 } catch { return "\(error)" }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func expectCancellation(of task: DataTask) async {
        await expect(.cancelled) { try await task.data() }
    }

    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(1)))
    func `twenty loads of one thing make one request`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache)
        let bodies = await Self.loadAll(20, session, try origin.request())
        #expect(bodies == Array(repeating: "body", count: 20))
        #expect(origin.count == 1)
        #expect(session.allTasks.isEmpty)
    }

    // One process, several loops.
    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(1)))
    func `loads on several loops make one request`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        var configuration = SessionConfiguration()
        configuration.urlCache = MemoryResponseCache()
        let sessions = (0..<3).map { _ in
            Session(configuration: configuration, transferLoop: TransferLoop(TaskLoop(name: "test")))
        }
        let request = try origin.request()
        let bodies = await withTaskGroup { group in
            for index in 0..<30 {
                group.addTask { (try? await sessions[index % 3].text(request).0) ?? "failed" }
            }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(bodies == Array(repeating: "body", count: 30))
        #expect(origin.count == 1)
    }

    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(1)))
    func `when the first one fails the others go by themselves`() async throws {
        let origin = try CachingOrigin { number, _ in
            number == 1 ? nil : CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: "body")
        }
        let bodies = await Self.loadAll(10, .caching(), try origin.request())
        #expect(bodies.count { $0 == "body" } >= 9)
    }

    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(1)))
    func `when the answer cannot be stored the others go by themselves`() async throws {
        let origin = try CachingOrigin("Cache-Control: no-store")
        let session = Session.caching()
        let bodies = await Self.loadAll(20, session, try origin.request())
        #expect(bodies == Array(repeating: "body", count: 20))
        #expect(origin.count == 20)
    }

    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(1)))
    func `when the first one is cancelled the others go by themselves`() async throws {
        let asked = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try CachingOrigin { number, _ in
            if number == 1 {
                asked.continuation.yield()
                try? gate.wait()
            }
            return CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: "body")
        }
        let session = Session.caching()
        let request = try origin.request()
        let leader = session.dataTask(with: request)
        async let first: Void = Self.expectCancellation(of: leader)
        for await _ in asked.stream { break }
        async let others = Self.loadAll(5, session, request)
        leader.cancel()
        await first
        #expect(await others == Array(repeating: "body", count: 5))
        gate.open()
    }

    // Proves: CCH-21, TSK-8.
    @Test(.timeLimit(.minutes(1)))
    func `loads cancelled at random instants hold up nobody`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache)
        let requests = try (0..<10).map { try origin.request("/\($0)") }
        for round in 0..<20 {
            await withTaskGroup { group in
                for index in 0..<30 {
                    let task = session.dataTask(with: requests[index % 10])
                    group.addTask { _ = try? await task.data() }
                    group.addTask {
                        for _ in 0..<(index * 7 + round * 3) % 40 { await Task.yield() }
                        task.cancel()
                    }
                }
            }
            await cache.removeAllCachedResponses()
        }
        for request in requests { #expect(try await session.text(request).0 == "body") }
        #expect(CacheFlights.shared.count(of: cache) == 0)
        #expect(session.allTasks.isEmpty)
    }

    // A reader that does not read holds up nobody for long.
    // Proves: CCH-21.
    @Test(.timeLimit(.minutes(1)))
    func `when the first one stands still the others go by themselves`() async throws {
        let count = 3_000_000
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(count)\r\n\r\n")
                try connection.send(pattern(count))
            }
        }
        let session = Session.caching(in: MemoryResponseCache(capacity: 1 << 30))
        let request = Request(url: try URLRecord(origin.url()))
        let (unread, _) = try await session.bytes(for: request)
        #expect(try await session.data(for: request).0 == pattern(count))
        #expect(origin.connections.count == 2)
        _ = unread
    }

    // Proves: CCH-21.
    @Test func `a flight is waited for until its end, or as long as it comes nearer`() {
        let flights = CacheFlights()
        let cache = MemoryResponseCache()
        let key = CacheKey(method: "GET", text: "x")
        let start = MonotonicTime.now
        let end = start.advanced(by: .seconds(60))
        var lease: CacheLease?
        if case .lead(let new) = flights.join(cache, key, now: start) { lease = new }
        guard case .follow(let flight) = flights.join(cache, key, now: start) else {
            Issue.record("no flight")
            return
        }
        #expect(flight.limit(end) == end)
        let calls = Progress()
        flight.watch { calls.add(1) }
        lease?.flight.noteProgress(at: start)
        #expect(flight.limit(end) == start.advanced(by: .seconds(2)))
        #expect(calls.value == 1)
        lease?.flight.noteProgress(at: start.advanced(by: .seconds(10)))
        #expect(flight.limit(end) == start.advanced(by: .seconds(12)))
        lease?.noteUnstorable(at: start)
        lease = nil
        #expect(flight.isOver)
        #expect(calls.value == 2)
        guard case .alone = flights.join(cache, key, now: start.advanced(by: .seconds(59))) else {
            Issue.record("not alone")
            return
        }
        guard case .lead = flights.join(cache, key, now: start.advanced(by: .seconds(61))) else {
            Issue.record("does not lead")
            return
        }
    }
}
