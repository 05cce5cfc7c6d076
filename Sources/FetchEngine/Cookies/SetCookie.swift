/// One `Set-Cookie` line, read and not yet judged (RFC 6265bis §5.6).
///
/// Of an attribute that is repeated the last counts; unknown attributes are ignored. The bytes need not be UTF-8.
struct SetCookie {
    let name: ArraySlice<UInt8>
    let value: ArraySlice<UInt8>
    /// `Max-Age` in seconds, as large as can be counted.
    private(set) var maxAge: Int64?
    private(set) var expires: UnixTime?
    /// The `Domain` in lower case without its leading dot; empty when the attribute is.
    private(set) var domain: [UInt8] = []
    /// The `Path`, or `nil` for the default one.
    private(set) var path: ArraySlice<UInt8>?
    private(set) var sameSite: Cookie.SameSite?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var isPartitioned = false

    /// The most bytes of a name and a value together.
    static let maximumLength = 4096
    /// Attributes with longer values are ignored.
    static let maximumAttributeLength = 1024

    /// Reads a field's value.
    init(_ line: [UInt8]) throws(CookieRejection) {
        guard !line.contains(where: Self.isControl) else { throw .controlCharacter }
        let parts = line.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        (name, value) = Self.nameAndValue(of: parts.first ?? [])
        guard name.count + value.count <= Self.maximumLength else { throw .tooLong }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        for attribute in parts.dropFirst() { readAttribute(attribute) }
    }

    /// The name of a line as far as it can be read, for reports.
    static func name(in line: [UInt8]) -> String {
        let pair = line.prefix { $0 != UInt8(ascii: ";") }
        let clean = nameAndValue(of: pair).name.filter { !isControl($0) }
        return String(decoding: clean.prefix(256), as: UTF8.self)
    }

    /// Every control character but the tab.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// A pair without an equals sign is a value without a name.
    private static func nameAndValue(
        of pair: ArraySlice<UInt8>
    ) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return ([], pair.trimmed) }
        return (pair[..<equals].trimmed, pair[(equals + 1)...].trimmed)
    }

    // MARK: Attributes

    private mutating func readAttribute(_ text: ArraySlice<UInt8>) {
        let equals = text.firstIndex(of: UInt8(ascii: "="))
        let name = text[..<(equals ?? text.endIndex)].trimmed
        let value = equals.map { text[($0 + 1)...].trimmed } ?? []
        guard name.count <= 16, value.count <= Self.maximumAttributeLength else { return }
        switch String(decoding: name.map(\.asciiLowercased), as: UTF8.self) {
        case "expires": if let time = CookieDate.parse(value) { expires = time }
        case "max-age": if let seconds = Self.seconds(value) { maxAge = seconds }
        case "domain": domain = value.drop(atMostOne: UInt8(ascii: ".")).map(\.asciiLowercased)
        case "path": path = value.first == UInt8(ascii: "/") ? value : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite":
            sameSite = Cookie.SameSite(rawValue: String(decoding: value.map(\.asciiLowercased), as: UTF8.self))
        case "partitioned": isPartitioned = true
        default: break
        }
    }

    /// A number with an optional minus sign; one too large to count is the largest.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        guard !isNegative else { return 0 }
        return digits.reduce(0) { number, digit in
            let (product, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsNow) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            return overflows || overflowsNow ? .max : sum
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func drop(atMostOne byte: UInt8) -> ArraySlice<UInt8> { first == byte ? dropFirst() : self }
}
