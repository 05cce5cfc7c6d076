import HTTPTypes

/// Hashes content while it comes, to compare it with the digest that its server states before it or in its trailers.
struct ContentCheck {
    private let stated: StatedDigest?
    private let isPart: Bool
    private let hashes: [DigestAlgorithm: HashStream]

    /// Nil when the fields neither state a digest nor announce one.
    ///
    /// - Parameter isPart: Whether a range of the whole is sent.
    init?(_ fields: HTTPFields, isPart: Bool) {
        stated = StatedDigest(fields, isPart: isPart)
        self.isPart = isPart
        // It is unknown which algorithm the trailers will have.
        let isAnnounced = StatedDigest.isAnnounced(in: fields)
        let algorithms = isAnnounced ? StatedDigest.algorithms : stated.map { [$0.algorithm] } ?? []
        hashes = Dictionary(
            uniqueKeysWithValues: algorithms.compactMap { algorithm in algorithm.stream().map { (algorithm, $0) } })
        guard !hashes.isEmpty else { return nil }
    }

    func append(_ bytes: UnsafeRawBufferPointer) { for hash in hashes.values { hash.append(bytes) } }

    /// Whether the content has the stated digest; nothing can be appended any more.
    func isMet(by trailers: HTTPFields) -> Bool {
        let results = hashes.mapValues { $0.finish() }
        return [stated, StatedDigest(trailers, isPart: isPart)].allSatisfy { digest in
            guard let digest, let result = results[digest.algorithm] else { return true }
            return result == digest.bytes
        }
    }
}

/// The digest that a server states for its content.
struct StatedDigest: Equatable {
    let algorithm: DigestAlgorithm
    let bytes: [UInt8]

    /// The algorithms that a server may use; MD5 finds accidental changes.
    static let algorithms: [DigestAlgorithm] = [.md5, .sha256, .sha512]
}

extension StatedDigest {
    /// The strongest digest that the fields state; nil for none.
    ///
    /// `Content-Digest` covers the content that is sent, `Repr-Digest` the whole from which a range was taken (RFC 9530
    /// §2 and §3), and so does `Digest`, which they replace (RFC 3230). `Content-MD5` is ignored: for some servers it
    /// covers the one and for others the other, which is why HTTP no longer has it (RFC 7231 B). A digest that cannot
    /// be read, or is of another algorithm, is ignored.
    init?(_ fields: HTTPFields, isPart: Bool) {
        var all = [Self.structured(fields, .contentDigest)]
        if !isPart {
            all += [Self.structured(fields, .reprDigest)]
            all += fields[values: .digest].flatMap { $0.split(separator: ",") }.map { Self(instance: $0) }
        }
        guard let best = all.compactMap(\.self).max(by: { $0.algorithm < $1.algorithm }) else { return nil }
        self = best
    }

    private static func structured(_ fields: HTTPFields, _ name: HTTPField.Name) -> Self? {
        guard let digest = ExpectedDigest(field: fields[values: name]),
            let algorithm = DigestAlgorithm(name: digest.algorithm.rawValue)
        else { return nil }
        return Self(algorithm: algorithm, bytes: digest.bytes)
    }

    /// A member of `Digest`: `SHA-256=base64`.
    private init?(instance member: Substring) {
        let halves = member.split(separator: "=", maxSplits: 1)
        guard halves.count == 2, let algorithm = DigestAlgorithm(name: String(halves[0].trimmed)) else { return nil }
        self.init(algorithm, base64: halves[1])
    }

    private init?(_ algorithm: DigestAlgorithm, base64 text: Substring) {
        guard Self.algorithms.contains(algorithm), let bytes = Base64.decode(Array(text.trimmed.utf8)),
            bytes.count == algorithm.byteCount
        else { return nil }
        self.init(algorithm: algorithm, bytes: bytes)
    }

    /// Whether the server announces one as a trailer (RFC 9110 §6.6.2).
    static func isAnnounced(in fields: HTTPFields) -> Bool {
        fields[values: .trailer].contains { value in
            value.split(separator: ",").contains { names.contains($0.trimmed.lowercased()) }
        }
    }

    private static let names = Set(
        [HTTPField.Name.contentDigest, .reprDigest, .digest].map(\.canonicalName))
}

extension HTTPField.Name {
    static let contentDigest = Self(integrity: "Content-Digest")
    static let reprDigest = Self(integrity: "Repr-Digest")
    fileprivate static let trailer = Self(integrity: "Trailer")
    fileprivate static let digest = Self(integrity: "Digest")

    private init(integrity name: String) {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not a field name") }
        self = name
    }
}
