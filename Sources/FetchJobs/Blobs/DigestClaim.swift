import Crypto
import FetchEngine

/// The digest that a sender states for its bytes (RFC 9530), and the hash that checks it.
package struct DigestClaim {
    private enum Hash {
        case sha256(SHA256)
        case sha512(SHA512)
    }

    private let expected: ExpectedDigest
    private var hash: Hash

    /// - Parameter fields: The values of `Content-Digest` or `Repr-Digest`. Nil when they name no digest that is known
    ///   here: RFC 9530 §2 lets a recipient ignore those.
    package init?(fields: [String]) {
        guard let expected = ExpectedDigest(field: fields) else { return nil }
        self.expected = expected
        hash =
            switch expected.algorithm {
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            }
    }

    package mutating func update(_ bytes: [UInt8]) {
        switch hash {
        case .sha256(var function):
            bytes.withUnsafeBytes { function.update(bufferPointer: $0) }
            hash = .sha256(function)
        case .sha512(var function):
            bytes.withUnsafeBytes { function.update(bufferPointer: $0) }
            hash = .sha512(function)
        }
    }

    /// Whether the bytes so far have the digest.
    package var isTrue: Bool {
        switch hash {
        case .sha256(let function): Array(function.finalize()) == expected.bytes
        case .sha512(let function): Array(function.finalize()) == expected.bytes
        }
    }
}
