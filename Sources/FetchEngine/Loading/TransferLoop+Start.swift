import EventLoop
import HTTPTypes
import Synchronization

// What happens before the first hop, and how a hop is started.
extension TransferLoop {
    // MARK: Before the first hop

    func begin(_ task: SessionTask) throws(LoadError) {
        let now = MonotonicTime.now
        let isFirst = task.load.record.withLock { record in
            guard !record.hasStarted else { return false }
            record.hasStarted = true
            record.start = now
            if record.state == .suspended { record.state = .running }
            return true
        }
        if let cancellation = task.load.cancellation { throw cancellation }
        guard isFirst else { throw LoadError(.unknown, "The task was started before.") }
        guard task.session.allows(task) else {
            throw LoadError(
                .unsupportedURL, "A background session has uploads and downloads only, with bodies it can repeat.")
        }
        task.load.isTold = task.teller != nil
        task.load.deadline = task.shared.value.timeoutIntervalForResource.map(now.advanced)
    }

    func firstRequest(of task: SessionTask) -> Request { prepared(task.originalRequest, of: task) }

    /// The request that the task itself makes after a response, as complete as its first one; nil when it makes none.
    func requestAfter(_ response: Response, of task: SessionTask) -> Request? {
        task.request(after: response).map { prepared($0, of: task) }
    }

    /// The request with the fields that the session and the body give it.
    private func prepared(_ request: Request, of task: SessionTask) -> Request {
        var prepared = request
        for field in task.shared.value.httpAdditionalHeaders where !request.headerFields.contains(field.name) {
            prepared.headerFields.append(field)
        }
        prepared = prepared.withContentType().withContentCoding()
        return task is UploadTask ? prepared.withResumability(task.configuration) : prepared
    }

    /// Whether something comes before the first hop that takes time.
    func mustWait(_ task: SessionTask) -> Bool { task.earliestBegin != nil || task.session.delegate != nil }

    /// Tells that the task was made, waits for its moment and asks what to load then (BEY-3, BEY-10).
    func beginLater(_ task: SessionTask, with request: Request) async throws(LoadError) -> Request {
        await task.session.delegate?.session(task.session, didCreate: task)
        if let cancellation = task.load.cancellation { throw cancellation }
        guard let begin = task.earliestBegin else { return request }
        let now = MonotonicTime.now
        let wait = max(.zero, ContinuousClock.now.duration(to: begin))
        // The time that was agreed on is not the load's.
        if let deadline = task.load.deadline { task.load.deadline = deadline.advanced(by: wait) }
        await task.load.pause(until: now.advanced(by: wait), isolation: self)
        if let cancellation = task.load.cancellation { throw cancellation }
        guard let teller = task.teller else { return request }
        let answer = try await task.load.answer(isolation: self) {
            await teller.task(task, willBeginDelayedRequest: request)
        }
        switch answer {
        case .continueLoading: return request
        case .useNewRequest(let other): return other
        case .cancel: throw LoadError(.cancelled, "The delayed request was answered with cancel.")
        }
    }

    /// Tells that the URL was put into its standard form: a redirect without a response (RED-7).
    func canonical(_ request: Request, of task: SessionTask) async throws(LoadError) -> Request {
        try await decision(on: request, nil, of: task) ?? request
    }

    // MARK: A hop

    /// Makes the exchange for a request and starts it.
    func start(_ request: Request, of task: SessionTask) async throws(LoadError) -> Exchange {
        if let handler = task.shared.handler(for: request) {
            return try await start(request, with: handler, of: task)
        }
        let load = task.load
        let authorization = mayBeAuthorized(task) ? try await authorization(for: request, of: task) : nil
        await chooseStoredLogin(for: request.url, of: task)
        let terms = try terms(for: request.url, of: task)
        load.proxy = terms.httpProxy
        let proxyAuthorization =
            load.proxy == nil ? nil : try await proxyAuthorization(for: request, of: task)
        let partition = try admit(request, by: terms, of: task)
        let carrying = try await withCookies(request, of: task)
        let plain =
            if case .stream(let length, let provider) = request.body {
                try await stream(from: provider, length: length, of: task)
            } else {
                try source(for: request)
            }
        let source = plain.map { $0.rest(from: request.bodyOffset).coded(for: request) }
        load.lookUp = nil
        var addresses = VettedAddresses.any
        if !partition.isUnrestricted {
            addresses = await vettedAddresses(for: request.url, on: partition, of: task)
        }
        if isHeld(load) { await load.pause(isolation: self) { load.isSuspended } }
        if let cancellation = load.cancellation { throw cancellation }
        let transfer = Transfer(
            request: carrying, configuration: task.shared, load: load, terms: terms, partition: partition,
            source: source)
        transfer.authorization = authorization
        transfer.proxyAuthorization = proxyAuthorization
        transfer.addresses = addresses
        transfer.lookUp = load.lookUp
        load.take(transfer, for: request)
        partition.enqueue(transfer)
        return transfer
    }

    /// Checks the request and finds the connections it may use.
    func admit(
        _ request: Request, by terms: ConnectionTerms, of task: SessionTask
    ) throws(LoadError) -> Partition {
        if let cancellation = task.load.cancellation { throw cancellation }
        try RequestRules.check(request, schemes: task.shared.value.networkSchemes)
        let partition = partition(
            for: Partition.Key(
                session: task.session.identifier, settings: task.shared.connections, terms: terms,
                credential: connectionCredential(of: task)))
        try judge(request.url, by: partition, isRedirect: task.load.redirects.followed > 0)
        return partition
    }

    private func judge(_ url: URLRecord, by partition: Partition, isRedirect: Bool) throws(LoadError) {
        guard !partition.isUnrestricted else { return }
        do throws(TargetRefusal) {
            try partition.targetGuard.judge(url)
        } catch {
            throw isRedirect ? LoadError(redirectTo: error) : LoadError(.init(error.code.name), error.message)
        }
    }

    /// The body's stream: from the request, else from a delegate (UPL-6).
    private func stream(
        from provider: any BodyStreamProvider, length: Int64?, of task: SessionTask
    ) async throws(LoadError) -> UploadSource {
        if let pipe = await provider.makeStream() { return UploadSource(pipe, length: length) }
        for delegate in task.askable {
            let pipe = try await task.load.answer(isolation: self) { await delegate.taskNeedsNewBodyStream(task) }
            if let pipe { return UploadSource(pipe, length: length) }
        }
        throw LoadError(.requestBodyStreamExhausted, "The body has to be sent and there is no stream for it.")
    }

    private func source(for request: Request) throws(LoadError) -> UploadSource? {
        switch request.body {
        case .bytes(let bytes): return UploadSource(bytes)
        case .file(let path): return try UploadSource(path: path)
        case .segments(let segments): return try UploadSource(segments: segments)
        case nil, .stream:
            // These methods anticipate content, so its absence is said (RFC 9110 §8.6).
            let anticipatesContent = [.post, .put, .patch].contains(request.method)
            return anticipatesContent ? UploadSource([]) : nil
        }
    }

    func isHeld(_ load: Load) -> Bool {
        load.isSuspended = load.record.withLock { $0.suspensions > 0 }
        return load.isSuspended && load.cancellation == nil
    }
}
