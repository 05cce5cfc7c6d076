import EventLoop
import HTTPTypes

/// The engine's side of a handler's load: carries each report to the loop's thread.
final class HandlerClient: ProtocolClient {
    /// Asks the load to answer a challenge.
    typealias Question = @Sendable (Challenge) async throws(LoadError) -> Challenge.Disposition

    let cachedResponse: CachedResponse?
    private let exchange: HandlerExchange
    private let ask: Question

    init(_ exchange: HandlerExchange, asking ask: @escaping Question) {
        self.exchange = exchange
        self.ask = ask
        cachedResponse = exchange.cachedResponse
    }

    func received(_ response: Response, redirectingTo request: Request) async throws(LoadError) {
        try await report { $0.received(response, storagePolicy: .notAllowed, redirectingTo: request) }
    }

    func received(_ response: Response, storagePolicy: CachedResponse.StoragePolicy) async throws(LoadError) {
        try await report { $0.received(response, storagePolicy: storagePolicy) }
    }

    func cachedResponseIsValid() async throws(LoadError) { try await report { $0.confirmCachedResponse() } }

    func received(_ data: [UInt8]) async throws(LoadError) {
        guard !data.isEmpty else { return }
        let failure = await withCheckedContinuation { continuation in
            exchange.state.loop.perform { [exchange] in exchange.received(body: data, continuation) }
        }
        if let failure { throw failure }
    }

    func received(_ challenge: Challenge) async throws(LoadError) -> Challenge.Disposition {
        try await report { $0.waitForAnswer() }
        let answer = try await ask(challenge)
        try await report { $0.resumeAfterAnswer() }
        guard case .cancelAuthenticationChallenge = answer else { return answer }
        throw LoadError(.userCancelledAuthentication, "The challenge was answered with cancel.")
    }

    /// Passes an event to the exchange, on the loop's thread.
    private func report(_ event: @escaping @Sendable (HandlerExchange) -> LoadError?) async throws(LoadError) {
        let failure = await withCheckedContinuation { continuation in
            exchange.state.loop.perform { [exchange] in continuation.resume(returning: event(exchange)) }
        }
        if let failure { throw failure }
    }
}
