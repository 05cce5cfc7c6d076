import Synchronization

/// Gathers a body in memory, and from a certain size on in a file.
final class DiskCacheWriter: CacheWriter {
    private struct State {
        var buffer: [UInt8] = []
        var length: Int64 = 0
        var draft: CacheDraft?
        var hasFailed = false
    }

    /// Smaller bodies are written when they are whole.
    private static let threshold = 256 * 1024

    private let limit: Int64
    private let cache: DiskResponseCache
    private let state = Mutex(State())

    init(limit: Int64, cache: DiskResponseCache) {
        self.limit = limit
        self.cache = cache
    }

    nonisolated(nonsending) func append(_ bytes: [UInt8]) async -> Bool {
        let spilled: (draft: CacheDraft?, bytes: [UInt8])? = state.withLock { state in
            state.length += Int64(bytes.count)
            if state.length > limit { state.hasFailed = true }
            guard !state.hasFailed else { return nil }
            state.buffer += bytes
            guard state.draft != nil || state.buffer.count > Self.threshold else { return nil }
            defer { state.buffer = [] }
            return (state.draft, state.buffer)
        }
        guard let spilled else { return state.withLock { !$0.hasFailed } }
        let draft: CacheDraft?
        if let known = spilled.draft { draft = known } else { draft = await cache.directory.draft() }
        let isWritten = await draft?.append(spilled.bytes) ?? false
        state.withLock { state in
            state.draft = isWritten ? draft : nil
            state.hasFailed = !isWritten
        }
        return isWritten
    }

    nonisolated(nonsending) func commit(_ entry: CacheEntry) async {
        let (draft, buffer, length) = state.withLock { state in
            defer { state = State(hasFailed: true) }
            return (state.draft, state.hasFailed ? nil : state.buffer, state.length)
        }
        guard let buffer else { return }
        var entry = entry
        entry.bodyLength = length
        if let draft { await cache.install(draft, as: entry) } else { await cache.store(entry, body: buffer) }
    }
}
