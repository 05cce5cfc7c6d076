/// A `Content-Disposition` field, read leniently (RFC 6266, RFC 8187).
///
/// A valid field is read as the grammar prescribes. In an invalid one, the first parameter of a name counts, unquoted
/// values run to the semicolon, and a broken `filename*` is ignored.
struct ContentDisposition: Equatable {
    /// `attachment`, `inline` or another word, in lower case.
    let type: String
    /// The name the server proposes, as it wrote it.
    ///
    /// Not safe to open a file with: see ``Filename``.
    let filename: String?

    /// Reads a field value, whose bytes outside ASCII are UTF-8 if they can be, as with browsers and today's servers,
    /// and else ISO 8859-1.
    init(_ value: some Collection<UInt8>) {
        var scanner = ParameterScanner(Array(value))
        type = scanner.word(until: ";")
        var plain: String?
        var extended: String??
        while let parameter = scanner.next() {
            switch parameter.name {
            case "filename": plain = plain ?? (String(validating: parameter.bytes, as: UTF8.self) ?? parameter.text)
            // The first one counts even when it cannot be read.
            case "filename*": extended = extended ?? .some(Self.extendedValue(parameter))
            default: break
            }
        }
        filename = (extended ?? nil) ?? plain
    }

    /// The text of an `ext-value`, `charset'[language]'percent-encoded` (RFC 8187 §3.2.1).
    private static func extendedValue(_ parameter: ParameterScanner.Parameter) -> String? {
        guard !parameter.isQuoted else { return nil }
        let parts = parameter.bytes.split(
            separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = strictlyPercentDecoded(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8", "utf8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(latin1: bytes)
        default: return nil
        }
    }

    private static func strictlyPercentDecoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }
}

/// Takes a field value of the form `word; name=value; name="value"` apart.
struct ParameterScanner {
    struct Parameter {
        /// In lower case.
        let name: String
        /// Without quotes and escapes.
        let bytes: [UInt8]
        let isQuoted: Bool

        /// The value, read as ISO 8859-1.
        var text: String { String(latin1: bytes) }
    }

    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The text up to a mark, or to the end, in lower case and without white space around it.
    mutating func word(until mark: Unicode.Scalar) -> String {
        String(latin1: take { $0 != UInt8(ascii: mark) }.trimmed).lowercased()
    }

    /// The next parameter that has a value; nil at the end.
    mutating func next() -> Parameter? {
        while index < bytes.count {
            index += 1
            let name = take { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }.trimmed
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { continue }
            index += 1
            skipSpace()
            let isQuoted = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
            guard let value = isQuoted ? quotedValue() : plainValue() else { continue }
            return Parameter(name: String(latin1: name).lowercased(), bytes: value, isQuoted: isQuoted)
        }
        return nil
    }

    private mutating func plainValue() -> [UInt8]? { Array(take { $0 != UInt8(ascii: ";") }.trimmed) }

    /// A quoted string, or nil when it is not closed; the text between it and the semicolon is dropped.
    private mutating func quotedValue() -> [UInt8]? {
        index += 1
        var value: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") {
                _ = take { $0 != UInt8(ascii: ";") }
                return value
            }
            guard byte == UInt8(ascii: "\\") else {
                value.append(byte)
                continue
            }
            guard index < bytes.count else { return nil }
            value.append(bytes[index])
            index += 1
        }
        return nil
    }

    private mutating func skipSpace() { _ = take { $0 == 0x20 || $0 == 0x09 } }

    private mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while index < bytes.count, isWanted(bytes[index]) { index += 1 }
        return bytes[start..<index]
    }

}

extension String {
    /// Text whose bytes are ISO 8859-1.
    init(latin1 bytes: some Sequence<UInt8>) {
        self.init(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
    }
}
