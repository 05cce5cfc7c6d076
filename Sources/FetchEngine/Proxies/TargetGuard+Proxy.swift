extension TargetGuard {
    /// Judges a proxy that is for targets of all names.
    package func judgeForNames(_ proxy: Proxy) throws(TargetRefusal) {
        guard !policy.isOpen else { return }
        guard !proxy.kind.resolvesHere else { throw .resolvedHere }
        try judge(proxy)
    }

    /// Judges a proxy, and whether a target can still be judged when it is reached through it.
    ///
    /// The proxy is judged as a target is, and again at the address to which its connection goes; and the operator has to
    /// allow it as a proxy. When the proxy resolves the name of the target, its address is unknown here, so only the rules
    /// for names apply. When the name is resolved
    /// here and only passed on, no connection goes to its address, so the address is never judged, and such a proxy is
    /// refused for names.
    func judge(_ proxy: Proxy, for target: URLRecord) throws(TargetRefusal) {
        guard !policy.isOpen else { return }
        try judge(proxy)
        guard !proxy.kind.resolvesHere || target.host.flatMap(IPAddress.init(host:)) != nil else {
            throw .resolvedHere
        }
    }

    private func judge(_ proxy: Proxy) throws(TargetRefusal) {
        do throws(TargetRefusal) {
            _ = try self.target("http://\(proxy.host):\(proxy.port)/")
        } catch {
            throw .proxy(error)
        }
        guard policy.allowsProxy(at: proxy.host, port: proxy.port) else {
            throw TargetRefusal(
                .proxyForbidden,
                "The operator allows no proxy that it has not named; GUARD_ALLOW with its name or address:port opens it, "
                    + "GUARD_ALLOW_PROXIES=true opens all that are public.")
        }
    }
}

extension TargetRefusal {
    fileprivate static var resolvedHere: Self {
        Self(.proxyForbidden, "Names are resolved on this side of the proxy, where nobody judges them.")
    }

    /// The proxy is one that may not be used, for this reason.
    static func proxy(_ reason: TargetRefusal) -> Self {
        var refusal = Self(.proxyForbidden, "The proxy may not be used: \(reason.message)")
        refusal.rule = reason.rule
        refusal.cause = reason.code
        return refusal
    }
}

extension TargetRefusal.Code {
    /// The proxy may not be used, or not for this target.
    public static let proxyForbidden = Self("proxyForbidden")
}
