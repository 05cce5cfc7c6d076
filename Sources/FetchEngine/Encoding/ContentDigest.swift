import COpenSSL

/// A hash algorithm for content (RFC 9530 §5), by the name that its registry gives.
public enum ContentDigest: String, Sendable, Hashable, CaseIterable {
    /// MD5, for files whose publisher states nothing better: another content with the same digest can be made.
    case md5
    /// SHA-1, of which the same is true.
    case sha1 = "sha"
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"

    /// The length of a digest.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// Whether the cryptographic library computes it.
    ///
    /// One that keeps to FIPS 140 refuses MD5.
    package var isAvailable: Bool { Self.available.contains(self) }

    /// Asked for once: digests come with responses.
    private static let available = Set(allCases.filter { HashStream($0.function) != nil })

    /// The digest of bytes that are all there.
    package func digest(of bytes: some Sequence<UInt8>) -> [UInt8] {
        let stream = stream()
        stream.append(Array(bytes))
        return stream.finish()
    }

    /// For bytes as they come.
    package func stream() -> HashStream {
        guard let stream = HashStream(function) else {
            preconditionFailure("the cryptographic library knows no \(rawValue)")
        }
        return stream
    }

    private var function: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha512: EVP_sha512()
        }
    }
}
