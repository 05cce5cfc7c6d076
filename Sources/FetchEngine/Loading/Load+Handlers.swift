import HTTPTypes
import Synchronization

// Hops that a handler takes instead of the transport.
extension Load {
    /// Makes the exchange that a handler fills, and starts it.
    func start(
        _ request: Request, with handler: any ProtocolHandler, on loop: isolated TransferLoop
    ) async throws(LoadError) -> any Exchange {
        let canonical = handler.canonicalRequest(for: request)
        if canonical.url != request.url, let decided = try await decision(on: canonical, nil, to: request, on: loop),
            decided.url != canonical.url
        {
            return try await start(decided, on: loop)
        }
        if noteSuspension() { await pause(on: loop) { isSuspended } }
        try checkCancellation()
        let cached = await responseToConfirm(for: canonical, by: handler)
        // Nothing is awaited from here on: a cancellation finds either this or the exchange.
        try checkCancellation()
        let exchange = HandlerExchange(
            request: canonical, configuration: shared, state: state, handler: handler, cachedResponse: cached)
        take(exchange, for: canonical)
        exchange.start { [weak self] challenge throws(LoadError) in
            guard let self else { return .cancelAuthenticationChallenge }
            let answer = try await disposition(of: challenge, on: loop)
            let answered = AnsweredChallenge(
                protectionSpace: challenge.protectionSpace, previousFailureCount: challenge.previousFailureCount,
                answer: .init(answer))
            record.withLock { $0.steps.append(.challenged(answered)) }
            return answer
        }
        return exchange
    }

    /// The decision of the adviser, otherwise of the delegates, about a challenge.
    func disposition(
        of challenge: Challenge, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Challenge.Disposition {
        if let decided = try await advice(on: challenge, on: loop) { return decided }
        guard let client, client.asksDelegates else { return .performDefaultHandling }
        return try await answer(on: loop) { await client.disposition(of: challenge) }
    }

    /// The decision of the adviser about a challenge; nil when the delegates decide.
    ///
    /// Of a host that wants to be reached by https alone no chain is accepted by an answer (RFC 6797 §12.1).
    private func advice(
        on challenge: Challenge, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Challenge.Disposition? {
        let kind: LoadQuestion.Kinds =
            switch challenge.protectionSpace.method {
            case .serverTrust: .serverTrust
            case .clientCertificate: .clientCertificate
            default: .challenge
            }
        if let trust = challenge.serverTrust, !trust.isTrusted, isStrict(about: currentRequest.url) { return nil }
        guard case .challenge(let answer) = try await advice(on: kind, on: loop, { .challenge(challenge) }) else {
            return nil
        }
        if case .performDefaultHandling = answer { return nil }
        return answer
    }
}

extension AnsweredChallenge.Answer {
    /// The answer for the handler that asked, from the disposition of its challenge.
    fileprivate init(_ disposition: Challenge.Disposition) {
        switch disposition {
        case .useCredential: self = .useCredential
        case .cancelAuthenticationChallenge: self = .cancelAuthenticationChallenge
        case .performDefaultHandling, .rejectProtectionSpace, .continueWithoutCredential: self = .performDefaultHandling
        }
    }
}
