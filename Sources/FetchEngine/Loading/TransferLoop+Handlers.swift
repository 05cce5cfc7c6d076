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
        if isHeld(load) { await load.pause(isolation: self) { load.isSuspended } }
        let cached = await answerToConfirm(for: canonical, by: handler, of: task)
        // Nothing is awaited from here on: a cancellation finds either this or the exchange.
        if let cancellation = load.cancellation { throw cancellation }
        let exchange = HandlerExchange(
            request: canonical, configuration: task.shared, load: load, handler: handler, cachedResponse: cached)
        load.take(exchange, for: canonical)
        exchange.start { [weak task, self] challenge throws(LoadError) in
            guard let task else { return .cancelAuthenticationChallenge }
            return try await self.disposition(of: challenge, for: task)
        }
        return exchange
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
