import EventLoop
import HTTPTypes
import Synchronization

// The beginning of a load, and the start of a hop.
extension Load {
    // MARK: Before the first hop

    @inline(never)
    func begin() throws(LoadError) {
        let now = MonotonicTime.now
        let isFirst = record.withLock { record in
            guard !record.hasStarted else { return false }
            if let adviser = record.adviser { (self.adviser, advised) = (adviser, adviser.kinds) }
            record.hasStarted = true
            if record.phase == .suspended { record.phase = .running }
            return true
        }
        if isFirst { state.values.withLock { $0.start = now } }
        try checkCancellation()
        guard isFirst else { throw LoadError(.unknown, "The task was started before.") }
        let client = client
        try client?.checkKind()
        state.notifiesDelegate = client?.notifiesDelegate ?? false
        state.leavesBody = advised.contains(.response)
        let (left, limit) = (record.withLock { $0.position?.value.timeLeft }, configuration.timeoutIntervalForResource)
        deadline = (left.map { min($0, limit ?? $0) } ?? limit).map(now.advanced)
    }

    @inline(never)
    func firstRequest() -> Request { prepared(originalRequest) }

    /// The request that the task itself makes after a response, as complete as its first one; nil when it makes none.
    func requestAfter(_ response: Response) -> Request? { client?.request(after: response).map { prepared($0) } }

    /// The request with the fields that the session and the body give it.
    private func prepared(_ request: Request) -> Request {
        var prepared = request
        for field in configuration.httpAdditionalHeaders where !request.headerFields.contains(field.name) {
            prepared.headerFields.append(field)
        }
        prepared = prepared.withContentType().withContentCoding()
        guard request.body != nil, configuration.resumesUploads, configuration.uploadProtocol == .draft,
            client?.kind == .upload
        else { return prepared }
        return prepared.withResumability()
    }

    /// Whether something comes before the first hop that takes time.
    var mustWait: Bool { client.map { $0.earliestBegin != nil || $0.announcesTasks } ?? false }

    /// Announces the task, waits for its begin date and asks the delegate for the request then (BEY-3, BEY-10).
    func beginLater(with request: Request, on loop: isolated TransferLoop) async throws(LoadError) -> Request {
        guard let client else { return request }
        await client.created()
        try checkCancellation()
        guard let begin = client.earliestBegin else { return request }
        let now = MonotonicTime.now
        let wait = max(.zero, ContinuousClock.now.duration(to: begin))
        // The wait does not count against the time that the resource may take.
        deadline = deadline?.advanced(by: wait)
        await pause(until: now.advanced(by: wait), on: loop)
        try checkCancellation()
        switch try await answer(on: loop, to: { await client.disposition(ofDelayed: request) }) {
        case .continueLoading: return request
        case .useNewRequest(let other): return other
        case .cancel: throw LoadError(.cancelled, "The delegate cancelled the delayed request.")
        }
    }

