/// Decides whether a target may be fetched.
///
/// A pure value: it opens no socket and resolves no name. It is asked three times for each hop: about the text, about
/// the parsed URL, and about every address a connection is really made to.
///
/// ```swift
/// let targets = TargetGuard(policy: .publicOnly)
/// do {
///     let url = try targets.target("http://169.254.169.254/latest/meta-data")
///     print(url)
/// } catch {
///     print(error)  // The address is not public.
/// }
/// ```
public struct TargetGuard: Sendable {
    /// The rules it judges by.
    public let policy: TargetPolicy

    /// Makes a guard for a policy.
    public init(policy: TargetPolicy) { self.policy = policy }

    /// Parses a target and judges it; the only way in for text from others.
    ///
    /// Under a restricting policy the text must be one that all parsers read alike: no white space, no backslashes,
    /// `//` after the scheme, a host and an IPv4 address in their one plain spelling.
    public func target(_ text: String) throws(TargetRefusal) -> URLRecord {
        guard policy.isRestricted else {
            let record = try Self.parse(text)
            try judge(record)
            return record
        }
        let record = try Self.strictTarget(text, schemes: policy.schemes)
        try judge(record)
        return record
    }

    /// Parses a target in the strict form, without judging its address.
    ///
    /// For callers that take URLs to be loaded later, when the rules may be others.
    package static func strictTarget(_ text: String, schemes: Set<String>) throws(TargetRefusal) -> URLRecord {
        let strict = try TargetText(text, schemes: schemes)
        let record: URLRecord
        do throws(URLRecord.Failure) {
            record = try URLRecord(text)
        } catch {
            throw error == .ipv4 ? .nonCanonicalIP : TargetRefusal(.urlInvalid, error.message)
        }
        try strict.check(against: record)
        if let host = record.host, IPAddress(host: host) == nil, let fault = HostName.fault(in: host) { throw fault }
        return record
    }

    /// Resolves a reference found in an answer, such as `Location`, and judges the result.
    public func target(_ reference: String, from base: URLRecord) throws(TargetRefusal) -> URLRecord {
        guard policy.isRestricted else {
            let record: URLRecord
            do throws(URLRecord.Failure) {
                record = try base.resolve(reference)
            } catch {
                throw TargetRefusal(.urlInvalid, error.message)
            }
            try judge(record)
            return record
        }
        if reference.hasPrefix("//") { return try target(base.scheme + ":" + reference) }
        try TargetText.checkCharacters(reference)
        guard !TargetText.hasScheme(reference) else { return try target(reference) }
        let record: URLRecord
        do throws(URLRecord.Failure) {
            record = try base.resolve(reference)
        } catch {
            throw TargetRefusal(.urlInvalid, error.message)
        }
        try judge(record)
        return record
    }

    /// Judges a parsed URL: its scheme, its port, and its host as a name or as an address.
    public func judge(_ url: URLRecord) throws(TargetRefusal) {
        if !policy.rules.isEmpty { try judgeByLists(url) }
        guard policy.isRestricted else { return }
        guard url.isHTTP || policy.opensFTP && url.isFTP, let port = url.effectivePort else { throw .scheme }
        guard let host = url.host, !host.isEmpty else { throw .nameInvalid }
        if let address = IPAddress(host: host) {
            do throws(TargetRefusal) { try judge(address, port: port, for: url.scheme) } catch {
                throw error.naming(address, port: port)
            }
            if policy.isAllowList, !isListed(address, port: port) { throw .notListed }
        } else {
            try judge(name: host)
            if isForbidden(port, for: url.scheme) { throw .port }
        }
    }

    /// Judges an address that a connection is about to be made to, or was made to.
    ///
    /// - Parameters:
    ///   - address: The address of the connection.
    ///   - port: The port there.
    ///   - scheme: The scheme of the URL that is loaded.
    public func judge(_ address: IPAddress, port: UInt16, for scheme: String = "http") throws(TargetRefusal) {
        try judgeByLists(connectionTo: address, port: port, for: scheme)
        try judgeByKind(address, port: port, for: scheme)
    }

    private func judgeByKind(_ address: IPAddress, port: UInt16, for scheme: String) throws(TargetRefusal) {
        guard policy.isRestricted else { return }
        if policy.endpoints.contains(TargetPolicy.Endpoint(address: address, port: port)) { return }
        if isForbidden(port, for: scheme) { throw .port }
        for prefix in policy.nat64Prefixes {
            if let inner = prefix.translatedIPv4(address) { return try judgeByKind(inner, port: port, for: scheme) }
        }
        let kind = AddressKind(address)
        // Loopback has a switch of its own.
        if kind != .loopback, policy.isOfNode(address) {
            guard policy.names(address) else { throw .nodeAddress }
            return
        }
        guard kind == .publicUnicast || policy.opens(address, kind: kind) else { throw .address }
    }

