/// The decisions of one load about its connections.
///
/// A pure value: each hop reads it, and it records the answers of the delegates and the failures.
struct ConnectionDecisions: Sendable {
    /// The chains that were decided about, by the server that showed them.
    var accepted: [URLRecord.Origin: Set<Fingerprint>] = [:]
    var settled: [URLRecord.Origin: Set<Fingerprint>] = [:]
    /// The identities chosen, by the server that wants one; nil inside is to go on without.
    private(set) var identities: [URLRecord.Origin: ClientIdentity?] = [:]
    /// How many of the routes to a server turned out not to work.
    var deadRoutes: [URLRecord.Origin: Int] = [:]
    /// How often an identity was refused.
    var identityFailures = 0
    /// The logins chosen, by the server that wants one, and how often one was refused.
    var logins: [URLRecord.Origin: Credential] = [:]
    var loginFailures = 0

    // MARK: Terms of the next connection

    /// The rules for the certificate of a URL's server.
    func trustRules(for url: URLRecord, _ tls: TLSConfiguration, isAsking: Bool) -> TrustRules {
        var rules = TrustRules()
        rules.question = !isAsking ? .nobody : tls.asksAboutTrustedServers ? .everybody : .untrusted
        for certificate in tls.acceptedCertificates where url.matches(certificate.hosts) {
            rules.acceptedCertificates.insert(certificate.fingerprint)
        }
        guard !accepted.isEmpty || !settled.isEmpty else { return rules }
        let origin = url.origin
        rules.acceptedChains = accepted[origin] ?? []
        rules.settledChains = settled[origin] ?? []
        return rules
    }

    /// The identity to show the server of a URL.
    ///
    /// - Parameter first: The origin of the task's first request: the configuration's identity is for it alone
    ///   (RED-11).
    func identity(for url: URLRecord, _ tls: TLSConfiguration, first: URLRecord.Origin) -> ClientIdentity? {
        if let chosen = identities[url.origin] { return chosen }
        return url.origin == first ? tls.clientIdentity : nil
    }

    /// Whether the identity for the server of a URL was chosen.
    func hasChosenIdentity(for url: URLRecord) -> Bool { identities[url.origin] != nil }

    /// The credential that was chosen for the server of a URL.
    func login(for url: URLRecord) -> Credential? { logins[url.origin] }

    /// The route to a URL.
    func route(to url: URLRecord, _ proxies: ProxyConfiguration) -> ProxyConfiguration.Route {
        guard !proxies.rules.isEmpty else { return .direct }
        let routes = proxies.routes(to: url)
        return routes[min(deadRoutes[url.origin] ?? 0, routes.count - 1)]
    }

    // MARK: Answers

    /// A chain is accepted as it is.
    mutating func accept(_ trust: ServerTrust, from origin: URLRecord.Origin) {
        accepted[origin, default: []].insert(trust.chainFingerprint)
    }

    /// A chain is left to the verdict.
    mutating func settle(_ trust: ServerTrust, from origin: URLRecord.Origin) {
        settled[origin, default: []].insert(trust.chainFingerprint)
    }

    /// An identity was chosen, or none.
    mutating func choose(_ identity: ClientIdentity?, for origin: URLRecord.Origin) {
        identities[origin] = .some(identity)
    }

    /// The server refused the identity that was shown.
    mutating func identityRefused() { identityFailures += 1 }

    /// A login was chosen.
    mutating func choose(login: Credential, for origin: URLRecord.Origin) { logins[origin] = login }

    /// The server refused a login.
    mutating func loginRefused() { loginFailures += 1 }

    /// A proxy could not be reached; returns whether there is another route.
    mutating func routeFailed(to url: URLRecord, _ proxies: ProxyConfiguration) -> Bool {
        let dead = (deadRoutes[url.origin] ?? 0) + 1
        guard dead < proxies.routes(to: url).count else { return false }
        deadRoutes[url.origin] = dead
        return true
    }
}
