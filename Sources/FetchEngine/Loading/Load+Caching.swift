import EventLoop
import HTTPTypes
import Synchronization

/// The state of one hop for the cache.
///
/// A class: the frames of loads that wait have a reference and not its copies.
final class CacheVisit {
    let request: Request
    let cache: (any ResponseCache)?
    var machine: CacheMachine
    /// The fields of the request for the cache.
    var added: [HTTPField] = []
    /// Other loads wait for the response that this one stores.
    var lease: CacheLease?

    init(_ request: Request, in cache: (any ResponseCache)?, _ machine: CacheMachine) {
        self.request = request
        self.cache = cache
        self.machine = machine
    }

    /// The request with the fields that it gets for the cache.
    var sent: Request {
        guard !added.isEmpty else { return request }
        var sent = request
        for field in added { sent.headerFields.append(field) }
        return sent
    }
}

// How a hop is answered from the cache, and how its response is stored. `CacheMachine` decides.
extension Load {
    /// The exchange for a request: from the cache, or from the origin when the cache cannot answer.
    func cachedExchange(
        for request: Request, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> any Exchange {
        storing = nil
        let handler = shared.handler(for: request)
        let visit = visit(of: request, by: handler)
        if let handler { return try await handled(visit, by: handler, limit: limit, on: loop) }
        if mayBeAuthorized { await sendPreemptively(for: request, on: loop) }
        visit.machine.carries(try selecting(request))
        if let stored = try await lookUp(visit, limit: limit, on: loop) { return stored }
        while true {
            // When no caller waits for the head, head and body are awaited together.
            let exchange = try await exchange(for: visit.sent, limit: visit.lease == nil ? limit : 0, on: loop)
            record.withLock { $0.currentRequest = request }
            guard let exchange = try await judged(exchange, visit, limit: limit, on: loop) else {
                visit.added = []
                continue
            }
            await awaitHead(of: exchange, bufferingUpTo: limit, on: loop)
            return exchange
        }
    }

    // MARK: Before the request

    /// Not inlined: the frame that waits for the head would have room for what it needs.
    @inline(never)
    private func visit(of request: Request, by handler: (any ProtocolHandler)?) -> CacheVisit {
        CacheVisit(
            request, in: configuration.urlCache,
            CacheMachine(
                request: handler?.canonicalRequest(for: request) ?? request, policy: cachePolicy(of: request),
                configuration: configuration.caching, now: .now))
    }

    /// The stored answer, when it may be given; otherwise notes how to ask the origin.
    private func lookUp(_ visit: CacheVisit, limit: Int, on loop: isolated TransferLoop) async throws(LoadError)
        -> (any Exchange)?
    {
        guard let cache = visit.cache, visit.machine.looksUp else {
            let answer = visit.machine.start()
            return isSent(answer, visit) ? nil : try await follow(answer, visit, limit: limit, on: loop)
        }
        try admitStored(visit.request, on: loop)
        if noteSuspension() { await pause(on: loop) { isSuspended } }
        try checkCancellation()
        let answer = visit.machine.lookedUp(try await entries(in: cache, visit, on: loop), now: .now)
        if case .send = answer, visit.machine.mayCoalesce, isData {
            switch CacheFlights.shared.join(cache, visit.machine.key, now: .now) {
            case .alone: break
            case .lead(let lease):
                visit.lease = lease
                return try await follow(
                    try await turn(answer, lease, cache, visit, on: loop), visit, limit: limit, on: loop)
            case .follow(let flight):
                return try await follow(
                    try await self.answer(after: flight, in: cache, visit, on: loop), visit, limit: limit, on: loop)
            }
        }
        return isSent(answer, visit) ? nil : try await follow(answer, visit, limit: limit, on: loop)
    }

    /// The answer once another load has brought it, or could not.
    @inline(never)
    private func answer(
        after flight: CacheFlight, in cache: any ResponseCache, _ visit: CacheVisit, on loop: isolated TransferLoop
    ) async throws(LoadError) -> CacheMachine.Answer {
        let reason = visit.machine.status.forward
        await wait(for: flight, on: loop)
        try checkCancellation()
        return visit.machine.lookedUp(
            try await entries(in: cache, visit, on: loop), afterWaiting: reason, now: .now)
    }

    /// Whether the origin is asked, without anything to wait for before.
    private func isSent(_ answer: CacheMachine.Answer, _ visit: CacheVisit) -> Bool {
        guard case .send(let fields) = answer else { return false }
        visit.added = fields
        return true
    }

    /// The entries for the request; if they vary by cookies, the request gets those that it would be sent with.
    func entries(
        in cache: any ResponseCache, _ visit: CacheVisit, on loop: isolated TransferLoop
    ) async throws(LoadError) -> [CacheEntry] {
        let entries = await cache.entries(for: visit.machine.key, selectedBy: visit.machine.request)
        guard entries.contains(where: { $0.selection.names.contains("cookie") }) else { return entries }
        let carrying = try await withCookies(visit.request, on: loop)
        visit.machine.carries(try selecting(carrying))
        return await cache.entries(for: visit.machine.key, selectedBy: visit.machine.request)
    }

    @inline(never)
    func follow(
        _ answer: CacheMachine.Answer, _ visit: CacheVisit, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> (any Exchange)? {
        switch answer {
        case .fail(let error): throw error
        case .send:
            _ = isSent(answer, visit)
            return nil
        case .respond(let response):
            return await stored(response, .bytes([]), visit, from: .cache, limit: limit, on: loop)
        case .serve(let entry, let response, let refreshing):
            guard let body = await body(of: entry, visit) else {
                return try await follow(visit.machine.lostBody(), visit, limit: limit, on: loop)
            }
            if refreshing { refresh(visit) }
            return await stored(response, body, visit, from: .cache, limit: limit, on: loop)
        }
    }

    /// Checks a request whose response needs no connection.
    @inline(never)
    private func admitStored(_ request: Request, on loop: isolated TransferLoop) throws(LoadError) {
        try RequestRules.check(request, schemes: configuration.networkSchemes)
        if configuration.targetPolicy != .unrestricted {
            _ = try admit(request, by: terms(for: request.url), on: loop)
        }
    }

    // MARK: After the head

    /// The exchange to go on with after the head has come; nil to ask the origin again, without conditions.
    private func judged(
        _ exchange: any Exchange, _ visit: CacheVisit, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> (any Exchange)? {
        guard cancellation == nil else { return exchange }
        guard let response = exchange.response else { return await rescued(exchange, visit, limit: limit, on: loop) }
        visit.machine.carries(try selecting(exchange.request))
        let reception = visit.machine.received(response, now: .now)
        guard delivers(exchange, by: reception, visit) else {
            return try await replaced(exchange, response, by: reception, visit, limit: limit, on: loop)
        }
        if reception.changesEntries { await apply(reception, visit) }
        return exchange
    }

    /// Whether a response of the origin is given; notes what is stored of it.
    @inline(never)
    private func delivers(_ exchange: any Exchange, by reception: CacheMachine.Reception, _ visit: CacheVisit) -> Bool {
        switch reception.action {
        case .serve, .sendAgain: return false
        case .deliver: visit.lease?.noteUnstorable(at: .now)
        case .deliverAndStore(let entry): store(entry, from: exchange, visit)
        }
        exchange.response?.cacheStatus = visit.machine.status
        return true
    }

    /// What is given in place of a response of the origin; nil to ask it again, without conditions.
    @inline(never)
    private func replaced(
        _ exchange: any Exchange, _ response: Response, by reception: CacheMachine.Reception, _ visit: CacheVisit,
        limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> (any Exchange)? {
        switch reception.action {
        case .deliver, .deliverAndStore: return exchange
        case .serve(let entry, let served):
            guard let body = await body(of: entry, visit) else {
                guard response.status == .notModified else { return exchange }
                _ = visit.machine.lostBody()
                return nil
            }
            await apply(reception, visit)
            exchange.abort(LoadError(.cancelled, "The stored answer is used."))
            try await keepCookies(of: response, to: visit.request, on: loop)
            let source: Response.Source = response.status == .notModified ? .revalidated : .cache
            return await stored(served, body, visit, from: source, limit: limit, on: loop)
        case .sendAgain:
            await apply(reception, visit)
            exchange.abort(LoadError(.cancelled, "The request is sent again."))
            return nil
        }
    }

    /// The stored response in place of one that could not be loaded; otherwise the exchange that failed.
    @inline(never)
    private func rescued(
        _ exchange: any Exchange, _ visit: CacheVisit, limit: Int, on loop: isolated TransferLoop
    ) async -> any Exchange {
        guard case .some(.some(let error)) = exchange.outcome,
            let (entry, response) = visit.machine.failed(error, now: .now), let body = await body(of: entry, visit)
        else { return exchange }
        return await stored(response, body, visit, from: .cache, limit: limit, on: loop)
    }

    private nonisolated(nonsending) func apply(_ reception: CacheMachine.Reception, _ visit: CacheVisit) async {
        guard let cache = visit.cache else { return }
        for key in reception.invalidated { await cache.removeEntries(for: key) }
        if let removed = reception.removed { await cache.remove(removed) }
        if let (entry, id) = reception.refreshed { await cache.refresh(entry, replacing: id) }
    }

    /// Begins to store the response; downloads store nothing (DLD-8).
    func store(_ entry: CacheEntry, from exchange: any Exchange, _ visit: CacheVisit) {
        let rules = visit.machine.configuration
        let limit = min(visit.cache?.maximumEntryBytes ?? 0, rules.maximumEntryBytes ?? .max)
        guard let cache = visit.cache, isData, rules.storagePolicy != .notAllowed,
            entry.bodyLength <= limit, isStorable()
        else {
            visit.machine.noteRefusal()
            visit.lease?.noteUnstorable(at: .now)
            exchange.response?.cacheStatus = visit.machine.status
            return
        }
        visit.lease?.noteStorable()
        var entry = entry
        entry.userInfo = rules.userInfo
        if rules.storagePolicy == .allowedInMemoryOnly { entry.storagePolicy = .allowedInMemoryOnly }
        storing = ResponseStoring(
            entry, in: cache, upTo: limit, asks: client?.notifiesDelegate ?? false, lease: visit.lease)
        visit.lease = nil
    }

    // MARK: The body

    /// Takes bytes that are being delivered.
    ///
    /// A data task that went on as a download stores nothing any more (DLD-8).
    func store(_ bytes: [UInt8], on loop: isolated TransferLoop) async {
        guard let storing else { return }
        if isData, await storing.take(bytes) { return }
        self.storing = nil
    }

    /// Stores the answer, whose last byte has come.
    func keepResponse(
        _ response: Response, _ rest: [UInt8] = [], on loop: isolated TransferLoop
    ) async throws(LoadError) {
        await store(rest, on: loop)
        guard let storing else { return }
        defer { self.storing = nil }
        try await storing.finish(response, of: self, on: loop)
    }

    /// Stores a redirect that is being followed, when all of it is there (RED-17).
    func keepRedirect(_ exchange: any Exchange, on loop: isolated TransferLoop) async throws(LoadError) {
        guard storing != nil, let response = exchange.response, case .some(nil) = exchange.outcome else {
            return
        }
        try await keepResponse(response, exchange.takeBody(), on: loop)
    }
}

extension Load {
    /// The request's own policy, or the session's when it has none of its own.
    func cachePolicy(of request: Request) -> CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy ? configuration.requestCachePolicy : request.cachePolicy
    }

    /// Whether a cache, or a directive to caches on the way, matters for a request.
    func concernsCache(_ request: Request) -> Bool {
        configuration.urlCache != nil || cachePolicy(of: request) != .useProtocolCachePolicy
    }

    /// Whether the response may be stored: not that of a download.
    var isData: Bool { client.map { $0.kind != .download } ?? false }
}
