/// A set of ASCII characters, one bit each.
struct ASCIISet {
    private let members: UInt128

    private init(_ base: UInt128, adding characters: StaticString) {
        var members = base
        characters.withUTF8Buffer { bytes in
            for byte in bytes { members |= 1 << UInt128(byte) }
        }
        self.members = members
    }

    private init(_ members: UInt128) { self.members = members }

    func contains(_ byte: UInt8) -> Bool {
        byte < 0x80 && members & (1 << UInt128(byte)) != 0
    }

    /// This set and the ASCII characters of a text.
    func union(_ characters: String) -> Self {
        Self(characters.utf8.reduce(members) { $1 < 0x80 ? $0 | 1 << UInt128($1) : $0 })
    }

    /// All of ASCII but these characters, letters and digits.
    private static func allBut(lettersDigitsAnd characters: StaticString) -> Self {
        let others = (0..<0x80 as Range<UInt8>).filter { !$0.isASCIILetter && !$0.isASCIIDigit }
        let members: UInt128 = others.reduce(0) { $0 | 1 << UInt128($1) }
        return Self(members & ~Self(0, adding: characters).members)
    }
}

/// The percent-encode sets (https://url.spec.whatwg.org/#percent-encoded-bytes); all of them have every byte above
/// ASCII as well.
extension ASCIISet {
    /// U+0000 to U+001F and U+007F.
    private static let controls: UInt128 = (1 << 32 - 1) | 1 << 127

    static let control = Self(controls, adding: "")
    static let fragment = Self(controls, adding: " \"<>`")
    static let query = Self(controls, adding: " \"#<>")
    static let specialQuery = Self(query.members, adding: "'")
    static let path = Self(query.members, adding: "?^`{}")
    /// All but `attr-char` (RFC 8187 §3.2.1).
    static let extendedValue = Self(controls, adding: " \"%'()*,/:;<=>?@[\\]{}")
    static let userinfo = Self(path.members, adding: "/:;=@[\\]|")
    /// The standard's application/x-www-form-urlencoded set, and the space, which is a plus sign there.
    static let form = allBut(lettersDigitsAnd: "*-._")
}

extension ASCIISet {
    static let none = Self(0)
    /// The characters that every part of a URL has to escape (RFC 3986 §2), and the percent sign.
    static let neverInURLs = Self(controls, adding: " %\"<>\\^`{|}")
    /// All but the unreserved characters (RFC 3986 §2.3).
    static let component = allBut(lettersDigitsAnd: "-._~")
}

extension ASCIISet {
    /// Characters that no host may contain, not even the opaque one of an unknown scheme.
    static let forbiddenInHosts = Self(0, adding: "\0\t\n\r #/:<>?@[\\]^|")
    /// Characters that no domain name may contain after its percent-decoding.
    static let forbiddenInDomains = Self(controls | forbiddenInHosts.members, adding: "%")
}

extension UInt8 {
    var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isASCIILetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }
    package var asciiLowercased: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }
}
