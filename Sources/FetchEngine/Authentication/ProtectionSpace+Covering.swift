extension ProtectionSpace {
    /// The party that asks: a server, or the proxy before it.
    package struct Party: Sendable, Hashable {
        package let host: String
        package let port: UInt16
        package let scheme: String
        package let isProxy: Bool

        init(host: String, port: UInt16, scheme: String, isProxy: Bool = false) {
            self.host = host
            self.port = port
            self.scheme = scheme
            self.isProxy = isProxy
        }

        /// The one whose space it is.
        package init(_ space: ProtectionSpace) {
            self.init(host: space.host, port: space.port, scheme: space.scheme, isProxy: space.isProxy)
        }

        /// The server of a URL.
        package init(server url: URLRecord) {
            self.init(host: url.host ?? "", port: url.effectivePort ?? 0, scheme: url.scheme)
        }
    }

    /// Whether a credential that is stored for this space may be sent in another one.
    ///
    /// It is the same server or proxy that asks, and for the same realm where this space has one. Basic sends the
    /// password itself, so a credential of a method that does not is never sent that way.
    package func covers(_ other: ProtectionSpace) -> Bool {
        Party(self) == Party(other) && (realm == nil || realm == other.realm)
            && (other.method != .httpBasic || method == .httpBasic)
    }
}

extension ProtectionSpace.Party: CustomStringConvertible {
    package var description: String { "\(isProxy ? "the proxy " : "")\(scheme)://\(host):\(port)" }
}
