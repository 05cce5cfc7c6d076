// The characters of HTTP's grammar (RFC 9110 §5.6).

extension UInt8 {
    /// Whether it may be in a `token` (RFC 9110 §5.6.2).
    var isToken: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"):
            true
        case UInt8(ascii: "/"): false
        default: isToken68
        }
    }
}

extension UInt8 {
    /// Whether it may be in a `token68` (RFC 9110 §11.2), the padding at its end aside.
    var isToken68: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"),
            UInt8(ascii: "/"):
            true
        default: isASCIILetter || isASCIIDigit
        }
    }
}

extension UInt8 {
    /// Whether it may be in the value of a field: no control character but TAB (RFC 9110 §5.5).
    var isAllowedInFieldValue: Bool { self >= 0x20 && self != 0x7F || self == 0x09 }
}

extension ArraySlice<UInt8> {
    /// The bytes without the spaces and tabs around them.
    var trimmed: ArraySlice<UInt8> {
        let start = drop { $0 == 0x20 || $0 == 0x09 }
        let end = start.lastIndex { $0 != 0x20 && $0 != 0x09 }
        return end.map { start[...$0] } ?? []
    }
}

extension Substring {
    /// Without the spaces and tabs around it.
    package var trimmed: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }
}
