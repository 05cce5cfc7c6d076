import COpenSSL

/// The cost of deriving the keys that a file is encrypted with, as its parameters state it.
///
/// Who makes the file chooses them, and a few bytes can ask for hours or for all of the memory: so they are read, and
/// added up, before anything is derived.
struct DerivationWork {
    /// Rounds of a hash (RFC 8018, RFC 7292), or blocks that scrypt mixes, of all keys of a file together.
    static let maximumRounds: UInt64 = 2_000_000
    /// The memory of one derivation.
    static let maximumMemory: UInt64 = 32 << 20
    /// How deep bags may lie in bags.
    private static let maximumDepth = 4

    private var rounds: UInt64 = 0

    /// Checks every encrypted key in a PEM text.
    ///
    /// - Throws: `clientIdentityTooCostly`.
    static func check(pem text: [UInt8]) throws(LoadError) {
        defer { ERR_clear_error() }
        var work = DerivationWork()
        for block in blocks(in: text) { try work.add(key: block) }
    }

    /// Checks a PKCS #12 file: its own checksum, each of its encrypted parts, and the keys in them.
    ///
    /// - Throws: `clientIdentityTooCostly`.
    static func check(pkcs12 bytes: [UInt8], passphrase: String) throws(LoadError) {
        defer { ERR_clear_error() }
        guard let file = CertificateCoding.reading(bytes, { d2i_PKCS12_bio($0, nil) }) else { return }
        defer { PKCS12_free(file) }
        // An empty passphrase is also written as none.
        for passphrase in passphrase.isEmpty ? [nil, passphrase] : [passphrase] {
            var work = DerivationWork()
            try work.add(file, passphrase)
        }
    }

    // MARK: Files

    private mutating func add(_ file: OpaquePointer, _ passphrase: String?) throws(LoadError) {
        var count: UnsafePointer<ASN1_INTEGER>?
        PKCS12_get0_mac(nil, nil, nil, &count, file)
        // Without a count it is one.
        if PKCS12_mac_present(file) == 1, let count { try add(rounds: copenssl_count(count)) }
        let safes = PKCS12_unpack_authsafes(file)
        defer { copenssl_free_safes(safes) }
        for index in 0..<copenssl_safe_count(safes) {
            let safe = copenssl_safe(safes, index)
            if let algorithm = copenssl_safe_encryption(safe) { try add(algorithm) }
            // The cost of the decryption is known now; the keys inside are seen only after it.
            let bags =
                passphrase.map { text in text.withCString { copenssl_open_safe(safe, $0) } }
                ?? copenssl_open_safe(safe, nil)
            defer { copenssl_free_bags(bags) }
            try add(bags, depth: 0)
        }
    }

    private mutating func add(_ bags: OpaquePointer?, depth: Int) throws(LoadError) {
        guard depth < Self.maximumDepth else { throw Self.exceeded }
        for index in 0..<copenssl_bag_count(bags) {
            guard let bag = copenssl_bag(bags, index) else { continue }
            if let algorithm = copenssl_encryption(copenssl_encrypted_key(bag)) { try add(algorithm) }
            if let inner = copenssl_bags(bag) { try add(inner, depth: depth + 1) }
        }
    }

    private mutating func add(key bytes: [UInt8]) throws(LoadError) {
        let key = bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_X509_SIG(nil, &position, bytes.count)
        }
        guard let key else { return }
        defer { X509_SIG_free(key) }
        if let algorithm = copenssl_encryption(key) { try add(algorithm) }
    }

    /// The content between the lines of a PEM text, decoded.
    private static func blocks(in text: [UInt8]) -> [[UInt8]] {
        CertificateCoding.reading(text) { memory in
            var blocks: [[UInt8]] = []
            var (name, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
            var bytes: UnsafeMutablePointer<UInt8>?
            var count = 0
            while PEM_read_bio(memory, &name, &header, &bytes, &count) == 1 {
                blocks.append(Array(UnsafeBufferPointer(start: bytes, count: count)))
                for memory in [UnsafeMutableRawPointer(name), UnsafeMutableRawPointer(header)] { copenssl_free(memory) }
                copenssl_free(bytes)
            }
            return blocks
        } ?? []
    }

    // MARK: Algorithms

    /// Adds the work to derive a key by an algorithm; OpenSSL derives none by an algorithm that is not known here.
    private mutating func add(_ algorithm: UnsafePointer<X509_ALGOR>) throws(LoadError) {
        guard copenssl_algorithm(algorithm) == NID_pbes2 else {
            guard let parameters = copenssl_pbes1(algorithm) else { return }
            defer { PBEPARAM_free(parameters) }
            return try add(rounds: copenssl_count(parameters.pointee.iter))
        }
        guard let parameters = copenssl_pbes2(algorithm) else { return }
        defer { PBE2PARAM_free(parameters) }
        guard let function = parameters.pointee.keyfunc else { return }
        switch copenssl_algorithm(function) {
        case NID_id_pbkdf2:
            guard let parameters = copenssl_pbkdf2(function) else { return }
            defer { PBKDF2PARAM_free(parameters) }
            try add(rounds: copenssl_count(parameters.pointee.iter))
        case NID_id_scrypt:
            guard let parameters = copenssl_scrypt(function) else { return }
            defer { SCRYPT_PARAMS_free(parameters) }
            try add(parameters.pointee)
        default: break
        }
    }

    /// RFC 7914 §2: N·r blocks of 128 bytes are kept, and all of them are mixed p times.
    private mutating func add(_ scrypt: SCRYPT_PARAMS) throws(LoadError) {
        let (cost, size) = (copenssl_count(scrypt.costParameter), copenssl_count(scrypt.blockSize))
        let blocks = cost.multipliedReportingOverflow(by: size)
        guard !blocks.overflow, blocks.partialValue <= Self.maximumMemory / 128 else { throw Self.exceeded }
        let all = blocks.partialValue.multipliedReportingOverflow(
            by: copenssl_count(scrypt.parallelizationParameter))
        try add(rounds: all.overflow ? .max : all.partialValue)
    }

    private mutating func add(rounds more: UInt64) throws(LoadError) {
        let (sum, overflow) = rounds.addingReportingOverflow(more)
        guard !overflow, sum <= Self.maximumRounds else { throw Self.exceeded }
        rounds = sum
    }

    private static var exceeded: LoadError {
        LoadError(
            .clientIdentityTooCostly,
            "To decrypt it takes more than \(maximumRounds) rounds of key derivation, or \(maximumMemory >> 20) MiB.")
    }
}
