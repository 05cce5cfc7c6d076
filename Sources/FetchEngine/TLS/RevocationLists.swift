import COpenSSL

/// The certificates that their authorities have revoked (RFC 5280 §5).
///
/// A certificate on a list is refused, and so is one whose issuer's list is out of date. Where there is no list of the
/// issuer's, nothing is known and nothing is refused.
public struct RevocationLists: Sendable, Hashable {
    private let storage: Storage

    /// Reads lists from PEM.
    ///
    /// - Throws: `revocationListInvalid` when there is no list in the text, or one that cannot be read: the
    ///   certificates on an omitted list would be trusted.
    public init(pem: [UInt8]) throws(LoadError) {
        storage = try Storage(pem: pem)
    }

    /// Calls with OpenSSL's object.
    func with<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
        OpaquePointer(bitPattern: storage.address).map(body)
    }

    /// Whether both were read from the same text.
    public static func == (left: Self, right: Self) -> Bool { left.storage.fingerprint == right.storage.fingerprint }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(storage.fingerprint) }

    private final class Storage: Sendable {
        let fingerprint: Fingerprint
        // A pointer to OpenSSL's stack, which is never changed, as a number: pointers are not Sendable.
        let address: UInt

        init(pem: [UInt8]) throws(LoadError) {
            defer { ERR_clear_error() }
            fingerprint = Fingerprint(of: pem)
            var isWhole = false
            let lists = CertificateCoding.reading(pem) { memory -> OpaquePointer? in
                guard let lists = copenssl_new_revocation_lists() else { return nil }
                while let list = PEM_read_bio_X509_CRL(memory, nil, noPassphrase, nil) {
                    copenssl_add_revocation_list(lists, list)
                }
                isWhole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
                return lists
            }
            address = UInt(bitPattern: lists)
            guard let lists, copenssl_revocation_list_count(lists) > 0 else {
                throw LoadError(.revocationListInvalid, "There is no revocation list in the text.")
            }
            guard isWhole else {
                throw LoadError(.revocationListInvalid, "One of the revocation lists cannot be read.")
            }
        }

        deinit { copenssl_free_revocation_lists(OpaquePointer(bitPattern: address)) }
    }
}

extension LoadError.Code {
    /// A list of revoked certificates cannot be read.
    public static let revocationListInvalid = Self("revocationListInvalid", -1202)
}
