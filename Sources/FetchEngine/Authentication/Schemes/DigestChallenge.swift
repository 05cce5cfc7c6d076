/// The challenge of HTTP Digest (RFC 7616 §3.3).
struct DigestChallenge: Equatable {
    /// The parts that the answer protects.
    enum Protection: Equatable {
        /// As it was before RFC 2617: no nonce of the client, no count.
        case legacy
        /// The request line.
        case auth
        /// The request line and the content.
        case authInt
    }

    var realm: [UInt8]
    var nonce: [UInt8]
    var opaque: [UInt8]?
    var algorithm = DigestAlgorithm.md5
    /// Whether the server named the algorithm; one that did not may not know the parameter.
    var namesAlgorithm = false
    /// Whether a key is made once for the nonce, which is what `-sess` stands for.
    var isSession = false
    var protection = Protection.legacy
    /// Whether the credential was right and only the nonce too old.
    var isStale = false
    var hashesUser = false
    var isUTF8 = false
    /// A list with more URIs is not looked at.
    static let maximumURIs = 64
    /// The URIs that the answer is good for, as they were written; none for the whole server.
    var domain: [String] = []

    /// Reads the parameters; nil when they ask for something that is not supported.
    init?(_ offered: OfferedChallenge) {
        guard let realm = offered["realm"], let nonce = offered["nonce"] else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = offered["opaque"]
        // They are sent back as they are, and no header field may have control characters.
        guard [realm, nonce, opaque ?? []].allSatisfy(Self.isPrintable) else { return nil }
        guard readAlgorithm(offered), readProtection(offered) else { return nil }
        isStale = Self.isTrue(offered["stale"])
        hashesUser = Self.isTrue(offered["userhash"])
        isUTF8 = offered.text("charset")?.lowercased() == "utf-8"
        let domain = (offered.text("domain") ?? "").split(separator: " ", maxSplits: Self.maximumURIs)
        if domain.count <= Self.maximumURIs { self.domain = domain.map(String.init) }
    }

    private mutating func readAlgorithm(_ offered: OfferedChallenge) -> Bool {
        guard let name = offered.text("algorithm") else { return true }
        namesAlgorithm = true
        isSession = name.lowercased().hasSuffix("-sess")
        guard let algorithm = DigestAlgorithm(name: isSession ? String(name.dropLast(5)) : name) else { return false }
        self.algorithm = algorithm
        return true
    }

    /// `auth` is preferred: it needs no look at the content.
    private mutating func readProtection(_ offered: OfferedChallenge) -> Bool {
        guard let text = offered.text("qop") else { return true }
        let words = text.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        guard words.contains("auth") || words.contains("auth-int") else { return words.isEmpty }
        protection = words.contains("auth") ? .auth : .authInt
        return true
    }

    private static func isTrue(_ value: [UInt8]?) -> Bool {
        value.map { OfferedChallenge.text($0).lowercased() == "true" } ?? false
    }

    private static func isPrintable(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
