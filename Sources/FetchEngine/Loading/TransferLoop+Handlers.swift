import HTTPTypes
import Synchronization

// Hops that a handler takes instead of the transport.
extension TransferLoop {
    /// Makes the exchange that a handler fills, and starts it.
    func start(
        _ request: Request, with handler: any ProtocolHandler, of task: SessionTask
    ) async throws(LoadError) -> Exchange {
        let load = task.load
        let canonical = handler.canonicalRequest(for: request)
        if canonical.url != request.url, let answer = try await decision(on: canonical, nil, of: task),
            answer.url != canonical.url
        {
            return try await start(answer, of: task)
        }
        load.isSuspended = load.record.withLock { $0.suspensions > 0 }
        if load.isSuspended { await load.pause(isolation: self) { load.isSuspended } }
        let cached = await answerToConfirm(for: canonical, by: handler, of: task)
        // Nothing is awaited from here on: a cancellation finds either this or the exchange.
        if let cancellation = load.cancellation { throw cancellation }
        let exchange = HandlerExchange(
            request: canonical, configuration: task.configuration, load: load, handler: handler, cachedResponse: cached)
        load.exchange = exchange
        load.countOfBytesSent.store(0, ordering: .relaxed)
        load.record.withLock { $0.currentRequest = canonical }
        exchange.start { [weak task, self] challenge throws(LoadError) in
            guard let task else { return .cancelAuthenticationChallenge }
            return try await self.disposition(of: challenge, for: task)
        }
        return exchange
    }

    /// The request that a handler's redirect leads to, or nil to leave it at its response.
    ///
    /// It may lead wherever the program's handlers do, but data: and file: URLs are never reached by a redirect.
    func hop(
        to proposed: Request, after response: Response, of task: SessionTask
    ) async throws(LoadError) -> Request? {
        switch task.load.redirects.received(response, from: task.currentRequest, proposing: proposed) {
        case .deliver: return nil
        case .fail(let error): throw error
        case .propose(let proposed, let redirect):
            guard let next = try await decision(on: proposed, response, of: task) else { return nil }
            task.load.record.withLock { $0.redirects.append(redirect) }
            return next
        }
    }

    /// What the delegates make of a challenge: at session level first where its method is of that level.
    func disposition(of challenge: Challenge, for task: SessionTask) async throws(LoadError) -> Challenge.Disposition {
        let space = challenge.protectionSpace
        for delegate in task.askable {
            let isWanted = try await task.load.answer(isolation: self) {
                await delegate.task(task, canAuthenticateAgainst: space)
            }
            guard isWanted else {
                return space.method.isOfConnection ? .performDefaultHandling : .rejectProtectionSpace
            }
        }
        if challenge.protectionSpace.method.isSessionLevel, let delegate = task.session.delegate {
            let answer = try await task.load.answer(isolation: self) {
                await delegate.session(task.session, didReceive: challenge)
            }
            guard case .performDefaultHandling = answer else { return answer }
        }
        for delegate in task.askable {
            let answer = try await task.load.answer(isolation: self) {
                await delegate.task(task, didReceive: challenge)
            }
            guard case .performDefaultHandling = answer else { return answer }
        }
        return .performDefaultHandling
    }
}
