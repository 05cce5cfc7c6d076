/// Text of events, some of which clients and origins wrote, made safe for one line of a log.
enum LogText {
    /// The text as the inside of a JSON string: without a control character, without one that changes the direction of
    /// text, and without a line break of any kind, so that nobody can forge a line.
    ///
    /// - Parameter maximum: How many bytes of UTF-8 it gets at most, but for the mark `…` of what was cut off.
    static func escaped(_ text: String, upTo maximum: Int) -> String {
        var escaped = ""
        var count = 0
        for scalar in text.unicodeScalars {
            let piece = escape(scalar)
            count += piece?.utf8.count ?? UTF8.width(scalar)
            guard count <= maximum else { return escaped + "…" }
            if let piece { escaped += piece } else { escaped.unicodeScalars.append(scalar) }
        }
        return escaped
    }

    /// How a character is written; nil for as it is.
    private static func escape(_ scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "\"": return "\\\""
        case "\\": return "\\\\"
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        case " "..."~": return nil
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            return String(scalar).utf16.map { "\\u" + hexadecimal($0) }.joined()
        default: return nil
        }
    }

    private static func hexadecimal(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// The text with all URLs in it cut down to scheme, host and path, which is all that a log may show of one.
    ///
    /// Events name URLs in that form already; this is for texts from elsewhere, such as those of errors.
    static func withoutSecretsOfURLs(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(UInt8(ascii: ":")) else { return text }
        var kept: [UInt8] = []
        var position = 0
        while position < bytes.count {
            guard bytes[position...].starts(with: "://".utf8) else {
                kept.append(bytes[position])
                position += 1
                continue
            }
            let host = position + 3
            let end = bytes[host...].firstIndex { isEnd($0) } ?? bytes.count
            let pathStart = bytes[host..<end].firstIndex { "/?#".utf8.contains($0) } ?? end
            let pathEnd = bytes[pathStart..<end].firstIndex { "?#".utf8.contains($0) } ?? end
            let credentials = bytes[host..<pathStart].lastIndex(of: UInt8(ascii: "@"))
            kept += "://".utf8 + bytes[(credentials.map { $0 + 1 } ?? host)..<pathEnd]
            position = end
        }
        return String(decoding: kept, as: UTF8.self)
    }

    /// Whether a byte stands after a URL in a text.
    private static func isEnd(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"'<>\\".utf8.contains(byte) }
}
