import EventLoop

// Which addresses a hop may dial.
extension Load {
    /// Looks up the host to connect to, the target's or its proxy's, and judges all of its addresses.
    ///
    /// A refusal is the transfer's outcome, as it is where libcurl finds out.
    func vettedAddresses(
        for url: URLRecord, in partition: Partition, on loop: isolated TransferLoop
    ) async -> VettedAddresses {
        let proxy = partition.key.terms.proxy
        guard !partition.isUnrestricted, let host = proxy?.host ?? url.host, IPAddress(host: host) == nil,
            let port = proxy?.port ?? url.effectivePort
        else { return .any }
        let network = configuration.network
        guard !network.pinnedAddresses.contains(where: { $0.host == host && $0.port == port }) else { return .any }
        let key = HostAddresses.Key(host: host, family: network.addressFamily)
        let start = MonotonicTime.now
        var found = loop.hostAddresses.known(key)
        if found == nil {
            found = await lookUp(key, on: loop)
            lookUp = (start, .now)
        }
        guard let found, !found.isEmpty else {
            // For a proxy, libcurl describes the failure in more detail, since another proxy may be tried then.
            guard proxy == nil else { return .any }
            return .refused(LoadError(.cannotFindHost, "The host name did not resolve."))
        }
        return partition.vetted(found, of: host, port: port, for: proxy == nil ? url.scheme : "http")
    }

    private func lookUp(_ key: HostAddresses.Key, on loop: isolated TransferLoop) async -> [IPAddress]? {
        let found = await HostAddresses.lookUp(key, for: "\(session.identifier)")
        if let found, !found.isEmpty { loop.hostAddresses.keep(found, for: key) }
        return found
    }
}

extension Partition {
    /// The addresses that may be dialled: all, or none when one is refused (SEC-10).
    ///
    /// The names of this machine alone lead to several addresses that everybody knows, of which a rule may open one.
    fileprivate func vetted(
        _ addresses: [IPAddress], of host: String, port: UInt16, for scheme: String
    ) -> VettedAddresses {
        let isLocal = host == "localhost" || host.hasSuffix(".localhost")
        var (allowed, refusal) = ([IPAddress](), TargetRefusal?.none)
        for address in addresses {
            do throws(TargetRefusal) {
                try targetGuard.judge(address, port: port, for: scheme)
                allowed.append(address)
            } catch {
                refusal = error
            }
        }
        guard let refusal, !isLocal || allowed.isEmpty else { return .only(allowed, host: host, port: port) }
        let named = key.terms.proxy == nil ? refusal : .proxy(refusal)
        return .refused(LoadError(.init(named.code), named.message))
    }
}
