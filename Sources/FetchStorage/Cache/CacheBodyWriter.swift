import FetchEngine
import FetchJobs
import Synchronization

/// Takes the body of an answer: into memory, and into a blob once it is too large for a row, unless it is for memory
/// only.
///
/// Used by one load, one call after the other.
final class CacheBodyWriter: CacheWriter {
    private struct State {
        var bytes: [UInt8] = []
        var count: Int64 = 0
        var blob: (any BlobWriter)?
        var isOver = false
    }

    private let limit: Int64
    private let memoryLimit: Int
    private let evictor: CacheEvictor
    private let store: @Sendable (CacheEntry, CacheTable.Body) async -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: The most bytes of a body that is stored.
    ///   - policy: Whether it may leave the memory.
    ///   - store: Stores the whole.
    init(
        limit: Int64,
        policy: CachedResponse.StoragePolicy,
        evictor: CacheEvictor,
        store: @escaping @Sendable (CacheEntry, CacheTable.Body) async -> Void
    ) {
        self.limit = limit
        memoryLimit = policy == .allowedInMemoryOnly ? .max : Blob.inlineLimit
        self.evictor = evictor
        self.store = store
    }

    deinit { abandon() }

    nonisolated(nonsending) func append(_ bytes: [UInt8]) async -> Bool {
        let (due, isOver) = state.withLock { state -> ([UInt8], Bool) in
            state.count += Int64(bytes.count)
            if state.count > limit { state.isOver = true }
            guard !state.isOver else { return ([], true) }
            if state.bytes.isEmpty { state.bytes = bytes } else { state.bytes += bytes }
            guard state.blob != nil || state.bytes.count > memoryLimit else { return ([], false) }
            defer { state.bytes = [] }
            return (state.bytes, false)
        }
        guard !isOver else {
            abandon()
            return false
        }
        return due.isEmpty ? true : await write(due)
    }

    nonisolated(nonsending) func commit(_ entry: CacheEntry) async {
        let (bytes, count, blob, isOver) = state.withLock { state in
            defer { (state.bytes, state.blob, state.isOver) = ([], nil, true) }
            return (state.bytes, state.count, state.blob, state.isOver)
        }
        guard !isOver else { return }
        var entry = entry
        entry.bodyLength = count
        guard let blob else { return await store(entry, .bytes(bytes)) }
        let isWhole: Void? = await evictor.reaching { try await blob.finish() }
        guard isWhole != nil else { return evictor.send(.abandon(blob)) }
        await store(entry, .blob(blob.id))
    }

    /// Nothing is stored when that fails; the load goes on.
    private nonisolated(nonsending) func write(_ bytes: [UInt8]) async -> Bool {
        let isWritten: Void? = await evictor.reaching { try await self.blob().write(bytes) }
        #if DEBUG
            if isWritten != nil { CrashPoint.cacheWritten.pass() }
        #endif
        if isWritten == nil { abandon() }
        return isWritten != nil
    }

    private nonisolated(nonsending) func blob() async throws -> any BlobWriter {
        if let blob = state.withLock({ $0.blob }) { return blob }
        let blob = try await evictor.blobs.create()
        state.withLock { $0.blob = blob }
        return blob
    }

    private func abandon() {
        let blob = state.withLock { state in
            state.isOver = true
            return state.blob.take()
        }
        if let blob { evictor.send(.abandon(blob)) }
    }
}
