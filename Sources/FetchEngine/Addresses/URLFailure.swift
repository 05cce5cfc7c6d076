extension URLRecord {
    /// Why a text is not a URL.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// A stable word for the rule, after the URL standard's name for the error.
        public let rule: String
        /// The rule in one sentence; it repeats nothing of the text.
        public let message: String

        /// The sentence.
        public var description: String { message }
    }
}

extension URLRecord.Failure {
    static let tooLong = Self(rule: "tooLong", message: "The URL is longer than 256 MiB.")
    static let missingScheme = Self(rule: "missingScheme", message: "The URL has no scheme and there is no base URL.")
    static let opaqueBase = Self(
        rule: "opaqueBase", message: "The base URL has an opaque path, so only a fragment can be resolved against it.")
    static let hostMissing = Self(rule: "hostMissing", message: "The URL has no host.")
    static let portInvalid = Self(rule: "portInvalid", message: "The port is not a number from 0 to 65535.")
    static let hostInvalidCharacter = Self(
        rule: "hostInvalidCharacter", message: "The host has a character that hosts may not have.")
    static let domainToASCII = Self(rule: "domainToASCII", message: "The host is not a valid internationalized name.")
    static let ipv4 = Self(rule: "ipv4", message: "The host ends in a number but is not an IPv4 address.")
    static let ipv6Unclosed = Self(rule: "ipv6Unclosed", message: "The IPv6 address lacks its closing bracket.")
    static let ipv6 = Self(rule: "ipv6", message: "The text in brackets is not an IPv6 address.")
}
