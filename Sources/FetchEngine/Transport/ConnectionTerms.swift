/// The terms of a hop's connection, beside the session's configuration (SEC-21).
struct ConnectionTerms: Hashable {
    /// The way to the server.
    var route = ProxyConfiguration.Route.direct
    /// Which certificates of the server are accepted.
    var trust = TrustRules()
    /// The identity for the server, when it asks for one.
    var identity: ClientIdentity?
    /// Whether a server's request for a certificate stops the handshake, to ask for an identity.
    var asksForIdentity = false
    /// The user who logs in; nil without a login.
    var login: Credential?

    /// Whether they are those of most connections: no proxy, and nothing decided or asked.
    var isPlain: Bool { route == .direct && identity == nil && login == nil && !asksForIdentity && trust.isPlain }

    /// The proxy on the way, where it speaks HTTP.
    var httpProxy: Proxy? {
        if case .proxy(let proxy) = route, proxy.kind.isHTTP { proxy } else { nil }
    }

    /// The proxy on the way.
    var proxy: Proxy? {
        if case .proxy(let proxy) = route { proxy } else { nil }
    }
}
