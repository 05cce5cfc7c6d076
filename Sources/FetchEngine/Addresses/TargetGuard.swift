/// Decides whether a target may be fetched.
///
/// A pure value: it opens no socket and resolves no name. It is asked three times for each hop: about the text, about
/// the parsed URL, and about every address a connection is really made to.
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
        guard policy.isRestricted else { return try Self.parse(text) }
        let strict = try TargetText(text)
        let record: URLRecord
        do throws(URLRecord.Failure) {
            record = try URLRecord(text)
        } catch {
            throw error == .ipv4 ? .nonCanonicalIP : TargetRefusal(.urlInvalid, error.message)
        }
        try strict.check(against: record)
        try judge(record)
        return record
    }

    /// Resolves a reference found in an answer, such as `Location`, and judges the result.
    public func target(_ reference: String, from base: URLRecord) throws(TargetRefusal) -> URLRecord {
        guard policy.isRestricted else {
            do throws(URLRecord.Failure) {
                return try base.resolve(reference)
            } catch {
                throw TargetRefusal(.urlInvalid, error.message)
            }
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
        guard policy.isRestricted else { return }
        guard url.isHTTP, let port = url.effectivePort else { throw .scheme }
        guard let host = url.host, !host.isEmpty else { throw .nameInvalid }
        if let address = IPAddress(host: host) {
            try judge(address, port: port)
            if policy.isAllowList, !isListed(address, port: port) { throw .notListed }
        } else {
            try judge(name: host)
            if ForbiddenPorts.contains(port) { throw .port }
        }
    }

    /// Judges an address that a connection is about to be made to, or was made to.
    public func judge(_ address: IPAddress, port: UInt16) throws(TargetRefusal) {
        guard policy.isRestricted else { return }
        if policy.endpoints.contains(TargetPolicy.Endpoint(address: address, port: port)) { return }
        if ForbiddenPorts.contains(port) { throw .port }
        for prefix in policy.nat64Prefixes {
            if let inner = prefix.translatedIPv4(address) { return try judge(inner, port: port) }
        }
        let kind = AddressKind(address)
        if kind == .publicUnicast, !policy.nodeAddresses.contains(address) { return }
        guard policy.opens(address, kind: kind) else { throw .address }
    }

    private func judge(name: String) throws(TargetRefusal) {
        if let fault = HostName.fault(in: name) { throw fault }
        if policy.names(name) { return }
        if HostName.isForbidden(name) { throw .nameForbidden }
        if !name.utf8.contains(UInt8(ascii: ".")) { throw .singleLabel }
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
    static let scheme = Self(.schemeForbidden, "Only http and https URLs can be fetched.")
    static let port = Self(.portForbidden, "The port belongs to another protocol.")
    static let address = Self(.addressForbidden, "The target's address is not a public one.")
    static let nonCanonicalIP = Self(.hostNonCanonicalIP, "An IPv4 address is written as four decimal octets.")
}
