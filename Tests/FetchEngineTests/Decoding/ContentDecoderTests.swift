import Foundation
import Testing

@testable import FetchEngine

@Suite struct ContentDecoderTests {
    /// Text, as the libraries of the two codings compress it.
    static let text = Array(String(repeating: "The quick brown fox. ", count: 90).utf8)
    static let brotli = Array(Data(base64Encoded: "G2EHAATqZKleSFoSko1JflOoUQysKuOdnD2YWN1QegMA")!)
    static let zstd = Array(Data(base64Encoded: "KLUv/QRo7QAAqFRoZSBxdWljayBicm93biBmb3guIAEAlcZ/MgH8sKzV")!)

    // Proves: DCD-7, BEY-31.
    @Test(arguments: [("br", brotli), ("zstd", zstd)], [1, 3, 1000])
    func `brotli and zstd are undone, whatever the pieces`(coded: (String, [UInt8]), size: Int) throws {
        #expect(try decode(coded.1, coding: coded.0, by: size) == Self.text)
    }

    // Proves: DCD-7.
    @Test(arguments: [1, 2, 4096]) func `deflate is undone in both of its forms`(size: Int) throws {
        for vector in try GzipVector.file().contentEncodingDeflate {
            let bytes = Array(try #require(Data(base64Encoded: vector.base64)))
            #expect(try hexDigest(decode(bytes, coding: "deflate", by: size)) == vector.decodedSha256, "\(vector.name)")
        }
    }

    // A count of bytes never stops members that give none.
    // Proves: SEC-25.
    @Test func `members of nothing, inside of another coding, are counted, and taken few at a time`() throws {
        let member: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let members = Array(repeatElement(member, count: 100_000).joined())
        var coded: [UInt8] = []
        try #require(members.withUnsafeBytes { BodyCoding.gzip.makeEncoder().encode($0, isLast: true, into: &coded) })
        var decoder = try #require(try ContentDecoder(coding: "gzip, gzip", limit: DecodingLimits()))
        coded.withUnsafeBytes { decoder.append($0) }
        var output: [UInt8] = []
        var turns = 0
        #expect(throws: LoadError.self) {
            while !decoder.isDrained {
                try decoder.read(into: &output, upTo: 1 << 20)
                turns += 1
            }
        }
        #expect(coded.count < 20_000 && output.isEmpty && turns > 100)
    }

    // Proves: DCD-7, ERR-5, SEC-25.
    @Test(arguments: [("br", brotli), ("zstd", zstd)])
    func `every truncation fails`(coding: String, bytes: [UInt8]) {
        for count in 1..<bytes.count {
            #expect(throws: LoadError.self) { try decode(Array(bytes[..<count]), coding: coding, by: 4096) }
        }
    }

    // Proves: ERR-5, SEC-25.
    @Test(arguments: try GzipVector.file().gzip) func `gzip content is checked to its last byte`(vector: GzipVector) {
        let output = try? decode(vector.bytes, coding: "gzip", by: 16)
        switch vector.expect {
        case "error": #expect(output == nil)
        case "error-or-empty": #expect(output?.isEmpty ?? true)
        default: #expect(output.map(hexDigest) == vector.decodedSha256)
        }
    }

    // Proves: SEC-25.
    @Test func `up to three layers are undone`() throws {
        let twice = try #require(try GzipVector.file().gzip.first { $0.name == "stored-block" })
        #expect(try ContentDecoder(coding: "gzip, br, zstd", limit: .init()) != nil)
        #expect(throws: LoadError.self) { try ContentDecoder(coding: "gzip, gzip, gzip, gzip", limit: .init()) }
        #expect(try ContentDecoder(coding: "compress", limit: .init()) == nil)
        #expect(try ContentDecoder(coding: "gzip, compress", limit: .init()) == nil)
        #expect(try ContentDecoder(coding: "", limit: .init()) == nil)
        // A gzip stream of stored blocks that holds a brotli stream.
        let layered = Self.storedGzip(Self.brotli)
        #expect(try decode(layered, coding: "br, gzip", by: 5) == Self.text)
        #expect(throws: LoadError.self) { try decode(twice.bytes, coding: "br, gzip", by: 5) }
    }

    // Proves: BEY-31, DCD-6, SEC-25.
    @Test func `a bomb ends at its limit, and nothing is decoded faster than it is read`() throws {
        let bomb = try #require(try GzipVector.file().gzip.first { $0.name == "bomb-1000x" }).bytes
        #expect(throws: LoadError.self) {
            try decode(bomb, coding: "gzip", by: 4096, limit: .init(maximumBytes: 8_388_607))
        }
        #expect(throws: LoadError.self) {
            try decode(bomb, coding: "gzip", by: 4096, limit: .init(maximumRatio: 250, ratioThreshold: 1 << 20))
        }
        #expect(try decode(bomb, coding: "gzip", by: 4096).count == 8_388_608)
        var decoder = try #require(try ContentDecoder(coding: "gzip", limit: .init()))
        bomb.withUnsafeBytes { decoder.append($0) }
        var output: [UInt8] = []
        try decoder.read(into: &output, upTo: 10_000)
        #expect(output.count >= 10_000 && output.count < 50_000)
        #expect(!decoder.isDrained)
    }

    private func decode(
        _ bytes: [UInt8], coding: String, by size: Int, limit: DecodingLimits = .init()
    ) throws -> [UInt8] {
        var decoder = try #require(try ContentDecoder(coding: coding, limit: limit))
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { decoder.append($0) }
            while !decoder.isDrained { try decoder.read(into: &output, upTo: output.count + 1000) }
        }
        try decoder.finish()
        return output
    }

    /// A gzip member with one stored block.
    static func storedGzip(_ bytes: [UInt8]) -> [UInt8] {
        let count = UInt16(bytes.count)
        let length = [UInt8(truncatingIfNeeded: count), UInt8(count >> 8)]
        var member: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 1] + length + length.map { ~$0 } + bytes
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 != 0 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        for value in [~crc, UInt32(bytes.count)] {
            member += [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) }
        }
        return member
    }
}
