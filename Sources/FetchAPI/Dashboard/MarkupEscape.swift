/// Escapes text for markup, scalar by scalar: a quote that is one character with a combining mark is a quote to a browser.
///
/// Everything an origin sent is shown through this.
enum MarkupEscape {
    static func escaped(_ text: String) -> String {
        // Nearly all texts are such, and hundreds are on a page.
        guard !text.utf8.allSatisfy(isItself) else { return text }
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(VisibleText.isSafe(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return escaped
    }

    /// Whether a byte is a character that stands for itself in markup.
    private static func isItself(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"), UInt8(ascii: "\""), UInt8(ascii: "'"): false
        case 0x20..<0x7F, 0x09, 0x0A: true
        default: false
        }
    }
}

/// Text of unknown origin, made fit to be looked at.
enum VisibleText {
    /// Whether a character shows as itself and leaves the order of its peers alone.
    static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: true
        case 0..<0x20, 0x7F..<0xA0: false
        // Marks that turn the direction of writing could make a text read as another.
        case 0x061C, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF: false
        default: true
        }
    }

    /// The longest text of an origin that a page shows whole, in characters.
    private static let maximumLength = 400

    /// The text, cut where it is longer than a page can show, with `…` at the cut.
    static func cut(_ text: String) -> String {
        // A character has a byte at least, so that most texts need not be counted.
        if text.utf8.count <= maximumLength { return text }
        let end = text.unicodeScalars.index(text.startIndex, offsetBy: maximumLength, limitedBy: text.endIndex)
        guard let end, end != text.endIndex else { return text }
        return text[..<end] + "…"
    }

    /// The start of a body as text, or nil when it is none.
    static func preview(of bytes: [UInt8], limit: Int) -> String? {
        let text = String(decoding: bytes.prefix(limit), as: UTF8.self)
        let unsafe = text.unicodeScalars.count { !isSafe($0) && $0 != "\r" || $0 == "\u{FFFD}" }
        // A character cut in two at the end is no sign of anything.
        guard unsafe <= 1 + text.unicodeScalars.count / 20 else { return nil }
        return text.replacing("\r\n", with: "\n")
    }
}
