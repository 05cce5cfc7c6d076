/// Which targets may be fetched: a value made from the operator's rules, judged by `TargetGuard`.
public struct TargetPolicy: Sendable, Hashable {
    /// Everything is allowed: for a program that fetches on behalf of the person who started it.
    public static let unrestricted = Self(isRestricted: false)
    /// Public http and https targets only, unless more is opened: for a service that fetches on behalf of others.
    public static let publicOnly = Self(isRestricted: true)

    /// An address and port opened by name.
    struct Endpoint: Sendable, Hashable {
        let address: IPAddress
        let port: UInt16
    }

    /// Whether anything is refused at all.
    public let isRestricted: Bool
    /// Opens this machine's own addresses: 127.0.0.0/8, 0.0.0.0/8, `::1` and `::`; off by default.
    public var opensLoopback = false
    /// Opens the addresses at which clouds tell a machine its credentials; off by default.
    public var opensMetadata = false
    /// Opens ftp and ftps URLs, each at the port that is its own too; off by default.
    public var opensFTP = false
    /// Opens proxies at public addresses; off by default, because a proxy that looks names up goes where nobody here judges
    /// the address.
    ///
    /// One that a rule names, or that is at an address which had to be opened, may be used at any time.
    public var opensProxies = false
    /// Refuses every host that no rule names, public ones too; off by default.
    public var isAllowList = false
    /// Networks that translate to IPv4 (RFC 6052): their addresses are judged by the IPv4 address inside.
    public private(set) var nat64Prefixes: [IPPrefix] = []
    /// The lists of an operator: each refuses what it denies, whatever else opens it.
    package var rules: [TargetRules] = []
    /// Further addresses that are the machine's own, such as one that its network translates to it.
    ///
    /// Those of its interfaces are known, and refused although they may be public, unless a rule has just that address.
    public var nodeAddresses: Set<IPAddress> = []

    private(set) var endpoints: Set<Endpoint> = []
    private(set) var prefixes: Set<IPPrefix> = []
    private(set) var names: Set<String> = []
    private(set) var parentNames: Set<Substring> = []

    private init(isRestricted: Bool) { self.isRestricted = isRestricted }

    /// Why a rule cannot be used.
    public struct RuleError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The rule as given.
        public let rule: String
        /// The fault, in one sentence.
        public let message: String

        /// The rule and the sentence.
        public var description: String { "\(rule): \(message)" }
    }

    /// Opens the targets that the rule names.
    ///
    /// - `127.0.0.1:8081`, `[::1]:80`: exactly this address and port; both may be any.
    /// - `10.0.0.0/8`, `fd00::/8`, `10.1.2.3`: these addresses on every port that is not forbidden. Never loopback,
    ///   metadata or IPv4-mapped addresses, even when the block has them.
    /// - `name.example`, `*.name.example`: this name, or all names below it. A name opens no address: one that
    ///   resolves to a private address needs a rule for that address too.
    ///
    /// Throws when the rule is none of these, or a block that would open nothing. The same rule twice is one rule.
    public mutating func allow(_ rule: String) throws(RuleError) {
        if let endpoint = Self.endpoint(rule) {
            endpoints.insert(endpoint)
        } else if let prefix = IPPrefix(rule) {
            if let message = Self.message(ofUseless: prefix) { throw RuleError(rule: rule, message: message) }
            prefixes.insert(prefix)
        } else if rule.hasPrefix("*.") {
            try parentNames.insert(Self.name(String(rule.dropFirst(2)), rule: rule)[...])
        } else {
            try names.insert(Self.name(rule, rule: rule))
        }
    }

    /// Adds a translation network; its length is one of those RFC 6052 §2.2 allows.
    public mutating func translate(nat64 prefix: String) throws(RuleError) {
        guard let parsed = IPPrefix(prefix), parsed.base.isIPv6, [32, 40, 48, 56, 64, 96].contains(parsed.length) else {
            throw RuleError(rule: prefix, message: "A NAT64 prefix is an IPv6 block of 32, 40, 48, 56, 64 or 96 bits.")
        }
        nat64Prefixes.append(parsed)
    }

    /// The fault of a block that has only addresses which no block opens.
    private static func message(ofUseless prefix: IPPrefix) -> String? {
        guard let kind = AddressKind(never: prefix) else { return nil }
        return switch kind {
        case .loopback: "No block opens this machine's own addresses: name one with its port, such as 127.0.0.1:8080."
        case .metadata: "No block opens a metadata service: name its address with the port, such as 169.254.169.254:80."
        case .embeddingIPv4: "No block opens the IPv6 forms of IPv4 addresses: name the IPv4 addresses."
        case .publicUnicast, .reserved: nil
        }
    }

    /// Checks that every name in the rules can lead to an address that they open.
    ///
    /// Throws for `localhost` without an address of this machine: a name opens no address.
    public func check() throws(RuleError) {
        let isLocal = { (name: String) in name == "localhost" || name.hasSuffix(".localhost") }
        guard let name = names.first(where: isLocal), !opensLoopback else { return }
        guard !endpoints.contains(where: { AddressKind($0.address) == .loopback }) else { return }
        throw RuleError(
            rule: name, message: "A name opens no address: name that of this machine too, such as 127.0.0.1:8080.")
    }

    private static func endpoint(_ rule: String) -> Endpoint? {
        guard let colon = rule.lastIndex(of: ":"), let port = UInt16(rule[rule.index(after: colon)...]),
            let address = IPAddress(host: String(rule[..<colon]))
        else { return nil }
        return Endpoint(address: address, port: port)
    }

    /// The name in the form that it has in URLs.
    private static func name(_ text: String, rule: String) throws(RuleError) -> String {
        let bytes = Array(text.utf8)
        guard let host = try? HostParser.parse(bytes[...], isSpecial: true) else {
            throw RuleError(rule: rule, message: "It is neither address:port, nor a block of addresses, nor a name.")
        }
        let name = String(decoding: host, as: UTF8.self)
        guard IPAddress(host: name) == nil, HostName.fault(in: name) == nil else {
            throw RuleError(rule: rule, message: "It is not a host name that a URL could have.")
        }
        return name
    }
}

