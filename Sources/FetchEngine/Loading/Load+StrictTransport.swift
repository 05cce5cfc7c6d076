import HTTPTypes
import Synchronization

// Hosts that want to be reached by https alone (RFC 6797).
extension Load {
    /// The request with https, where its host wants that and the request does not have it; else nil.
    ///
    /// Delegates are asked about it as about a redirect: ``canonical(_:of:on:)``.
    @inline(never)
    func secured(_ request: Request) -> Request? {
        guard let store = configuration.strictTransport else { return nil }
        let url = store.secured(request.url)
        guard url != request.url else { return nil }
        var secured = request
        secured.url = url
        return secured
    }

    /// Notes the strict transport policy of a host.
    ///
    /// Only a connection without any fault counts (§8.1): one whose certificate was accepted in spite of the rules
    /// could be anybody's.
    func noteStrictTransport(_ response: Response, to request: Request) {
        guard let store = configuration.strictTransport, store.learns, request.url.scheme == "https",
            response.source == .network, shared.handler(for: request) == nil,
            let field = response.headerFields[values: .strictTransportSecurity].first, let host = request.url.host,
            !connections.trustRules(for: request.url, configuration.tls, isAsking: false).canOverride,
            let policy = StrictTransport(field: field)
        else { return }
        store.insert(host, for: policy.maximumAge, includesSubdomains: policy.includesSubdomains)
    }
}

extension Load {
    /// Whether a delegate may not accept an untrusted certificate of this host (RFC 6797 §8.4).
    func isStrict(about url: URLRecord) -> Bool {
        configuration.strictTransport?.includes(hostOf: url) ?? false
    }
}
