import HTTPTypes

/// Decides what the cache means for one hop of a load (RFC 9111 §4).
///
/// It is told of stored responses and of the origin's, and returns decisions; it owns no store, no connection and no
/// clock.
struct CacheMachine {
    /// The decision about a request.
    enum Answer {
        /// Give the body of this entry with this response, without asking the origin.
        indirect case serve(CacheEntry, Response, refreshing: Bool)
        /// Ask the origin, with these fields added to the request.
        case send(adding: [HTTPField])
        /// Give this response, which has no body.
        case respond(Response)
        case fail(LoadError)
    }

    /// The decision about a response of the origin.
    ///
    /// An object, so that the frames of loads have a reference.
    final class Reception {
        enum Action {
            /// Give it.
            case deliver
            /// Give it, and store it under this entry once its body is whole.
            case deliverAndStore(CacheEntry)
            /// Give the body of this entry with this response instead.
            case serve(CacheEntry, Response)
            /// It says nothing about stored responses: ask again, with nothing added to the request.
            case sendAgain
        }

        var action = Action.deliver
        /// Keys whose entries must be removed.
        var invalidated: [CacheKey] = []
        /// An entry to be forgotten.
        var removed: CacheEntry?
        /// An entry whose fields must be stored in place of those of the entry with the id.
        var refreshed: (entry: CacheEntry, replacing: CacheEntry.ID)?

        /// Whether stored entries change by it.
        var changesEntries: Bool { !invalidated.isEmpty || removed != nil || refreshed != nil }
    }

    /// The request with everything that answers may vary by, as far as that is known.
    private(set) var request: Request
    let policy: CachePolicy
    let configuration: CachingConfiguration
    let directives: CacheDirectives
    let key: CacheKey
    /// The `Cache-Status` of the request so far.
    private(set) var status: CacheStatus
    private var requestTime: UnixTime
    /// The entry that a conditional request asks the origin to confirm.
    private var validated: CacheEntry?
    private var hasSentAgain = false

    /// - Parameters:
    ///   - request: As it would be sent without a cache.
    ///   - policy: The request's own or the session's.
    init(request: Request, policy: CachePolicy, configuration: CachingConfiguration, now: UnixTime) {
        self.request = request
        self.policy = policy
        self.configuration = configuration
        directives = CacheDirectives(request.headerFields)
        key = CacheKey(request)
        status = CacheStatus(forward: [.get, .head].contains(request.method) ? .bypass : .method)
        requestTime = now
    }

