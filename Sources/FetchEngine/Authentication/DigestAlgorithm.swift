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
        var stream = DigestStream(self)
        stream?.append(bytes)
        return stream?.finish()
    }

    fileprivate func begin(_ context: OpaquePointer) -> Bool { EVP_DigestInit_ex(context, implementation, nil) == 1 }
}

/// A hash of bytes that come in pieces.
struct DigestStream: ~Copyable {
    private let context: OpaquePointer

    /// Begins, or gives nil when the cryptographic library refuses the algorithm.
    init?(_ algorithm: DigestAlgorithm) {
        guard let context = EVP_MD_CTX_new() else { return nil }
        guard algorithm.begin(context) else {
            EVP_MD_CTX_free(context)
            return nil
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    mutating func append(_ bytes: [UInt8]) { EVP_DigestUpdate(context, bytes, bytes.count) }

    /// The hash as lower-case hexadecimal digits.
    consuming func finish() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        EVP_DigestFinal_ex(context, &hash, &count)
        return hash[..<Int(count)].flatMap { [hexDigit($0 >> 4), hexDigit($0 & 15)] }
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
