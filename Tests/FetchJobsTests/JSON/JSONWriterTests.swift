import FetchJobs
import Testing

@Suite struct JSONWriterTests {
    // Bytes are looked at eight at a time: each place of each length is one that may be missed.
    @Test(arguments: 0...20)
    func `each byte that needs an escape has one, wherever it is`(length: Int) {
        let plain = Array("abcdefghijklmnopqrst".utf8.prefix(length))
        expect(plain, escapedAt: [])
        for byte in (UInt8(0)..<0x20) + [UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F] {
            for first in plain.indices {
                for second in first..<length {
                    var bytes = plain
                    bytes[first] = byte
                    bytes[second] = byte
                    expect(bytes, escapedAt: [first, second])
                }
            }
        }
    }

    @Test func `other characters are written as they are`() {
        for text in ["", "é", "aé\u{80}ß", "\u{1F600}", "0123456\u{E9}", "~}!#[]", "\u{FFFD}\u{10FFFF} "] {
            expect(Array(text.utf8), escapedAt: [])
        }
    }

    private func expect(_ bytes: [UInt8], escapedAt places: Set<Int>) {
        var expected = [UInt8(ascii: "\"")]
        for (index, byte) in bytes.enumerated() {
            expected += places.contains(index) ? Self.escape(of: byte) : [byte]
        }
        var writer = JSONWriter()
        writer.value(String(decoding: bytes, as: UTF8.self))
        #expect(writer.bytes == expected + [UInt8(ascii: "\"")])
    }

    /// The short ones that the writer uses (RFC 8259, section 7).
    private static func escape(of byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "\""): Array(#"\""#.utf8)
        case UInt8(ascii: "\\"): Array(#"\\"#.utf8)
        case 0x0A: Array(#"\n"#.utf8)
        case 0x0D: Array(#"\r"#.utf8)
        case 0x09: Array(#"\t"#.utf8)
        default: Array((#"\u00"# + (byte < 16 ? "0" : "") + String(byte, radix: 16)).utf8)
        }
    }
}