    /// Whether a stored response is of any use.
    ///
    /// Requests for ranges and those with conditions of their own go to the origin as they are.
    var looksUp: Bool {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return false
        case .useProtocolCachePolicy, .reloadRevalidatingCacheData, .returnCacheDataElseLoad, .returnCacheDataDontLoad:
            break
        }
        return request.url.isHTTP && isPlain && (!directives.noStore || policy == .returnCacheDataDontLoad)
    }

    /// Whether it may wait for another load of the same, and take the response that this one stores.
    var mayCoalesce: Bool {
        configuration.coalescesRequests && configuration.storagePolicy != .notAllowed
            && policy == .useProtocolCachePolicy && request.method == .get && looksUp
            && !directives.noCache && !directives.onlyIfCached
    }

    private var isPlain: Bool {
        [.get, .head].contains(request.method) && request.body == nil
            && !request.headerFields.contains { Self.conditions.contains($0.name) }
    }

    private static let conditions: [HTTPField.Name] = [
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    // MARK: Before the request

    /// The decision when no stored response is used.
    mutating func start() -> Answer {
        guard policy != .returnCacheDataDontLoad else { return .fail(Self.notCached) }
        guard !directives.onlyIfCached else { return .respond(gatewayTimeout) }
        guard policy == .reloadIgnoringLocalAndRemoteCacheData else { return .send(adding: askingForValidation) }
        return .send(adding: fields(asking: "no-cache", [.cacheControl, .pragma]))
    }

    /// The field that makes the caches on the way ask the origin, too, if the policy demands it.
    private var askingForValidation: [HTTPField] {
        policy == .reloadRevalidatingCacheData ? fields(asking: "max-age=0", [.cacheControl]) : []
    }

    /// The decision when these entries are stored for the key.
    mutating func lookedUp(_ entries: [CacheEntry], now: UnixTime) -> Answer {
        requestTime = now
        let selected = entries.lazy.filter { [request] in $0.selection.matches(request.headerFields) }
        guard let entry = selected.max(by: { ($0.date, $0.responseTime) < ($1.date, $1.responseTime) }) else {
            status = CacheStatus(forward: entries.isEmpty ? .uriMiss : .varyMiss)
            return start()
        }
        if let reason = reasonToForward(entry, now: now) { return validate(entry, because: reason) }
        status = CacheStatus(forward: nil)
        status.timeToLive = timeToLive(of: entry, at: now)
        let refreshing = policy == .useProtocolCachePolicy && needsRefresh(entry, at: now)
        if refreshing { status.detail = "stale-while-revalidate" }
        return .serve(entry, entry.served(to: request, at: now), refreshing: refreshing)
    }

    /// Notes the fields that the request carries: the engine adds cookies and credentials to those it was made with.
    mutating func carries(_ fields: HTTPFields) { request.headerFields = fields }

    /// The decision after the load has waited for another one, when these entries are stored.
    mutating func lookedUp(_ entries: [CacheEntry], afterWaiting reason: CacheStatus.Forward?, now: UnixTime) -> Answer
    {
        let answer = lookedUp(entries, now: now)
        status.isCollapsed = true
        // It was not the cache alone that answered.
        if case .serve = answer { status.forward = reason }
        return answer
    }

    /// The action when the body of the chosen entry is gone: the load goes on as if nothing were stored.
    mutating func lostBody() -> Answer {
        validated = nil
        status = CacheStatus(forward: .uriMiss)
        return start()
    }

    /// Notes that a response that could be stored will not be, as it is too large for example.
    mutating func noteRefusal() { status.isStored = false }

    /// Asks caches on the way for something, unless the request has its own `Cache-Control`.
    private func fields(asking directive: String, _ names: [HTTPField.Name]) -> [HTTPField] {
        guard !request.headerFields.contains(.cacheControl) else { return [] }
        return names.filter { !request.headerFields.contains($0) }.map { HTTPField(name: $0, value: directive) }
    }

    private mutating func validate(_ entry: CacheEntry, because reason: CacheStatus.Forward) -> Answer {
        status = CacheStatus(forward: reason)
        guard !directives.onlyIfCached else { return .respond(gatewayTimeout) }
        validated = entry
        return .send(adding: askingForValidation + (entry.preconditions ?? []))
    }

    // MARK: After the answer

    /// The decision about the head of a response to the request that was sent last.
    mutating func received(_ response: Response, now: UnixTime) -> Reception {
        let code = response.status.code
        let reception = Reception()
        if let entry = validated, code == 304 { return confirmed(entry, by: response, now: now) }
        if let entry = validated, Self.isServerFailure(code), let served = stale(entry, now: now) {
            status.forwardStatus = code
            reception.action = .serve(entry, served)
            return reception
        }
        if request.method == .head, let entry = validated { return receivedHead(response, for: entry, now: now) }
        if !request.method.isSafe, (200..<400).contains(code) { reception.invalidated = keys(changedBy: response) }
        let mayStore = Storability.allows(
            response, to: request, directives: directives, configuration: configuration)
        if mayStore, policy != .returnCacheDataDontLoad,
            let entry = CacheEntry(for: response, to: request, sentAt: requestTime, receivedAt: now), isOfUse(entry)
        {
            status.isStored = true
            status.timeToLive = timeToLive(of: entry, at: now)
            reception.action = .deliverAndStore(entry)
        } else if let entry = validated, request.method == .get {
            // The origin has another response now, which may not be stored; a challenge does not count.
            reception.removed = (200..<500).contains(code) && code != 401 && code != 407 ? entry : nil
        }
        return reception
    }

    /// Whether anyone may ever be given an answer.
    private func isOfUse(_ entry: CacheEntry) -> Bool {
        configuration.storesUnconfirmableAnswers || policy == .returnCacheDataElseLoad || entry.preconditions != nil
            || entry.freshness.lifetime(configuration) > .zero
    }

    /// The decision about a response to HEAD, which refreshes or removes the entry for GET (§4.3.5).
    private func receivedHead(_ response: Response, for entry: CacheEntry, now: UnixTime) -> Reception {
        let reception = Reception()
        guard response.status == .ok, entry.response.status == .ok else { return reception }
        if entry.agrees(withHead: response) {
            let refreshed = entry.refreshed(by: response, sentAt: requestTime, receivedAt: now)
            reception.refreshed = (refreshed, entry.id)
        } else {
            reception.removed = entry
        }
        return reception
    }

    /// The entry to give in place of an error, when it may stand in (RFC 5861 §4).
    mutating func failed(_ error: LoadError, now: UnixTime) -> (entry: CacheEntry, response: Response)? {
        guard error.isTransient, let entry = validated, let served = stale(entry, now: now) else { return nil }
        return (entry, served)
    }

    private mutating func confirmed(_ entry: CacheEntry, by response: Response, now: UnixTime) -> Reception {
        let reception = Reception()
        guard entry.preconditions != nil, entry.isConfirmed(by: response) else {
            // A 304 to a plain request, or about something else, is a server's mistake that is met once.
            reception.removed = entry
            guard !hasSentAgain else { return reception }
            hasSentAgain = true
            validated = nil
            reception.action = .sendAgain
            return reception
        }
        let refreshed = entry.refreshed(by: response, sentAt: requestTime, receivedAt: now)
        status.forwardStatus = 304
        status.timeToLive = timeToLive(of: refreshed, at: now)
        // The body is found by the version that is stored.
        reception.action = .serve(entry, refreshed.served(to: request, at: now))
        let control = CacheControl(refreshed.response.headerFields)
        if Storability.mayKeep(refreshed.response.status, control, configuration), !directives.noStore {
            status.isStored = true
            reception.refreshed = (refreshed, entry.id)
        } else {
            reception.removed = entry
        }
        return reception
    }

    /// The keys that an unsafe request has changed: its own, and those the answer names at the same origin (§4.4).
    private func keys(changedBy response: Response) -> [CacheKey] {
        var keys = [CacheKey(url: request.url)]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let reference = response.headerFields[values: name].first,
                let url = try? request.url.resolve(reference), url.origin == request.url.origin
            else { continue }
            let key = CacheKey(url: url)
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }

    private mutating func stale(_ entry: CacheEntry, now: UnixTime) -> Response? {
        let allowance = max(entry.freshness.staleIfError, directives.staleIfError)
        let excess = entry.freshness.age(at: now) - entry.freshness.lifetime(configuration)
        guard allowance > .zero, excess <= allowance, !entry.freshness.forbidsStale(configuration) else { return nil }
        status.detail = "stale-if-error"
        status.timeToLive = timeToLive(of: entry, at: now)
        return entry.served(to: request, at: now)
    }
}
