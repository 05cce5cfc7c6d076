import Crypto
package import FetchEngine

/// The digest that a sender states for its bytes (RFC 9530), and the hash that checks it.
package struct DigestClaim {
    private let expected: ExpectedDigest
    private var hash: any HashFunction

    /// - Parameter fields: The values of `Content-Digest` or `Repr-Digest`. Nil when they name no digest that is known
    ///   here: RFC 9530 §2 lets a recipient ignore those.
    package init?(fields: [String]) {
        guard let expected = ExpectedDigest(field: fields) else { return nil }
        self.init(expected)
    }

    package init(_ expected: ExpectedDigest) {
        self.expected = expected
        hash =
            switch expected.algorithm {
            case .md5: Insecure.MD5()
            case .sha1: Insecure.SHA1()
            case .sha256: SHA256()
            case .sha512: SHA512()
            }
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
    }

    /// Whether the bytes so far have the digest.
    package var isTrue: Bool { Self.bytes(of: hash) == expected.bytes }

    private static func bytes(of hash: some HashFunction) -> [UInt8] { Array(hash.finalize()) }
}
