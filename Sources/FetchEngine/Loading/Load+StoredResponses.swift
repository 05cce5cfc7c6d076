import EventLoop
import HTTPTypes
import Synchronization

// The responses that the cache gives.
extension Load {
    nonisolated(nonsending) func body(of entry: CacheEntry, _ visit: CacheVisit) async -> CachedBody? {
        guard visit.machine.request.method != .head else { return .bytes([]) }
        return await visit.cache?.body(of: entry)
    }

    /// The exchange that delivers a stored response.
    func stored(
        _ response: Response, _ body: CachedBody, _ visit: CacheVisit, from source: Response.Source, limit: Int,
        on loop: isolated TransferLoop
    ) async -> any Exchange {
        let request = visit.request
        // An authorization for a request that is not made must not go with a later one.
        if source == .cache { withdrawAuthorization() }
        var response = response
        response.source = source
        response.cacheStatus = visit.machine.status
        let exchange: any Exchange
        switch body {
        case .bytes(let bytes):
            state.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
            exchange = StoredExchange(
                response, body: bytes, for: request, configuration: shared, state: state)
        case .stream(let reader):
            let reading = CachedExchange(
                response, reader: reader, for: request, configuration: shared, state: state)
            reading.read()
            exchange = reading
        }
        self.exchange = exchange
        record.withLock { $0.currentRequest = request }
        state.values.withLock { $0.transactions.append(.cached(response, since: $0.start)) }
        await awaitHead(of: exchange, bufferingUpTo: limit, on: loop)
        return exchange
    }

    /// Revalidates in the background a response that was delivered although it is stale (RFC 5861 §3).
    func refresh(_ visit: CacheVisit) {
        guard let cache = visit.cache, let client, isData,
            case .lead(let lease) = CacheFlights.shared.join(cache, visit.machine.key, now: .now)
        else { return }
        var request = visit.request
        request.cachePolicy = .reloadRevalidatingCacheData
        client.refresh(request) { _ = lease }
    }

    /// The exchange of a download that an earlier one has left complete on disk.
    nonisolated(nonsending) func completeExchange(for request: Request) async -> (any Exchange)? {
        guard let client, client.kind == .download, let response = await client.completeOnDisk() else { return nil }
        let exchange = StoredExchange(response, body: [], for: request, configuration: shared, state: state)
        take(exchange, for: request)
        return exchange
    }
}

extension TransactionMetrics {
    /// The transaction of a response from the cache.
    fileprivate static func cached(_ response: Response, since start: MonotonicTime?) -> TransactionMetrics {
        var metrics = TransactionMetrics(url: response.url)
        metrics.resourceFetchType = .localCache
        metrics.status = response.status.code
        if let start { metrics.fetchStart = .nanoseconds(MonotonicTime.now.nanoseconds(since: start)) }
        return metrics
    }
}
