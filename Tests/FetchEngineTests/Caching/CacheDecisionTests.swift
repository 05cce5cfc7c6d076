import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// The question whether to store.
@Suite struct CacheDecisionTests {
    /// Answers the question and keeps a log of its calls.
    private final class Decider: TaskDelegate {
        let log = Mutex<[String]>([])
        let answer: @Sendable (CachedResponse) -> CachedResponse?

        init(_ answer: @escaping @Sendable (CachedResponse) -> CachedResponse?) { self.answer = answer }

        private func note(_ word: String) { log.withLock { $0.append(word) } }

        func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
            note("response")
            return .allow
        }

        func task(_ task: SessionTask, didReceive data: [UInt8]) async { note("data") }

        func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
            note("cache")
            return answer(response)
        }

        func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async { note("metrics") }

        func task(_ task: SessionTask, didCompleteWith error: LoadError?) async { note("end") }
    }

    // Proves: CCH-11, CCH-15, LIF-11.
    @Test func `the question comes after the data and before the end`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let session = Session.caching()
        let decider = Decider { $0 }
        let task = session.dataTask(with: try origin.request(), delegate: decider)
        await task.run()
        #expect(decider.log.withLock { $0 } == ["response", "data", "cache", "metrics", "end"])
        #expect(try await session.text(try origin.request()).1.source == .cache)
        let again = Decider { $0 }
        await session.dataTask(with: try origin.request(), delegate: again).run()
        #expect(again.log.withLock { $0 } == ["response", "data", "metrics", "end"])
    }

    // Proves: CCH-11.
    @Test(arguments: ["Cache-Control: no-store", "Vary: *"])
    func `what may not be stored is not asked about`(_ line: String) async throws {
        let origin = try CachingOrigin(line)
        let decider = Decider { $0 }
        _ = try await Session.caching().text(try origin.request(), delegate: decider)
        #expect(!decider.log.withLock { $0 }.contains("cache"))
        let plain = try CachingOrigin("Cache-Control: max-age=60")
        _ = try await Session().text(try plain.request(), delegate: decider)
        #expect(!decider.log.withLock { $0 }.contains("cache"))
    }

    // Proves: CCH-12, CCH-13, CCH-17, RSP-9.
    @Test func `the answer may be stored, changed, kept in memory or refused`() async throws {
        let directory = try TemporaryDirectory()
        let origin = try CachingOrigin("Cache-Control: max-age=60", "X: 1")
        let cache = DiskResponseCache(location: directory.path)
        let session = Session.caching(in: cache)
        func load(_ path: String, _ answer: @escaping @Sendable (CachedResponse) -> CachedResponse?) async throws {
            let (body, _) = try await session.text(try origin.request(path), delegate: Decider(answer))
            #expect(body == "body")
        }
        try await load("/same") { cached in
            #expect(cached.data == Array("body".utf8))
            #expect(cached.response.headerFields[HTTPField.Name("X")!] == "1")
            #expect(cached.storagePolicy == .allowed)
            return cached
        }
        try await load("/changed") { cached in
            var cached = cached
            cached.data = Array("other".utf8)
            cached.userInfo = ["k": "v"]
            return cached
        }
        try await load("/memory") { cached in
            var cached = cached
            cached.storagePolicy = .allowedInMemoryOnly
            return cached
        }
        try await load("/not") { cached in
            var cached = cached
            cached.storagePolicy = .notAllowed
            return cached
        }
        try await load("/nothing") { _ in nil }
        await cache.flush()

        let later = DiskResponseCache(location: directory.path)
        func found(_ path: String, in cache: DiskResponseCache) async throws -> CachedResponse? {
            await cache.cachedResponse(for: try origin.request(path))
        }
        #expect(try await found("/same", in: later)?.data == Array("body".utf8))
        #expect(try await found("/changed", in: later)?.data == Array("other".utf8))
        #expect(try await found("/changed", in: later)?.userInfo == ["k": "v"])
        #expect(try await found("/memory", in: later) == nil)
        #expect(try await found("/memory", in: cache)?.storagePolicy == .allowedInMemoryOnly)
        for path in ["/not", "/nothing"] { #expect(try await found(path, in: cache) == nil) }
        #expect(try await session.text(try origin.request("/changed")).0 == "other")
    }

    // Proves: CCH-14, DLD-8.
    @Test func `downloads may be given from the cache and are never stored`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache)
        let decider = Decider { $0 }
        let loaded = try await session.download(for: try origin.request(), delegate: decider)
        #expect(loaded.byteCount == 4)
        #expect(!decider.log.withLock { $0 }.contains("cache"))
        #expect(cache.currentMemoryUsage == 0)
        _ = try await session.text(try origin.request())
        let cached = try await session.download(for: try origin.request(), delegate: decider)
        #expect(cached.byteCount == 4)
        #expect(cached.response.source == .cache)
        #expect(origin.count == 2)
    }

    // Proves: CCH-14, CCH-11.
    @Test func `an upload's answer is asked about only if it could be stored`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let decider = Decider { $0 }
        let session = Session.caching()
        let task = session.uploadTask(with: try origin.request("/", .put), from: .bytes([1]), delegate: decider)
        await task.run()
        #expect(decider.log.withLock { $0 } == ["response", "data", "metrics", "end"])
    }

    // Proves: CCH-15.
    @Test func `cancelling does not wait for the answer`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        let decider = Never()
        let task = Session.caching(in: cache).dataTask(with: try origin.request(), delegate: decider)
        decider.task.withLock { $0 = task }
        await expect(.cancelled) { try await task.data() }
        #expect(cache.currentMemoryUsage == 0)
        decider.gate.finish()
    }

    /// Cancels the task when it is asked, and does not answer.
    private final class Never: TaskDelegate {
        let task = Mutex<DataTask?>(nil)
        let gate = AsyncGate()

        func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
            self.task.withLock { $0.take() }?.cancel()
            await gate.wait()
            return response
        }
    }

    private final class AsyncGate: Sendable {
        private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        func wait() async { for await _ in stream {} }
        func finish() { continuation.finish() }
    }
}