    /// The addresses of a host that may be dialled: all of them, or none when one is refused (SEC-10).
    ///
    /// The names of this machine alone lead to several addresses that everybody knows, of which a rule may open one.
    ///
    /// - Throws: The last refusal.
    func vetted(
        _ addresses: [IPAddress], of host: String, port: UInt16, for scheme: String
    ) throws(TargetRefusal) -> [IPAddress] {
        let isLocal = host == "localhost" || host.hasSuffix(".localhost")
        var (allowed, refusal) = ([IPAddress](), TargetRefusal?.none)
        for address in addresses {
            do throws(TargetRefusal) {
                try judge(address, port: port, for: scheme)
                allowed.append(address)
            } catch {
                refusal = error
            }
        }
        guard let refusal, !isLocal || allowed.isEmpty else { return allowed }
        throw refusal
    }

    /// Judges a connection that FTP makes for data, which goes where its control connection does.
    ///
    /// The server names the port; an address and port opened by name would be of no use to FTP without it.
    func judge(
        dataConnectionTo address: IPAddress, port: UInt16, of control: UInt16, for scheme: String = "ftp"
    ) throws(TargetRefusal) {
        for port in [control, port] { try judgeByLists(connectionTo: address, port: port, for: scheme) }
        let isOpened = policy.endpoints.contains(TargetPolicy.Endpoint(address: address, port: control))
        guard !isOpened || port < 1024 || ForbiddenPorts.contains(port) else { return }
        try judgeByKind(address, port: port, for: "http")
    }

    /// Judges a URL by the lists of the operator, which come before what opens anything.
    private func judgeByLists(_ url: URLRecord) throws(TargetRefusal) {
        guard let host = url.host, !host.isEmpty, let port = url.effectivePort else { return }
        let scheme = url.scheme
        let forms = IPAddress(host: host).map { policy.forms(of: $0) }
        for rules in policy.rules {
            if let forms {
                try rules.judge(literal: forms, port: port, scheme: scheme)
            } else {
                try rules.judge(name: host, port: port, scheme: scheme)
            }
        }
    }

    private func judgeByLists(
        connectionTo address: IPAddress, port: UInt16, for scheme: String
    ) throws(TargetRefusal) {
        guard !policy.rules.isEmpty else { return }
        let forms = policy.forms(of: address)
        for rules in policy.rules { try rules.judge(connection: forms, port: port, scheme: scheme) }
    }

    private func isForbidden(_ port: UInt16, for scheme: String) -> Bool {
        switch (scheme, port) {
        case ("ftp", 21), ("ftps", 990): !policy.opensFTP
        default: ForbiddenPorts.contains(port)
        }
    }

    private func judge(name: String) throws(TargetRefusal) {
        if let fault = HostName.fault(in: name) { throw fault }
        if policy.names(name) { return }
        if HostName.isForbidden(name) { throw TargetRefusal.nameForbidden.naming(name) }
        if !name.utf8.contains(UInt8(ascii: ".")) { throw TargetRefusal.singleLabel.naming(name) }
        if policy.isAllowList { throw .notListed }
    }

    private func isListed(_ address: IPAddress, port: UInt16) -> Bool {
        policy.endpoints.contains(TargetPolicy.Endpoint(address: address, port: port))
            || policy.prefixes.contains { $0.contains(address) }
    }

    private static func parse(_ text: String) throws(TargetRefusal) -> URLRecord {
        do throws(URLRecord.Failure) {
            return try URLRecord(text)
        } catch {
            throw TargetRefusal(.urlInvalid, error.message)
        }
    }
}

extension TargetRefusal {
    static let scheme = Self(.schemeForbidden, "URLs of this scheme are not fetched here.")
    static let port = Self(.portForbidden, "The port belongs to another protocol.")
    static let address = Self(
        .addressForbidden,
        "The host is at an address that is not a public one; GUARD_ALLOW with that address and the port opens it.")
    static let nodeAddress = Self(
        .addressForbidden,
        "The host is at an address of this service's own; GUARD_ALLOW with that address and the port opens it.")
    static let nonCanonicalIP = Self(.hostNonCanonicalIP, "An IPv4 address is written as four decimal octets.")
}

extension TargetRefusal {
    /// The refusal of an address that stands in the URL, so that it may be told: with the rule that would open it.
    fileprivate func naming(_ address: IPAddress, port: UInt16) -> Self {
        let place = address.isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
        switch self {
        case .address: return Self(code, "\(place) is not a public address; GUARD_ALLOW=\(place) opens it.")
        case .nodeAddress: return Self(code, "\(place) is this service's own address; GUARD_ALLOW=\(place) opens it.")
        default: return self
        }
    }

    /// The refusal of a name, with the rule that would open it.
    fileprivate func naming(_ name: String) -> Self {
        Self(code, message + " GUARD_ALLOW=\(name), and a rule for its address and port, open \(name).")
    }
}
