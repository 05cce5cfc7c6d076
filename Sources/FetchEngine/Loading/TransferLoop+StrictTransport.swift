import HTTPTypes
import Synchronization

// Hosts that want to be reached by https alone (RFC 6797).
extension TransferLoop {
    /// The request with https, where its host wants that and the request does not have it; else nil.
    ///
    /// The load tells of it as of a redirect.
    func secured(_ request: Request, of task: SessionTask) -> Request? {
        guard let store = task.shared.value.strictTransport else { return nil }
        let url = store.secured(request.url)
        guard url != request.url else { return nil }
        var secured = request
        secured.url = url
        let redirect = Redirect(securing: request, to: url)
        task.load.record.withLock { $0.steps.append(.redirected(redirect)) }
        return secured
    }

    /// Takes note of what a host wants.
    ///
    /// Only a connection without any fault says it (§8.1): one whose certificate was accepted in spite of the rules
    /// could be anybody's.
    func noteStrictTransport(_ response: Response, to request: Request, of task: SessionTask) {
        guard let store = task.shared.value.strictTransport, store.learns, request.url.scheme == "https",
            response.source == .network, task.shared.handler(for: request) == nil,
            let field = response.headerFields[values: .strictTransportSecurity].first, let host = request.url.host,
            !task.load.connections.trustRules(for: request.url, task.shared.value.tls, isAsking: false).canOverride,
            let wish = StrictTransport(field: field)
        else { return }
        store.insert(host, for: wish.maximumAge, includesSubdomains: wish.includesSubdomains)
    }
}

extension SessionTask {
    /// Whether nobody may accept a certificate of this host that is not trusted (RFC 6797 §8.4).
    func isStrict(about url: URLRecord) -> Bool {
        configuration.strictTransport?.includes(hostOf: url) ?? false
    }
}