extension TargetPolicy {
    /// Whether it refuses nothing.
    var isOpen: Bool { !isRestricted && rules.isEmpty }

    /// An address, and those that it stands for: a network translates it, or a tunnel takes it there.
    func forms(of address: IPAddress) -> [IPAddress] {
        guard address.isIPv6 else { return [address] }
        return [address] + nat64Prefixes.compactMap { $0.translatedIPv4(address) }
            + [AddressKind.isatapAddress(address)].compactMap { $0 }
    }

    /// The schemes of URLs that may be fetched where anything is refused.
    var schemes: Set<String> { opensFTP ? Self.withFTP : Self.withoutFTP }

    private static let withFTP: Set = ["http", "https", "ftp", "ftps"]
    private static let withoutFTP: Set = ["http", "https"]

    /// Whether a rule names this host.
    func names(_ host: String) -> Bool {
        if names.contains(host) { return true }
        guard !parentNames.isEmpty else { return false }
        return HostName.parents(of: host).contains(where: parentNames.contains)
    }

    /// Whether an address is the machine's own.
    func isOfNode(_ address: IPAddress) -> Bool {
        nodeAddresses.contains(address)
            || InterfaceAddresses.current.contains(address)
    }

    /// Whether a rule names just this address.
    func names(_ address: IPAddress) -> Bool { prefixes.contains(IPPrefix(base: address, length: address.bitWidth)) }

    /// Whether a proxy may be used that may be reached: the operator allows all of them, or this one.
    func allowsProxy(at host: String, port: UInt16) -> Bool {
        guard isRestricted, !opensProxies else { return true }
        guard let address = IPAddress(host: host) else { return names(host) }
        if endpoints.contains(Endpoint(address: address, port: port)) { return true }
        // One that is not public was opened by somebody, else it could not be reached.
        return forms(of: address).allSatisfy { form in
            AddressKind(form) != .publicUnicast || prefixes.contains { $0.contains(form) }
        }
    }

    /// Whether a rule names this address, wherever a rule of that kind may open it.
    func opens(_ address: IPAddress, kind: AddressKind) -> Bool {
        switch kind {
        case .loopback: opensLoopback
        case .metadata: opensMetadata
        case .embeddingIPv4: false
        case .publicUnicast, .reserved: prefixes.contains { $0.contains(address) }
        }
    }
}
