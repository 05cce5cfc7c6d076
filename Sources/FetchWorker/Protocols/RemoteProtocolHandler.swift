import FetchEngine
import FetchJobs
import FetchRuntime
import HTTPTypes

/// Loads the requests of a registered protocol: by a signed POST, whose reply is streamed as the response (PRT-1,
/// PRT-7).
struct RemoteProtocolHandler: ProtocolHandler {
    /// How many challenges one load may send.
    private static let maximumChallenges = 8

    let protocols: RemoteProtocols
    let tenant: Tenant.ID
    /// The protocols that the session has; nil for all of its tenant's.
    let names: [String]?

    func canHandle(_ request: Request) -> Bool { target(of: request) != nil }

    private func target(of request: Request) -> RegisteredProtocol? {
        protocols.known.protocol(for: request.url, of: tenant, among: names)
    }

    func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
        guard let target = target(of: request) else {
            throw LoadError(.unsupportedURL, "The protocol of the URL is not registered any more.")
        }
        let body = try await request.body?.content(upTo: ProtocolLoad.maximumBody)
        let cached = client.cachedResponse?.response
        var (challenge, answer) = (Challenge?.none, Challenge.Disposition?.none)
        for count in 0... {
            let message = ProtocolLoad(
                of: request, body: body, to: target.name, job: request[.job], cached: cached, answer: answer)
            let exchange = ProtocolExchange(message, with: target, by: protocols)
            defer { exchange.cancel() }
            let reply = try await exchange.reply()
            guard case .challenge(let space) = reply else {
                return try await pass(reply, of: exchange, to: client)
            }
            guard count < Self.maximumChallenges else {
                throw LoadError(.badServerResponse, "The protocol asked who is there again and again.")
            }
            let next = Challenge(space, after: challenge, answeredWith: answer)
            answer = try await client.received(next)
            challenge = next
        }
    }

    private func pass(
        _ reply: ProtocolReply, of exchange: ProtocolExchange, to client: any ProtocolClient
    ) async throws(LoadError) {
        let request = exchange.message.request
        switch reply {
        case .response(let response, let policy): try await client.received(response, storagePolicy: policy)
        case .redirect(let response, let url):
            try await client.received(response, redirectingTo: request.redirected(to: url, by: response.status))
        case .cachedResponseIsValid: return try await client.cachedResponseIsValid()
        case .failure(let error): throw error
        case .challenge: return
        }
        guard request.method != .head else { return }
        while let bytes = try await exchange.nextBytes() { try await client.received(bytes) }
    }
}

extension Challenge {
    /// The challenge after another one of the same load.
    fileprivate init(
        _ space: ProtectionSpace, after last: Challenge?, answeredWith answer: Challenge.Disposition?
    ) {
        self.init(protectionSpace: space)
        previousFailureCount = last?.previousFailureCount ?? 0
        guard case .useCredential(let credential) = answer else { return }
        previousFailureCount += 1
        proposedCredential = credential
    }
}
