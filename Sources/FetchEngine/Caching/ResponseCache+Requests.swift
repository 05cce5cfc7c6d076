/// Looking into a cache and changing it by hand.
extension ResponseCache {
    /// The latest answer stored that the request selects, however old it is.
    public nonisolated(nonsending) func cachedResponse(for request: Request) async -> CachedResponse? {
        let entries = await entries(for: CacheKey(request), selectedBy: request)
        let selected = entries.filter { $0.selection.matches(request.headerFields) }
        guard let entry = selected.max(by: { $0.date < $1.date }), let body = await body(of: entry),
            let data = try? await body.gathered()
        else { return nil }
        let response = Response(
            url: entry.response.url, status: entry.response.status, headerFields: entry.response.headerFields,
            httpVersion: entry.response.httpVersion, expectedContentLength: entry.bodyLength)
        return CachedResponse(
            response: response, data: data, userInfo: entry.userInfo, storagePolicy: entry.storagePolicy)
    }

    /// Stores a response for the request, as if it had just arrived.
    ///
    /// The answer's own directives are not asked. Nothing is stored when its policy is `notAllowed`, when it is too
    /// large or when its `Vary` is `*`.
    ///
    /// - Returns: The entry that was passed to the cache; nil when none was.
    @discardableResult
    public nonisolated(nonsending) func store(
        _ cached: CachedResponse, for request: Request
    ) async -> CacheEntry? {
        let now = UnixTime.now
        guard let entry = CacheEntry(for: cached.response, to: request, sentAt: now, receivedAt: now) else {
            return nil
        }
        return await store(cached, as: entry)
    }

    /// Forgets the answers stored for the request's method and URL.
    public nonisolated(nonsending) func removeCachedResponse(for request: Request) async {
        await removeEntries(for: CacheKey(request))
    }

    /// Forgets every answer.
    public nonisolated(nonsending) func removeAllCachedResponses() async { await removeAllEntries() }

    /// Forgets the answers that came at that time or later.
    public nonisolated(nonsending) func removeCachedResponses(since time: UnixTime) async {
        await removeEntries(since: time)
    }

    /// Stores an entry as a delegate has changed it.
    @discardableResult
    nonisolated(nonsending) func store(_ cached: CachedResponse, as proposed: CacheEntry) async -> CacheEntry? {
        guard cached.storagePolicy != .notAllowed, Int64(cached.data.count) <= maximumEntryBytes else { return nil }
        let entry = CacheEntry(
            key: proposed.key, id: proposed.id, selection: proposed.selection,
            response: cached.response.with(cached.response.headerFields.storable),
            requestTime: proposed.requestTime, responseTime: proposed.responseTime, userInfo: cached.userInfo,
            storagePolicy: cached.storagePolicy, bodyLength: Int64(cached.data.count))
        guard let writer = await writer(for: entry), await writer.append(cached.data) else { return nil }
        await writer.commit(entry)
        return entry
    }
}

extension CachedBody {
    /// All of it.
    nonisolated(nonsending) func gathered() async throws(LoadError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .stream(let reader):
            var bytes: [UInt8] = []
            while let chunk = try await reader.next() { bytes += chunk }
            return bytes
        }
    }
}
