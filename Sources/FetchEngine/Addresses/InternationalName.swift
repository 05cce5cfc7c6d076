import CIDN2

/// Internationalized domain names (UTS 46, non-transitional), by libidn2.
enum InternationalName {
    /// No name that DNS could hold is longer, in any script; to normalize takes more than linear time.
    static let maximumBytes = 2048

    /// The name in lower-case ASCII, or `nil` when it is not a valid name.
    ///
    /// libidn2 keeps to IDNA 2008, so symbols and emoji are refused. Its STD 3 option removes underscores instead of
    /// refusing them and is therefore never used.
    static func ascii(_ name: [UInt8]) -> [UInt8]? {
        let text = String(decoding: name, as: UTF8.self)
        guard !text.unicodeScalars.contains("\u{FFFD}"), !name.contains(0) else { return nil }
        var result: UnsafeMutablePointer<CChar>?
        let flags = CInt(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        guard idn2_to_ascii_8z(text, &result, flags) == CInt(IDN2_OK.rawValue), let result else { return nil }
        defer { idn2_free(result) }
        return String(cString: result).utf8.map(\.asciiLowercased)
    }

    /// Whether a lower-case name has a label that claims to be punycode.
    static func hasPunycodeLabel(_ name: [UInt8]) -> Bool {
        var labelStart = 0
        for index in name.indices {
            if name[index] == UInt8(ascii: ".") { labelStart = index + 1 }
            if index == labelStart + 3, name[labelStart...index].elementsEqual("xn--".utf8) { return true }
        }
        return false
    }
}
