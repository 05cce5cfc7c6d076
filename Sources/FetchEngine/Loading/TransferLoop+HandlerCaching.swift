import HTTPTypes

// The cache and the handlers of the program's own: they know their protocol, and say what of it may be kept (CCH-6).
extension TransferLoop {
    /// The exchange for a request that a handler serves.
    ///
    /// Only the policies that take what is stored however old it is keep the handler from being asked. Of what is
    /// stored for the standard form of the request, that counts which the handler finds equivalent.
    func handled(
        _ visit: inout CacheVisit, by handler: any ProtocolHandler, limit: Int
    ) async throws(LoadError) -> Exchange {
        switch visit.machine.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad:
            if let cache = visit.cache {
                let canonical = visit.machine.request
                let entries = try await entries(in: cache, &visit).filter {
                    handler.isEquivalent(Request(url: $0.response.url), canonical)
                }
                let answer = visit.machine.found(entries, now: .now)
                if let stored = try await follow(answer, &visit, limit: limit) { return stored }
            } else if case .fail(let error) = visit.machine.start() {
                throw error
            }
        case .useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
            .reloadRevalidatingCacheData:
            break
        }
        let exchange = try await exchange(for: visit.request, of: visit.task, limit: 0)
        if let handled = exchange as? HandlerExchange { store(from: handled, &visit) }
        await awaitHead(of: exchange, bufferingUpTo: limit, of: visit.task)
        return exchange
    }

    /// Stores what a handler allows to be kept.
    private func store(from exchange: HandlerExchange, _ visit: inout CacheVisit) {
        guard exchange.storagePolicy != .notAllowed, exchange.proposedRequest == nil, let response = exchange.response,
            var entry = CacheEntry(for: response, to: exchange.request, sentAt: .now, receivedAt: .now)
        else { return }
        entry.storagePolicy = exchange.storagePolicy
        store(entry, from: exchange, &visit)
    }

    /// What the cache has for a handler's request, for the handler to confirm.
    func answerToConfirm(
        for request: Request, by handler: any ProtocolHandler, of task: SessionTask
    ) async -> CachedResponse? {
        switch task.cachePolicy(of: request) {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return nil
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad, .reloadRevalidatingCacheData:
            let cached = await task.shared.value.urlCache?.cachedResponse(for: request)
            return cached.flatMap { handler.isEquivalent(Request(url: $0.response.url), request) ? $0 : nil }
        }
    }
}
