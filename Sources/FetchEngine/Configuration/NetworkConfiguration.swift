/// Which way out the connections of a session take, and how names become addresses.
public struct NetworkConfiguration: Sendable, Hashable {
    /// The kinds of addresses that may be connected to.
    public enum AddressFamily: String, Sendable, Hashable, Codable, CaseIterable {
        /// IPv6 and IPv4, whichever answers first.
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// Where connections leave this machine.
    public enum Egress: Sendable, Hashable {
        /// Wherever the routing table says.
        case automatic
        /// By the network interface of this name; this may need a privilege of the process.
        case interface(String)
        /// From this address, which must be one of this machine.
        case address(IPAddress)
    }

    /// Addresses that a host is known to have, so that its name is not looked up.
    public struct PinnedAddresses: Sendable, Hashable {
        /// The host, in the form of URL records.
        public var host: String
        /// The port.
        public var port: UInt16
        /// The addresses, all of which may be tried.
        public var addresses: [IPAddress]

        /// Pins the addresses of a host.
        public init(host: String, port: UInt16, addresses: [IPAddress]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// The kinds of addresses that may be connected to; any.
    public var addressFamily = AddressFamily.any
    /// Where connections leave this machine; automatic.
    public var egress = Egress.automatic
    /// The hosts whose addresses are known; none.
    ///
    /// The target policy judges these addresses like all others.
    public var pinnedAddresses: [PinnedAddresses] = []
    /// How long IPv6 gets to connect before IPv4 is tried beside it (RFC 8305); 200 ms.
    public var happyEyeballsDelay: Duration = .milliseconds(200)

    /// Makes the defaults.
    public init() {}
}
