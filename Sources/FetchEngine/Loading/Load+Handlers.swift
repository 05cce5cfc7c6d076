import HTTPTypes
import Synchronization

// Hops that a handler takes instead of the transport.
extension Load {
    /// Makes the exchange that a handler fills, and starts it.
    func start(
        _ request: Request, with handler: any ProtocolHandler, on loop: isolated TransferLoop
    ) async throws(LoadError) -> any Exchange {
        let canonical = handler.canonicalRequest(for: request)
        if canonical.url != request.url, let decided = try await decision(on: canonical, nil, on: loop),
            decided.url != canonical.url
        {
            return try await start(decided, on: loop)
        }
        try await waitWhileSuspended(on: loop)
        let cached = await responseToConfirm(for: canonical, by: handler)
        // Nothing is awaited from here on: a cancellation finds either this or the exchange.
        try checkCancellation()
        let exchange = HandlerExchange(
            request: canonical, configuration: shared, state: state, handler: handler, cachedResponse: cached)
        take(exchange, for: canonical)
        exchange.start { [weak self] challenge throws(LoadError) in
            guard let self else { return .cancelAuthenticationChallenge }
            return try await disposition(of: challenge, on: loop)
        }
        return exchange
    }

    /// What the delegates make of a challenge.
    func disposition(
        of challenge: Challenge, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Challenge.Disposition {
        guard let client, client.asksDelegates else { return .performDefaultHandling }
        return try await answer(on: loop) { await client.disposition(of: challenge) }
    }
}
