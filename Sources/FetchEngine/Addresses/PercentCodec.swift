/// Percent-encoding of text that becomes part of a URL (RFC 3986 §2), and its reversal.
///
/// There is no function for a whole URL: one that took `a=1&b=2` could not know whether the `&` separates two fields
/// or belongs to a value. Encode each part, then put the parts together; take a URL apart, then decode each part.
public enum PercentCodec {
    /// The text with every byte of its UTF-8 as `%XX` that could not stand in a URL.
    ///
    /// Always escaped are the bytes 0x80 to 0xFF, controls, the space, the percent sign, and the characters that
    /// RFC 3986 allows nowhere: `"`, `<`, `>`, `\`, `^`, `{`, `|`, `}` and the grave accent.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - characters: ASCII characters to escape as well; others are escaped in any case.
    public static func encode(_ text: String, escaping characters: String = "") -> String {
        encode(bytes: text.utf8, escaping: characters)
    }

    /// The bytes of a text in some other encoding, escaped as ``encode(_:escaping:)`` does.
    public static func encode(bytes: some Sequence<UInt8>, escaping characters: String = "") -> String {
        escaped(bytes, ASCIISet.neverInURLs.union(characters))
    }

    /// The text as one component: everything is escaped but letters, digits, `-`, `.`, `_` and `~`.
    ///
    /// A value treated so keeps its meaning wherever it stands: it cannot start a new field, parameter or segment.
    public static func component(_ text: String) -> String { escaped(text.utf8, .component) }

    /// The text with its escapes replaced by the characters they stand for.
    ///
    /// - Parameters:
    ///   - text: One part of a URL.
    ///   - characters: ASCII characters whose escapes stay as they are written; none by default.
    /// - Throws: A failure of the rule `percentEscape` when a percent sign is not followed by two hexadecimal digits,
    ///   and of `notUTF8` when the decoded bytes are not UTF-8. Nothing is ever replaced silently.
    public static func decode(_ text: String, keeping characters: String = "") throws(URLRecord.Failure) -> String {
        let decoded = try decodedBytes(text, keeping: characters)
        guard let result = String(validating: decoded, as: UTF8.self) else { throw .notUTF8 }
        return result
    }

    /// The bytes that a text with escapes stands for, for encodings other than UTF-8.
    ///
    /// - Throws: A failure of the rule `percentEscape`.
    public static func decodedBytes(
        _ text: String, keeping characters: String = ""
    ) throws(URLRecord.Failure) -> [UInt8] {
        let kept = ASCIISet.none.union(characters)
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "%") else {
                result.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < bytes.count, let high = bytes[index + 1].hexValue, let low = bytes[index + 2].hexValue
            else { throw .percentEscape }
            let byte = high << 4 | low
            if kept.contains(byte) { result += bytes[index...(index + 2)] } else { result.append(byte) }
            index += 3
        }
        return result
    }

    /// Fields as `application/x-www-form-urlencoded` (https://url.spec.whatwg.org/#urlencoded-serializing): joined by
    /// `&`, without a leading one, a space as `+`.
    ///
    /// A field without a value is written as one with an empty value; the format knows no other way.
    public static func form(_ fields: [QueryItem]) -> String {
        fields.map { formEscaped($0.name) + "=" + formEscaped($0.value ?? "") }.joined(separator: "&")
    }

    private static func formEscaped(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte == 0x20 { output.append(UInt8(ascii: "+")) } else { output.append(byte, encoding: .form) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func escaped(_ bytes: some Sequence<UInt8>, _ set: ASCIISet) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes { output.append(byte, encoding: set) }
        return String(decoding: output, as: UTF8.self)
    }
}

extension URLRecord.Failure {
    static let percentEscape = Self(
        rule: "percentEscape", message: "A percent sign is not followed by two hexadecimal digits.")
    static let notUTF8 = Self(rule: "notUTF8", message: "The decoded text is not UTF-8.")
}
