import EventLoop
import HTTPTypes
import Synchronization

// What the cache gives.
extension TransferLoop {
    func body(of entry: CacheEntry, _ visit: CacheVisit) async -> CachedBody? {
        guard visit.machine.request.method != .head else { return .bytes([]) }
        return await visit.cache?.body(of: entry)
    }

    /// The exchange that gives a stored answer.
    func stored(
        _ response: Response, _ body: CachedBody, _ visit: CacheVisit, from source: Response.Source, limit: Int
    ) async -> Exchange {
        let (request, task) = (visit.request, visit.task)
        // What was prepared for a request that is not made is for none after it.
        if source == .cache { task.load.withdrawAuthorization() }
        var response = response
        response.source = source
        response.cacheStatus = visit.machine.status
        let exchange: Exchange
        switch body {
        case .bytes(let bytes):
            task.load.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
            exchange = StoredExchange(
                response, body: bytes, for: request, configuration: task.shared, load: task.load)
        case .stream(let reader):
            let reading = CachedExchange(
                response, reader: reader, for: request, configuration: task.shared, load: task.load)
            reading.read()
            exchange = reading
        }
        task.load.exchange = exchange
        task.load.record.withLock { record in
            record.currentRequest = request
            record.transactions.append(.cached(response, since: record.start))
        }
        await awaitHead(of: exchange, bufferingUpTo: limit, of: task)
        return exchange
    }

    /// Confirms in the background what was given although it is stale (RFC 5861 §3).
    func refresh(_ visit: CacheVisit) {
        guard let cache = visit.cache, visit.task is DataTask,
            case .lead(let lease) = CacheFlights.shared.join(cache, visit.machine.key, now: .now)
        else { return }
        var request = visit.request
        request.cachePolicy = .reloadRevalidatingCacheData
        let task = visit.task.session.dataTask(
            with: request, configuration: visit.task.configuration,
            delegate: RefreshDelegate(teller: visit.task.teller))
        start { _ in
            await task.run()
            _ = lease
        }
    }
}

/// Hears of a load that nobody asked for; only what it may store is asked.
private struct RefreshDelegate: TaskDelegate {
    let teller: (any TaskDelegate)?

    func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
        if let teller { await teller.task(task, willCache: response) } else { response }
    }
}

extension TransactionMetrics {
    /// What the cache's answer counts as.
    fileprivate static func cached(_ response: Response, since start: MonotonicTime?) -> TransactionMetrics {
        var metrics = TransactionMetrics(url: response.url)
        metrics.resourceFetchType = .localCache
        metrics.status = response.status.code
        if let start { metrics.fetchStart = .nanoseconds(MonotonicTime.now.nanoseconds(since: start)) }
        return metrics
    }
}
