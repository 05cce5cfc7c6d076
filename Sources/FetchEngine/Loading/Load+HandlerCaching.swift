import HTTPTypes

// The cache and the handlers of the program's own: they know their protocol, and decide what may be kept (CCH-6).
extension Load {
    /// The exchange for a request that a handler serves.
    ///
    /// Only the policies that take a stored response of any age keep the handler from being asked. Of the responses
    /// that are stored for the standard form of the request, the one counts that the handler finds equivalent.
    func handled(
        _ visit: CacheVisit, by handler: any ProtocolHandler, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> any Exchange {
        switch visit.machine.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad:
            if let cache = visit.cache {
                let canonical = visit.machine.request
                let entries = try await entries(in: cache, visit, on: loop).filter {
                    handler.isEquivalent(Request(url: $0.response.url), canonical)
                }
                let answer = visit.machine.lookedUp(entries, now: .now)
                if let stored = try await follow(answer, visit, limit: limit, on: loop) { return stored }
            } else if case .fail(let error) = visit.machine.start() {
                throw error
            }
        case .useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
            .reloadRevalidatingCacheData:
            break
        }
        let exchange = try await exchange(for: visit.request, limit: 0, on: loop)
        if let handled = exchange as? HandlerExchange { store(from: handled, visit) }
        await awaitHead(of: exchange, bufferingUpTo: limit, on: loop)
        return exchange
    }

    /// Stores a response that a handler allows to be kept.
    private func store(from exchange: HandlerExchange, _ visit: CacheVisit) {
        guard exchange.storagePolicy != .notAllowed, exchange.proposedRequest == nil, let response = exchange.response,
            var entry = CacheEntry(for: response, to: exchange.request, sentAt: .now, receivedAt: .now)
        else { return }
        entry.storagePolicy = exchange.storagePolicy
        store(entry, from: exchange, visit)
    }

    /// The entry of the cache for a handler's request, for the handler to confirm.
    nonisolated(nonsending) func responseToConfirm(
        for request: Request, by handler: any ProtocolHandler
    ) async -> CachedResponse? {
        switch cachePolicy(of: request) {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return nil
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad, .reloadRevalidatingCacheData:
            let cached = await configuration.urlCache?.cachedResponse(for: request)
            return cached.flatMap { handler.isEquivalent(Request(url: $0.response.url), request) ? $0 : nil }
        }
    }
}
