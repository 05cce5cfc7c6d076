import Foundation
import Testing

@testable import FetchEngine

/// One case of `gzip/vectors.json`.
struct GzipVector: Decodable, CustomTestStringConvertible {
    let name: String
    let gzipBase64: String
    let expect: String
    let decodedSha256: String?

    var testDescription: String { name }
    var bytes: [UInt8] { Array(Data(base64Encoded: gzipBase64) ?? Data()) }

    struct File: Decodable {
        struct Deflated: Decodable {
            let name: String
            let base64: String
            let decodedSha256: String
        }

        let gzip: [GzipVector]
        let contentEncodingDeflate: [Deflated]
    }

    static func file() throws -> File {
        let url = Bundle.module.url(forResource: "Resources/gzip/vectors", withExtension: "json")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(File.self, from: Data(contentsOf: #require(url)))
    }
}

/// SHA-256 in hexadecimal digits.
func hexDigest(_ bytes: [UInt8]) -> String {
    ContentDigest.sha256.digest(of: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

extension BodyDecoder {
    /// Decodes a whole file in pieces of one size.
    mutating func decodeAll(_ bytes: [UInt8], by size: Int) throws(LoadError) -> [UInt8] {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            output += try decode(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return try output + finish()
    }
}

@Suite struct GzipDecoderTests {
    // Proves: DCD-6.
    @Test(arguments: try GzipVector.file().gzip, [1, 7, 4096])
    func `good files decode and broken ones fail, whatever the pieces`(_ vector: GzipVector, size: Int) {
        var decoder = GzipDecoder()
        let output = try? decoder.decodeAll(vector.bytes, by: size)
        switch vector.expect {
        case "error": #expect(output == nil)
        case "error-or-empty": #expect(output?.isEmpty ?? true)
        default: #expect(output.map(hexDigest) == vector.decodedSha256)
        }
    }

    // Proves: DCD-6.
    @Test func `the first member's name and time are told`() throws {
        let vector = try #require(try GzipVector.file().gzip.first { $0.name == "name-comment-extra-hcrc" })
        var decoder = GzipDecoder()
        _ = try decoder.decodeAll(vector.bytes, by: 1)
        #expect(decoder.isHeaderRead)
        #expect(decoder.attributes.name == "fox.txt")
    }

    // Proves: DCD-6.
    @Test func `every truncation of a file fails`() throws {
        let vector = try #require(try GzipVector.file().gzip.first { $0.name == "plain" })
        for count in 1..<vector.bytes.count {
            #expect(throws: LoadError.self) {
                var decoder = GzipDecoder()
                _ = try decoder.decodeAll(Array(vector.bytes[..<count]), by: 4096)
            }
        }
    }
}
