import COpenSSL

/// A hash algorithm for content (RFC 9530 §5).
public enum ContentDigest: String, Sendable, Hashable, CaseIterable {
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"

    /// The length of a digest.
    public var byteCount: Int { self == .sha256 ? 32 : 64 }

    /// The digest of bytes that are all there.
    package func digest(of bytes: some Sequence<UInt8>) -> [UInt8] {
        let stream = stream()
        stream.append(Array(bytes))
        return stream.finish()
    }

    /// For bytes as they come.
    package func stream() -> HashStream {
        guard let stream = HashStream(self == .sha256 ? EVP_sha256() : EVP_sha512()) else {
            preconditionFailure("the cryptographic library knows no \(rawValue)")
        }
        return stream
    }
}
