import COpenSSL

/// A hash algorithm for content (RFC 9530 §5).
public enum ContentDigest: String, Sendable, Hashable, CaseIterable {
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"

    /// The length of a digest.
    public var byteCount: Int { self == .sha256 ? 32 : 64 }

    var implementation: OpaquePointer? { self == .sha256 ? EVP_sha256() : EVP_sha512() }

    /// The digest of bytes that are all there.
    func digest(of bytes: some Sequence<UInt8>) -> [UInt8] {
        let stream = ContentDigestStream(self)
        stream.update(Array(bytes))
        return stream.finish()
    }
}

/// Computes a digest of bytes as they come.
final class ContentDigestStream {
    let algorithm: ContentDigest
    private let context: OpaquePointer?

    init(_ algorithm: ContentDigest) {
        self.algorithm = algorithm
        context = EVP_MD_CTX_new()
        let status = EVP_DigestInit_ex(context, algorithm.implementation, nil)
        precondition(status == 1, "the cryptographic library knows no \(algorithm.rawValue)")
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        }
    }

    /// The digest; the stream takes nothing more.
    func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
        _ = EVP_DigestFinal_ex(context, &digest, nil)
        return digest
    }
}
