import COpenSSL

/// A hash of HTTP Digest (RFC 7616 §6.1), weakest first; SHA-512 is no algorithm of the standard, but some servers ask
/// for it.
enum DigestAlgorithm: String, Comparable, CaseIterable {
    case md5 = "MD5"
    case sha256 = "SHA-256"
    case sha512 = "SHA-512"
    case sha512Half = "SHA-512-256"

    /// Finds it by its name without `-sess`, in any case.
    init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == name.uppercased() }) else { return nil }
        self = found
    }

    static func < (left: Self, right: Self) -> Bool { left.strength < right.strength }

    var strength: Int {
        switch self {
        case .md5: 0
        case .sha256: 1
        case .sha512: 2
        case .sha512Half: 3
        }
    }

    /// The length of a hash.
    var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha256, .sha512Half: 32
        case .sha512: 64
        }
    }

    private var implementation: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha256: EVP_sha256()
        case .sha512: EVP_sha512()
        case .sha512Half: EVP_sha512_256()
        }
    }

    /// The hash as lower-case hexadecimal digits, or nil when the cryptographic library refuses the algorithm.
    func hash(_ bytes: [UInt8]) -> [UInt8]? {
        guard let stream = stream() else { return nil }
        stream.append(bytes)
        return Hexadecimal.encode(stream.finish())
    }

    /// For bytes that come in pieces; nil when the cryptographic library refuses the algorithm.
    func stream() -> HashStream? { HashStream(implementation) }
}
