/// Why a target may not be fetched.
///
/// The message never holds the address of a name, so the client of the load may see it.
public struct TargetRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable word for the rule; new ones may come with new versions.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The word, in lower camel case.
        public let name: String

        /// Makes a code from its word.
        public init(_ name: String) { self.name = name }

        /// The word.
        public var description: String { name }
    }

    /// The rule that refused.
    public let code: Code
    /// The rule in one sentence.
    public let message: String

    /// The operator's name for the rule, where it has one.
    package var rule: String?
    /// The rule that refuses a proxy; nil when ``code`` is the rule.
    var cause: Code?

    /// The code of the rule, that of a proxy too.
    package var ruleCode: Code { cause ?? code }

    /// Makes a refusal.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The sentence.
    public var description: String { message }
}

extension TargetRefusal.Code {
    /// The text is not a URL, or one that parsers read differently.
    public static let urlInvalid = Self("urlInvalid")
    /// The text is longer than 16 KiB.
    public static let urlTooLong = Self("urlTooLong")
    /// The scheme is not http or https.
    public static let schemeForbidden = Self("schemeForbidden")
    /// The port belongs to another protocol.
    public static let portForbidden = Self("portForbidden")
    /// The name is one of those that mean a private network.
    public static let hostForbidden = Self("hostForbidden")
    /// The name has no dot.
    public static let hostSingleLabel = Self("hostSingleLabel")
    /// The host is percent-encoded.
    public static let hostPercentEncoded = Self("hostPercentEncoded")
    /// The name ends in a dot.
    public static let hostTrailingDot = Self("hostTrailingDot")
    /// The host is an IPv4 address in a form other than four decimal octets.
    public static let hostNonCanonicalIP = Self("hostNonCanonicalIP")
    /// The IPv6 address has a zone.
    public static let hostZoneID = Self("hostZoneID")
    /// The address is not a public one.
    public static let addressForbidden = Self("addressForbidden")
}
