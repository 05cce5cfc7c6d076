import Foundation
import Testing

@testable import FetchEngine

@Suite struct MacintoshDecoderTests {
    static func file(_ name: String) throws -> [UInt8] {
        let url = Bundle.module.url(forResource: "Resources/mac/\(name)", withExtension: nil)
        return Array(try Data(contentsOf: #require(url)))
    }

    // Proves: DCD-1, DCD-4.
    @Test(arguments: ["macbinary1.bin", "macbinary2.bin", "macbinary3.bin"], [1, 127, 128, 4096])
    func `MacBinary of every version gives both forks and what the Finder knew`(name: String, size: Int) throws {
        var decoder = MacBinaryDecoder()
        #expect(try decoder.decodeAll(Self.file(name), by: size) == Self.file("expected.data"))
        #expect(decoder.attributes.resourceFork == (try Self.file("expected.rsrc")))
        #expect(decoder.attributes.name == "Test File")
        #expect(decoder.attributes.type == "TEXT")
        #expect(decoder.attributes.creator == "ttxt")
    }

    // Seconds since 1904, by a clock without a zone.
    // Proves: DCD-4.
    @Test(arguments: ["macbinary1.bin", "macbinary2.bin", "macbinary3.bin"])
    func `MacBinary gives the dates, and checks the sum of its header`(name: String) throws {
        var file = try Self.file(name)
        func date(_ seconds: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: (2_082_844_800 + seconds) >> $0) }
        }
        file.replaceSubrange(91..<99, with: date(86_400) + date(172_800))
        // The first version has no sum.
        if name != "macbinary1.bin" {
            for wrong in [file, Self.summed(file, off: 1)] {
                var decoder = MacBinaryDecoder()
                #expect(throws: LoadError.self) { try decoder.decode(wrong) }
            }
            file = Self.summed(file)
        }
        var decoder = MacBinaryDecoder()
        #expect(try decoder.decodeAll(file, by: 4096) == Self.file("expected.data"))
        #expect(decoder.attributes.created == 86_400 && decoder.attributes.modified == 172_800)
    }

    /// The file with the sum of its header, as the MacBinary II standard computes it: x^16 + x^12 + x^5 + 1, from 0.
    private static func summed(_ file: [UInt8], off difference: UInt16 = 0) -> [UInt8] {
        var sum: UInt16 = 0
        for byte in file[..<124] {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
        sum ^= difference
        return file[..<124] + [UInt8(sum >> 8), UInt8(sum & 0xFF)] + file[126...]
    }

    // Proves: DCD-1, DCD-5.
    @Test(arguments: ["macutils.hqx", "convert-binhex.hqx"], [1, 5, 4096])
    func `BinHex gives both forks and the header`(name: String, size: Int) throws {
        var decoder = BinHexDecoder()
        #expect(try decoder.decodeAll(Self.file(name), by: size) == Self.file("expected.data"))
        let isPerl = name.hasPrefix("convert")
        #expect(decoder.attributes.resourceFork == (isPerl ? Array("RSRC".utf8) : try Self.file("expected.rsrc")))
        #expect(decoder.attributes.name == (isPerl ? "Perl File" : "Test File"))
        #expect(decoder.attributes.type == "TEXT")
        #expect(decoder.attributes.creator == "ttxt")
    }

    // Proves: DCD-5.
    @Test func `a changed character of BinHex never passes`() throws {
        let file = try Self.file("macutils.hqx")
        let start = try #require(file.firstIndex(of: UInt8(ascii: ":"))) + 1
        let end = try #require(file.lastIndex(of: UInt8(ascii: ":")))
        // The last character has bits that mean nothing.
        for index in start..<end - 1 where file[index] > 0x20 {
            var changed = file
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: LoadError.self, "character \(index)") {
                var decoder = BinHexDecoder()
                _ = try decoder.decodeAll(changed, by: 4096)
            }
        }
    }

    // Proves: DCD-4, DCD-5.
    @Test func `a file that ends too early fails`() throws {
        let binary = try Self.file("macbinary3.bin")
        let resourceEnd = 128 + 384 + 15
        for count in 1..<resourceEnd {
            #expect(throws: LoadError.self, "\(count)") {
                var decoder = MacBinaryDecoder()
                _ = try decoder.decodeAll(Array(binary[..<count]), by: 4096)
            }
        }
        var decoder = MacBinaryDecoder()
        #expect(try decoder.decodeAll(Array(binary[..<resourceEnd]), by: 4096) == Self.file("expected.data"))
        let text = try Self.file("macutils.hqx")
        for count in 1..<text.count - 4 {
            #expect(throws: LoadError.self) {
                var decoder = BinHexDecoder()
                _ = try decoder.decodeAll(Array(text[..<count]), by: 4096)
            }
        }
    }

    // Proves: DCD-4.
    @Test func `a header that promises a giant resource fork is refused`() throws {
        var file = try Self.file("macbinary1.bin")
        file.replaceSubrange(87..<91, with: [0x7F, 0, 0, 0])
        var decoder = MacBinaryDecoder()
        #expect(throws: LoadError.self) { try decoder.decode(file) }
    }

    // Proves: DCD-3.
    @Test(arguments: [
        ("macbinary1.bin", "application/octet-stream", "a.bin", "application/macbinary"),
        ("macbinary1.bin", nil, "a.txt", nil),
        ("macbinary1.bin", "application/x-macbinary", "a", "application/macbinary"),
        ("macbinary2.bin", "text/plain", "a.txt", "application/macbinary"),
        ("macbinary3.bin", nil, "a", "application/macbinary"),
        ("convert-binhex.hqx", "text/plain", "a.txt", "application/binhex"),
        ("macutils.hqx", "text/plain", "a.txt", nil), ("macutils.hqx", nil, "a.hqx", "application/binhex"),
        ("macutils.hqx", "application/mac-binhex40", "a", "application/binhex"),
        ("expected.data", "application/x-gzip", "a.gz", nil), ("expected.data", "application/binhex", "a.hqx", nil),
        ("expected.data", "application/macbinary", "a.bin", nil),
    ])
    func `a format is known by its content, and a wrong label corrupts nothing`(
        file: String, type: String?, name: String, found: String?
    ) throws {
        let detection = FormatDetection(
            decoders: [GzipDecoder.self, MacBinaryDecoder.self, BinHexDecoder.self], mediaType: type,
            filename: try #require(Filename(sanitizing: name)))
        let bytes = try Self.file(file)
        for count in 0...bytes.count {
            switch detection.verdict(on: Array(bytes[..<count]), isComplete: count == bytes.count) {
            case .decoder(let decoder): return #expect(decoder.mediaTypes[0] == found)
            case .none: return #expect(found == nil)
            case .needsMore: #expect(count < bytes.count)
            }
        }
    }

    // Proves: DCD-8.
    @Test(arguments: [
        ("x.tar.gz", nil, "x.tar"), ("x.tgz", nil, "x.tar"), ("X.GZ", nil, "X"), ("x", nil, "x"),
        ("x.gz", "../inner.txt", "inner.txt"), (".gz", nil, "gz"),
    ])
    func `the name of the decoded file is the inner one, or loses the extension`(
        name: String, inner: String?, result: String
    ) throws {
        var attributes = DecodedAttributes()
        attributes.name = inner
        let filename = try #require(Filename(sanitizing: name))
        #expect(filename.decoded(by: GzipDecoder.self, attributes).text == result)
    }
}
