import EventLoop
import HTTPTypes
import Synchronization

/// What one hop has to do with the cache.
struct CacheVisit {
    let request: Request
    let task: SessionTask
    let cache: (any ResponseCache)?
    var machine: CacheMachine
    /// What the request carries for the cache's sake.
    var added: [HTTPField] = []
    /// Others wait for what this load stores.
    var lease: CacheLease?
}

// How a hop is answered from the cache, and how its answer gets there. What to do is decided by `CacheMachine`.
extension TransferLoop {
    /// The exchange for a request: with the cache, or as the origin is to be asked when the cache does not have it.
    func cachedExchange(
        for request: Request, of task: SessionTask, limit: Int
    ) async throws(LoadError) -> Exchange {
        task.load.storing = nil
        let handler = task.shared.handler(for: request)
        var visit = CacheVisit(
            request: request, task: task, cache: task.shared.value.urlCache,
            machine: CacheMachine(
                request: handler?.canonicalRequest(for: request) ?? request, policy: task.cachePolicy(of: request),
                configuration: task.shared.value.caching,
                now: .now))
        if let handler { return try await handled(&visit, by: handler, limit: limit) }
        await volunteer(for: request, of: task)
        visit.machine.carries(try selecting(request, of: task))
        if let stored = try await lookUp(&visit, limit: limit) { return stored }
        while true {
            var sent = request
            for field in visit.added { sent.headerFields.append(field) }
            // Where nobody waits for the head, head and body are awaited in one.
            let exchange = try await exchange(for: sent, of: task, limit: visit.lease == nil ? limit : 0)
            task.load.record.withLock { $0.currentRequest = request }
            guard let exchange = try await judged(exchange, &visit, limit: limit) else {
                visit.added = []
                continue
            }
            await awaitHead(of: exchange, bufferingUpTo: limit, of: task)
            return exchange
        }
    }

    // MARK: Before the request

    /// The stored answer, when it may be given; otherwise notes how to ask the origin.
    private func lookUp(_ visit: inout CacheVisit, limit: Int) async throws(LoadError) -> Exchange? {
        guard let cache = visit.cache, visit.machine.looksUp else {
            return try await follow(visit.machine.start(), &visit, limit: limit)
        }
        try await admitStored(visit.request, of: visit.task)
        var answer = visit.machine.found(try await entries(in: cache, &visit), now: .now)
        if case .send = answer, visit.machine.mayCoalesce, visit.task is DataTask {
            switch CacheFlights.shared.join(cache, visit.machine.key, now: .now) {
            case .alone: break
            case .lead(let lease):
                visit.lease = lease
                answer = try await turn(answer, lease, cache, &visit)
            case .follow(let flight):
                let reason = visit.machine.status.forward
                await wait(for: flight, visit.task)
                if let cancellation = visit.task.load.cancellation { throw cancellation }
                answer = visit.machine.found(
                    try await entries(in: cache, &visit), afterWaiting: reason, now: .now)
            }
        }
        return try await follow(answer, &visit, limit: limit)
    }

    /// What is stored for the request, which from now on has the cookies it would be sent with if that matters.
    func entries(
        in cache: any ResponseCache, _ visit: inout CacheVisit
    ) async throws(LoadError) -> [CacheEntry] {
        let entries = await cache.entries(for: visit.machine.key, selectedBy: visit.machine.request)
        guard entries.contains(where: { $0.selection.names.contains("cookie") }) else { return entries }
        let carrying = try await withCookies(visit.request, of: visit.task)
        visit.machine.carries(try selecting(carrying, of: visit.task))
        return await cache.entries(for: visit.machine.key, selectedBy: visit.machine.request)
    }

    func follow(
        _ answer: CacheMachine.Answer, _ visit: inout CacheVisit, limit: Int
    ) async throws(LoadError) -> Exchange? {
        switch answer {
        case .fail(let error): throw error
        case .send(let fields):
            visit.added = fields
            return nil
        case .respond(let response): return await stored(response, .bytes([]), visit, from: .cache, limit: limit)
        case .serve(let entry, let response, let refreshing):
            guard let body = await body(of: entry, visit) else {
                return try await follow(visit.machine.lostBody(), &visit, limit: limit)
            }
            if refreshing { refresh(visit) }
            return await stored(response, body, visit, from: .cache, limit: limit)
        }
    }

    /// What a request is checked for whose answer needs no connection; and a suspended task has to wait here too.
    func admitStored(_ request: Request, of task: SessionTask) async throws(LoadError) {
        try RequestRules.check(request, schemes: task.shared.value.networkSchemes)
        if task.shared.value.targetPolicy != .unrestricted {
            _ = try admit(request, by: terms(for: request.url, of: task), of: task)
        }
        let load = task.load
        if isHeld(load) { await load.pause(isolation: self) { load.isSuspended } }
        if let cancellation = load.cancellation { throw cancellation }
    }

    // MARK: After the head

