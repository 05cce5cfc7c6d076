/// Text in the encoding of the classic Mac OS.
enum MacRoman {
    /// Decodes bytes.
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        text.unicodeScalars.append(
            contentsOf: bytes.lazy.map { $0 < 0x80 ? Unicode.Scalar($0) : upper[Int($0) - 0x80] })
        return text
    }

    /// 0x80 to 0xFF (Apple's ROMAN.TXT, with the euro sign).
    private static let upper: [Unicode.Scalar] = Array(
        ("ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø"
            + "¿¡¬√ƒ≈∆«»…\u{A0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{F8FF}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ").unicodeScalars)
}

/// The checksum of MacBinary and BinHex: CRC-16 with the polynomial 0x1021, starting at zero.
struct CRC16: Equatable {
    private(set) var value: UInt16 = 0

    mutating func update(_ bytes: some Sequence<UInt8>) { for byte in bytes { update(byte) } }

    mutating func update(_ byte: UInt8) {
        value = value << 8 ^ Self.table[Int(UInt8(value >> 8) ^ byte)]
    }

    private static let table: [UInt16] = (0..<256).map { index in
        (0..<8).reduce(UInt16(index) << 8) { value, _ in value & 0x8000 != 0 ? value << 1 ^ 0x1021 : value << 1 }
    }
}

/// Reads the big-endian fields of a Macintosh header, whose bounds were checked.
struct BigEndianFields {
    let bytes: [UInt8]

    subscript(byte offset: Int) -> UInt8 { bytes[offset] }

    func word(_ offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }

    func long(_ offset: Int) -> UInt32 { UInt32(word(offset)) << 16 | UInt32(word(offset + 2)) }

    func text(_ offset: Int, _ count: Int) -> String { MacRoman.text(bytes[offset..<offset + count]) }

    /// A date in seconds since 1904 as one since 1970; nil for zero, which means none.
    func date(_ offset: Int) -> Int64? {
        let seconds = long(offset)
        return seconds == 0 ? nil : Int64(seconds) - 2_082_844_800
    }
}
