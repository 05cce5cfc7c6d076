import HTTPTypes

/// A digest that content is to have.
public struct ExpectedDigest: Sendable, Hashable {
    /// How it is computed.
    public let algorithm: ContentDigest
    /// Its bytes.
    public let bytes: [UInt8]

    /// Makes an expectation; nil when the bytes have not the algorithm's length, and when the cryptographic library
    /// does not compute it, as one that keeps to FIPS 140 does not compute MD5.
    public init?(_ algorithm: ContentDigest, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount, algorithm.isAvailable else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }
}

extension ExpectedDigest: CustomStringConvertible {
    /// As a field writes it: `sha-256=:…:`.
    public var description: String {
        "\(algorithm.rawValue)=:\(String(decoding: Base64.encode(bytes), as: UTF8.self)):"
    }
}

extension ExpectedDigest {
    /// The strongest digest of a `Content-Digest` or `Repr-Digest` field that we can check; nil for none.
    ///
    /// RFC 9530 §2 and §3: a dictionary of byte sequences, `sha-256=:base64:`. Members of other algorithms, or that
    /// cannot be read, are skipped: a field without a known digest protects nothing.
    ///
    /// - Parameter algorithms: Those that count, the strongest last. A sender's MD5 or SHA-1 proves nothing against
    ///   whoever changes its bytes (RFC 9530 §5); somebody who asks for one may have nothing else to compare with.
    package init?(field values: [String], of algorithms: [ContentDigest] = [.sha256, .sha512]) {
        var best: (rank: Int, digest: ExpectedDigest)?
        for member in values.joined(separator: ",").split(separator: ",") {
            let halves = member.split(separator: "=", maxSplits: 1)
            guard halves.count == 2 else { continue }
            let key = halves[0].filter { $0 != " " && $0 != "\t" }
            let value = halves[1].split(separator: ";", omittingEmptySubsequences: false)[0]
                .filter { $0 != " " && $0 != "\t" }
            guard let algorithm = ContentDigest(rawValue: key), let rank = algorithms.firstIndex(of: algorithm),
                value.count > 2, value.hasPrefix(":"), value.hasSuffix(":"),
                let bytes = Base64.decode(Array(value.dropFirst().dropLast().utf8)),
                let digest = ExpectedDigest(algorithm, bytes)
            else { continue }
            if rank >= best?.rank ?? 0 { best = (rank, digest) }
        }
        guard let best else { return nil }
        self = best.digest
    }

    /// The error when the content has another digest.
    static var mismatch: LoadError {
        LoadError(.contentDigestMismatch, "The content is not what its digest says: it was changed on the way.")
    }
}

extension Response {
    /// The digest that the server states for a file of this response's body; nil when there is none that we can check.
    ///
    /// `Repr-Digest` is of the whole representation, also in a response with a range. `Content-Digest` is of the sent
    /// content, so it is the file's only when that is all of it (RFC 9530 §2 and §3).
    var expectedDigest: ExpectedDigest? {
        for (name, isOfWhole) in [(HTTPField.Name.reprDigest, true), (.contentDigest, false)] {
            guard isOfWhole || status.code != 206 else { continue }
            if let digest = ExpectedDigest(field: headerFields[values: name]) { return digest }
        }
        return nil
    }
}