    /// The exchange to go on with after the head has come; nil to ask the origin again, without conditions.
    private func judged(
        _ exchange: Exchange, _ visit: inout CacheVisit, limit: Int
    ) async throws(LoadError) -> Exchange? {
        guard visit.task.load.cancellation == nil else { return exchange }
        guard let response = exchange.response else { return await rescued(exchange, &visit, limit: limit) }
        visit.machine.carries(try selecting(exchange.request, of: visit.task))
        let reception = visit.machine.received(response, now: .now)
        switch reception.action {
        case .deliver, .deliverAndStore:
            exchange.response?.cacheStatus = visit.machine.status
            if case .deliverAndStore(let entry) = reception.action {
                store(entry, from: exchange, &visit)
            } else {
                visit.lease?.noteUnstorable(at: .now)
            }
            await apply(reception, visit)
            return exchange
        case .serve(let entry, let served):
            guard let body = await body(of: entry, visit) else {
                guard response.status == .notModified else { return exchange }
                _ = visit.machine.lostBody()
                return nil
            }
            await apply(reception, visit)
            exchange.abort(LoadError(.cancelled, "The stored answer is used."))
            try await keepCookies(of: response, to: visit.request, of: visit.task)
            let source: Response.Source = response.status == .notModified ? .revalidated : .cache
            return await stored(served, body, visit, from: source, limit: limit)
        case .sendAgain:
            await apply(reception, visit)
            exchange.abort(LoadError(.cancelled, "The request is sent again."))
            return nil
        }
    }

    /// The stored answer in place of one that could not be had; otherwise the exchange that failed.
    private func rescued(_ exchange: Exchange, _ visit: inout CacheVisit, limit: Int) async -> Exchange {
        guard case .some(.some(let error)) = exchange.outcome,
            let (entry, response) = visit.machine.failed(error, now: .now), let body = await body(of: entry, visit)
        else { return exchange }
        return await stored(response, body, visit, from: .cache, limit: limit)
    }

    private func apply(_ reception: CacheMachine.Reception, _ visit: CacheVisit) async {
        guard let cache = visit.cache else { return }
        for key in reception.invalidated { await cache.removeEntries(for: key) }
        if let removed = reception.removed { await cache.remove(removed) }
        if let (entry, id) = reception.refreshed { await cache.refresh(entry, replacing: id) }
    }

    /// Begins to store what comes; downloads store nothing (DLD-8).
    func store(_ entry: CacheEntry, from exchange: Exchange, _ visit: inout CacheVisit) {
        let rules = visit.machine.configuration
        let limit = min(visit.cache?.maximumEntryBytes ?? 0, rules.maximumEntryBytes ?? .max)
        guard let cache = visit.cache, visit.task is DataTask, rules.storagePolicy != .notAllowed,
            entry.bodyLength <= limit, isStorable(for: visit.task)
        else {
            visit.machine.noteRefusal()
            visit.lease?.noteUnstorable(at: .now)
            exchange.response?.cacheStatus = visit.machine.status
            return
        }
        var entry = entry
        entry.userInfo = rules.userInfo
        if rules.storagePolicy == .allowedInMemoryOnly { entry.storagePolicy = .allowedInMemoryOnly }
        visit.task.load.storing = AnswerStoring(
            entry, in: cache, upTo: limit, asking: visit.task.teller, lease: visit.lease)
        visit.lease = nil
    }

    // MARK: The body

    /// Takes bytes that are being delivered.
    ///
    /// A data task that went on as a download stores nothing any more (DLD-8).
    func store(_ bytes: [UInt8], of task: SessionTask) async {
        guard let storing = task.load.storing else { return }
        if task is DataTask, await storing.take(bytes) { return }
        task.load.storing = nil
    }

    /// Stores the answer, whose last byte has come.
    func keepAnswer(_ response: Response, _ rest: [UInt8] = [], of task: SessionTask) async throws(LoadError) {
        await store(rest, of: task)
        guard let storing = task.load.storing else { return }
        defer { task.load.storing = nil }
        try await storing.finish(for: task, response: response, isolation: self)
    }

    /// Stores a redirect that is being followed, when all of it is there (RED-17).
    func keepRedirect(_ exchange: Exchange, of task: SessionTask) async throws(LoadError) {
        guard task.load.storing != nil, let response = exchange.response, case .some(nil) = exchange.outcome else {
            return
        }
        try await keepAnswer(response, exchange.takeBody(), of: task)
    }
}

extension SessionTask {
    /// The request's own policy, or the session's when it has none of its own.
    func cachePolicy(of request: Request) -> CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy ? configuration.requestCachePolicy : request.cachePolicy
    }

    /// Whether a cache, or what is asked of caches on the way, matters for a request.
    func concernsCache(_ request: Request) -> Bool {
        configuration.urlCache != nil || cachePolicy(of: request) != .useProtocolCachePolicy
    }

    /// The whole body, when the load has kept it.
    var completeBytes: [UInt8] { load.record.withLock { $0.completeBody } ?? [] }
}
