/// A URL as written, in the strict form that all parsers read alike.
///
/// The checks come before parsing, because the URL standard repairs texts that other parsers read in another way.
struct TargetText {
    /// The host as written, brackets included.
    private let host: String

    private static let maximumLength = 16 * 1024

    /// - Parameter schemes: The schemes that it may have.
    init(_ text: String, schemes: Set<String>) throws(TargetRefusal) {
        try Self.checkCharacters(text)
        let bytes = Array(text.utf8)
        guard Self.hasScheme(text), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .noScheme }
        let scheme = String(decoding: bytes[..<colon].map(\.asciiLowercased), as: UTF8.self)
        guard schemes.contains(scheme) else { throw .scheme }
        let rest = bytes[(colon + 1)...]
        guard rest.starts(with: "//".utf8), rest.dropFirst(2).first != UInt8(ascii: "/") else { throw .slashes }
        host = try Self.host(in: rest.dropFirst(2).prefix { !Self.endsAuthority($0) })
    }

    /// Checks length, white space, controls and backslashes, which hold for references as well.
    static func checkCharacters(_ text: String) throws(TargetRefusal) {
        guard text.utf8.count <= maximumLength else { throw .tooLong }
        var isBeforeQuery = true
        for byte in text.utf8 {
            if byte <= 0x20 || byte == 0x7F { throw .whiteSpace }
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { isBeforeQuery = false }
            if isBeforeQuery, byte == UInt8(ascii: "\\") { throw .backslash }
        }
    }

    /// Whether the text starts as an absolute URL does.
    static func hasScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, first.isASCIILetter else { return false }
        let end = text.utf8.first { byte in
            !(byte.isASCIILetter || byte.isASCIIDigit || "+-.".utf8.contains(byte))
        }
        return end == UInt8(ascii: ":")
    }

    /// Checks that parsing changed nothing about the host that another parser would not change too.
    func check(against record: URLRecord) throws(TargetRefusal) {
        guard let parsed = record.host, !parsed.isEmpty else { throw .authority }
        guard IPAddress(host: parsed)?.isIPv4 != true || parsed == host else { throw .nonCanonicalIP }
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private static func host(in authority: ArraySlice<UInt8>) throws(TargetRefusal) -> String {
        let parts = authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count <= 2, let hostAndPort = parts.last else { throw .authority }
        if hostAndPort.first == UInt8(ascii: "[") {
            let end = hostAndPort.firstIndex(of: UInt8(ascii: "]")) ?? hostAndPort.endIndex
            guard !hostAndPort[..<end].contains(UInt8(ascii: "%")) else { throw .zoneID }
            return String(decoding: hostAndPort[..<end] + [UInt8(ascii: "]")], as: UTF8.self)
        }
        let host = hostAndPort.prefix { $0 != UInt8(ascii: ":") }
        guard !host.isEmpty else { throw .authority }
        guard !host.contains(UInt8(ascii: "%")) else { throw .percentEncoded }
        return String(decoding: host, as: UTF8.self)
    }
}

extension TargetRefusal {
    static let tooLong = Self(.urlTooLong, "The URL is longer than 16 KiB.")
    static let whiteSpace = Self(.urlInvalid, "The URL has a space or a control character.")
    static let backslash = Self(.urlInvalid, "The URL has a backslash before its query.")
    static let noScheme = Self(.urlInvalid, "The URL has no scheme.")
    static let slashes = Self(.urlInvalid, "Exactly two slashes follow the scheme.")
    static let authority = Self(.urlInvalid, "The URL has no host, or more than one @ before it.")
    static let zoneID = Self(.hostZoneID, "The IPv6 address has a zone.")
    static let percentEncoded = Self(.hostPercentEncoded, "The host is percent-encoded.")
}