    /// Asks the delegates about a request whose URL is in another form now, and notes that it is: a redirect without a
    /// response (RED-7).
    ///
    /// - Parameter former: The same with the URL as it was; the request itself when parsing alone has changed that.
    func canonical(
        _ request: Request, of former: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Request {
        let next = try await decision(on: request, nil, to: currentRequest, on: loop) ?? request
        let step: LoadStep =
            if let written = request.writtenURL {
                .canonicalized(from: written, to: request.url)
            } else {
                .redirected(Redirect(securing: former, to: request.url))
            }
        record.withLock { $0.steps.append(step) }
        return next
    }

    // MARK: A hop

    /// Makes the exchange for a request and starts it.
    func start(_ request: Request, on loop: isolated TransferLoop) async throws(LoadError) -> any Exchange {
        if let handler = shared.handler(for: request) {
            return try await start(request, with: handler, on: loop)
        }
        let field = mayBeAuthorized ? try await authorization(for: request, on: loop) : nil
        if request.url.isFTP { await chooseStoredLogin(for: request.url, on: loop) }
        let terms = try terms(for: request.url)
        proxy = terms.httpProxy
        let proxyField =
            proxy == nil ? nil : try await proxyAuthorization(for: request, on: loop)
        let partition = try admit(request, by: terms, on: loop)
        let carrying = sendsCookies(request) ? try await withCookies(request, on: loop) : request
        let plain =
            if case .stream(let length, let provider) = request.body {
                try await stream(from: provider, length: length, for: request, on: loop)
            } else {
                try source(for: request)
            }
        let source = plain.map { $0.rest(from: request.bodyOffset).coded(for: request) }
        lookUp = nil
        var addresses = VettedAddresses.any
        if let name = name(of: request.url, in: partition) {
            addresses = await vettedAddresses(of: name, in: partition, on: loop)
        }
        if noteSuspension() { await pause(on: loop) { isSuspended } }
        try checkCancellation()
        let transfer = Transfer(
            request: carrying, configuration: shared, state: state, terms: terms, partition: partition,
            source: source)
        transfer.authorization = field
        transfer.proxyAuthorization = proxyField
        transfer.addresses = addresses
        transfer.lookUp = lookUp
        take(transfer, for: request)
        partition.enqueue(transfer)
        return transfer
    }

    /// Checks the request and finds the connections it may use.
    @inline(never)
    func admit(
        _ request: Request, by terms: ConnectionTerms, on loop: isolated TransferLoop
    ) throws(LoadError) -> Partition {
        try checkCancellation()
        try RequestRules.check(request, schemes: configuration.networkSchemes)
        if configuration.kind == .background { try RequestRules.checkInBackground(request) }
        let partition = loop.partition(
            for: Partition.Key(
                session: session.identifier, settings: shared.connections, terms: terms,
                credential: connectionCredential))
        try judge(request.url, by: partition, isRedirect: redirects.followed > 0)
        return partition
    }

    private func judge(_ url: URLRecord, by partition: Partition, isRedirect: Bool) throws(LoadError) {
        guard !partition.isUnrestricted else { return }
        do throws(TargetRefusal) {
            try partition.targetGuard.judge(url)
        } catch {
            throw isRedirect ? LoadError(redirectTo: error) : LoadError(refused: error)
        }
    }

    /// The body's stream: from the adviser, from the request, else from a delegate (UPL-6).
    @inline(never)
    private func stream(
        from provider: any BodyStreamProvider, length: Int64?, for request: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> UploadSource {
        var (provider, length) = (provider, length)
        if case .body(let body) = try await advice(on: .bodyStream, on: loop, { .bodyStream(request) }) {
            guard let body else {
                throw LoadError(.requestBodyStreamExhausted, "The question for the body was answered with cancel.")
            }
            if let source = try source(for: body) { return source }
            if case .stream(let other, let another) = body { (length, provider) = (other, another) }
        }
        if let pipe = await provider.makeStream() { return UploadSource(pipe, length: length) }
        if let client, client.asksDelegates, let pipe = try await answer(on: loop, to: { await client.newBodyStream() })
        {
            return UploadSource(pipe, length: length)
        }
        throw LoadError(.requestBodyStreamExhausted, "The body has to be sent and there is no stream for it.")
    }

    private func source(for request: Request) throws(LoadError) -> UploadSource? {
        if let body = request.body, let source = try source(for: body) { return source }
        // These methods anticipate content, so its absence is stated (RFC 9110 §8.6).
        let anticipatesContent = [.post, .put, .patch].contains(request.method)
        return anticipatesContent ? UploadSource([]) : nil
    }

    private func source(for body: RequestBody) throws(LoadError) -> UploadSource? {
        switch body {
        case .bytes(let bytes): UploadSource(bytes)
        case .file(let path): try UploadSource(path: path)
        case .segments(let segments): try UploadSource(segments: segments)
        case .stream: nil
        }
    }

    /// Notes whether the task is suspended, for those that wait then.
    func noteSuspension() -> Bool {
        isSuspended = record.withLock { $0.suspensions > 0 }
        return isSuspended
    }
}
