package import FetchEngine

/// The definition of a protocol by an operator.
///
/// The caller asks the guard whether its address may be reached, and the store whether its tenants exist.
package struct RegisteredProtocolSpec: Sendable {
    package let scheme: String
    package let host: HostPattern?
    package let url: URLRecord
    package let order: Int64
    /// The names of those whose loads it takes; nil for all.
    package let tenants: [String]?

    package static let orders: ClosedRange<Int64> = -1000...1000
    package static let maximumTenants = 1000

    /// Whether a text is a name for a protocol.
    package static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        return (1...64).contains(bytes.count) && bytes.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// Reads and checks the body of a request that registers a protocol.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["scheme", "host", "url", "order", "tenants"])
        let scheme = object?.required("scheme").flatMap { $0.scheme() }
        host = object?["host"].flatMap { $0.hostPattern() }
        let url = object?.required("url").flatMap { $0.webhookURL() }
        order = object?["order"]?.integer(in: Self.orders) ?? 0
        tenants = object?["tenants"].flatMap { $0.tenantNames() }
        if let object, scheme == "http" || scheme == "https" { Self.checkHTTP(object) }
        try check.finish()
        guard let scheme, let url else { throw InvalidInput(pointer: "", message: "is not a protocol") }
        (self.scheme, self.url) = (scheme, url)
    }

    /// Requires hosts and tenants for http and https, whose URLs the transport loads otherwise.
    private static func checkHTTP(_ object: JSONObjectReader) {
        let rule = "is required where the scheme is http or https"
        if object["host"] == nil { object.check.refuse("/host", rule) }
        if case .string("*") = object["host"]?.value {
            object.check.refuse("/host", "must not be all of http or https")
        }
        if object["tenants"] == nil { object.check.refuse("/tenants", rule) }
    }

    /// The protocol that is asked for.
    package func named(_ name: String, for tenants: [Tenant]?) -> RegisteredProtocol {
        RegisteredProtocol(name: name, scheme: scheme, host: host, url: url, order: order, tenants: tenants)
    }

    fileprivate static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension JSONReader {
    /// A scheme (RFC 3986 §3.1) that the service does not load itself, or http or https.
    fileprivate func scheme() -> String? {
        guard let text = string(maximumLength: 32) else { return nil }
        let bytes = text.utf8
        let isScheme = bytes.allSatisfy { byte in
            RegisteredProtocolSpec.isLetterOrDigit(byte)
                || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
        }
        guard let first = bytes.first, isScheme, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            RegisteredProtocolSpec.isLetterOrDigit(first)
        else {
            refuse("must be a scheme in lower case (RFC 3986 §3.1)")
            return nil
        }
        guard !OptionalSchemes.names.contains(text) else {
            refuse("must not be data, file, ftp or ftps, which the service loads itself")
            return nil
        }
        return text
    }

    fileprivate func hostPattern() -> HostPattern? {
        guard let text = string(maximumLength: 260) else { return nil }
        guard let pattern = HostPattern(text) else {
            refuse("must be a host, \"*.\" and a host, \"*\" or a block of addresses, with a port or without")
            return nil
        }
        return pattern
    }

    fileprivate func tenantNames() -> [String]? {
        guard let elements = array(maximum: RegisteredProtocolSpec.maximumTenants) else { return nil }
        if elements.isEmpty { refuse("must name at least one tenant") }
        return elements.compactMap { $0.string(maximumLength: 256) }
    }
}
