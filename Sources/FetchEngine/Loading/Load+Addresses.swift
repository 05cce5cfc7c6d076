import EventLoop

// Which addresses a hop may dial.
extension Load {
    /// A name whose addresses are judged before one of them is dialled.
    struct Name {
        let host: String
        let port: UInt16
        /// Of the target; a proxy is judged as the http target that it is.
        let scheme: String
        let isProxy: Bool
    }

    /// The host to connect to, the target's or its proxy's; nil when no name has to be looked up for it.
    ///
    /// Apart from the look-up, for which the frames of most hops so need no room.
    @inline(never)
    func name(of url: URLRecord, in partition: Partition) -> Name? {
        guard !partition.isUnrestricted else { return nil }
        let proxy = partition.key.terms.proxy
        guard let host = proxy?.host ?? url.host, IPAddress(host: host) == nil,
            let port = proxy?.port ?? url.effectivePort,
            !configuration.network.pinnedAddresses.contains(where: { $0.host == host && $0.port == port })
        else { return nil }
        return Name(host: host, port: port, scheme: proxy == nil ? url.scheme : "http", isProxy: proxy != nil)
    }

    /// Looks up a name, and judges all of its addresses.
    ///
    /// A refusal is the transfer's outcome, as it is where libcurl finds out.
    @inline(never)
    func vettedAddresses(
        of name: Name, in partition: Partition, on loop: isolated TransferLoop
    ) async -> VettedAddresses {
        let key = HostAddresses.Key(host: name.host, family: configuration.network.addressFamily)
        do throws(LoadError) {
            let found = try await addresses(of: key, on: loop)
            return partition.vetted(found, of: name.host, port: name.port, for: name.scheme)
        } catch {
            // For a proxy, libcurl describes the failure in more detail, since another proxy may be tried then.
            return name.isProxy ? .any : .refused(error)
        }
    }

    /// The addresses of a name, at least one.
    private func addresses(
        of key: HostAddresses.Key, on loop: isolated TransferLoop
    ) async throws(LoadError) -> [IPAddress] {
        if let known = loop.hostAddresses.known(key) { return known }
        let start = MonotonicTime.now
        defer { lookUp = (start, .now) }
        let owner = HostAddresses.owner(of: configuration, in: session.identifier)
        let found = try await HostAddresses.lookUp(key, for: owner)
        guard !found.isEmpty else { throw LoadError(.cannotFindHost, "The host name did not resolve.") }
        loop.hostAddresses.keep(found, for: key)
        return found
    }
}

extension Partition {
    /// The addresses that may be dialled: all, or none when one is refused (SEC-10).
    @inline(never)
    fileprivate func vetted(
        _ addresses: [IPAddress], of host: String, port: UInt16, for scheme: String
    ) -> VettedAddresses {
        do throws(TargetRefusal) {
            return .only(
                try targetGuard.vetted(addresses, of: host, port: port, for: scheme), host: host, port: port)
        } catch {
            return .refused(LoadError(refused: key.terms.proxy == nil ? error : .proxy(error)))
        }
    }
}

/// The verdict on a URL, as a load without a proxy comes to it.
package struct TargetVerdict: Sendable {
    /// Nil when the target is allowed.
    package var refusal: TargetRefusal?
    /// Those of its name; nil for a literal, and for a URL that is refused before anything is looked up.
    package var addresses: [IPAddress]?

    /// Whether its name has an address; nil when it was not looked up.
    package var resolves: Bool? { addresses.map { !$0.isEmpty } }
}

extension TargetGuard {
    /// Judges a URL, and then the addresses of its host.
    ///
    /// - Parameter resolve: The addresses of a name; it is not asked for a literal, nor when the URL is refused.
    package func verdict(
        on url: URLRecord, resolve: (_ host: String) async -> [IPAddress]
    ) async -> TargetVerdict {
        var verdict = TargetVerdict()
        do throws(TargetRefusal) {
            try judge(url)
            guard let host = url.host, let port = url.effectivePort, IPAddress(host: host) == nil else {
                return verdict
            }
            let addresses = await resolve(host)
            verdict.addresses = addresses
            _ = try vetted(addresses, of: host, port: port, for: url.scheme)
        } catch {
            verdict.refusal = error
        }
        return verdict
    }

    /// The addresses that the system's resolver has for a name; none when it does not answer, or not in time.
    ///
    /// - Parameter owner: The caller, as in the configuration of its loads; no owner may take all of the threads.
    package static func lookUp(_ host: String, for owner: String) async -> [IPAddress] {
        let key = HostAddresses.Key(host: host, family: .any)
        return (try? await HostAddresses.lookUp(key, for: owner)) ?? []
    }
}
