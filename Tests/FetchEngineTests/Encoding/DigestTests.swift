import Foundation
import Testing

@testable import FetchEngine

@Suite struct DigestTests {
    // Proves: BEY-26.
    @Test(arguments: [
        ("sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:", ContentDigest.sha256),
        ("md5=:xxx:, sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:;p=1", .sha256),
    ])
    func `the fields of RFC 9530 are read`(field: String, algorithm: ContentDigest) throws {
        let digest = try #require(ExpectedDigest(field: [field]))
        #expect(digest.algorithm == algorithm)
        #expect(digest.bytes == ContentDigest.sha256.digest(of: "abc".utf8))
    }

    @Test(arguments: [
        ("md5=:kAFQmDzST7DWlj99KOF/cg==:", ContentDigest.md5), ("sha=:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=:", .sha1),
    ])
    func `a broken digest counts only for who asks for it`(field: String, algorithm: ContentDigest) throws {
        #expect(ExpectedDigest(field: [field]) == nil)
        let digest = try #require(ExpectedDigest(field: [field], of: ContentDigest.allCases))
        #expect(digest == ExpectedDigest(algorithm, algorithm.digest(of: "abc".utf8)))
        let strong = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
        for fields in [[field, strong], [strong, field]] {
            #expect(ExpectedDigest(field: fields, of: ContentDigest.allCases)?.algorithm == .sha256)
        }
    }

    // Proves: BEY-26.
    @Test func `the strongest digest counts`() throws {
        let strong = ContentDigest.sha512.digest(of: "abc".utf8)
        let fields = [
            "sha-512=:\(Data(strong).base64EncodedString()):",
            "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:",
        ]
        #expect(ExpectedDigest(field: fields) == ExpectedDigest(.sha512, strong))
        #expect(ExpectedDigest(field: fields.reversed()) == ExpectedDigest(.sha512, strong))
    }

    // Proves: BEY-26.
    @Test(arguments: [
        "", "sha-256", "sha-256=", "sha-256=abc", "sha-256=:abc:", "sha-256=::", "unixsum=:AAAA:", ":=::",
        "SHA-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:",
    ])
    func `what cannot be read protects nothing`(field: String) {
        #expect(ExpectedDigest(field: [field]) == nil)
    }

    // Proves: BEY-26.
    @Test func `a digest in pieces is the digest of the whole`() {
        let stream = ContentDigest.sha512.stream()
        for byte in "abc".utf8 { stream.append([byte]) }
        #expect(stream.finish() == ContentDigest.sha512.digest(of: "abc".utf8))
    }
}
