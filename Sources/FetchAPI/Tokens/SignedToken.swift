import FetchJobs
import FoundationEssentials

/// A JSON Web Token in its compact form (RFC 7515 §7.1), read strictly; nothing in it is proved by that.
struct SignedToken {
    /// The longest that is read, in bytes.
    static let maximumLength = 8192
    /// The longest name of a key, and the longest subject.
    static let maximumName = 256
    /// The longest type that is known: `application/at+jwt`.
    private static let maximumType = 18

    let algorithm: TokenAlgorithm
    /// Whether it says that it is an access token (RFC 9068), which is no proof of a sign-in.
    let isAccessToken: Bool
    /// The name of the key that it is signed with; nil when it names none.
    let keyName: String?
    let claims: [JSONMember]
    let signature: [UInt8]
    /// What the signature is about.
    let message: [UInt8]

    /// - Parameter limit: The longest that is read, in bytes.
    /// - Throws: ``TokenFault`` `malformed`, and `algorithm` for one that no token may have.
    init(_ text: some StringProtocol, upTo limit: Int = maximumLength) throws(TokenFault) {
        guard text.utf8.count <= limit else { throw .malformed }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Self.bytes(parts[2]), !signature.isEmpty else { throw .malformed }
        let header = try Self.object(parts[0])
        claims = try Self.object(parts[1])
        self.signature = signature
        message = Array(bytes[..<parts[1].endIndex])
        // Extensions that have to be understood are not (RFC 7515 §4.1.11); tokens of other kinds say so.
        guard header["crit"] == nil, let type = try Self.type(header["typ"]) else { throw .malformed }
        isAccessToken = type == "at+jwt"
        guard case .string(let name)? = header["alg"] else { throw .malformed }
        guard let algorithm = TokenAlgorithm.allCases.first(where: { $0.rawValue.isSame(as: name) }) else {
            throw .algorithm
        }
        self.algorithm = algorithm
        keyName = try header["kid"].map { value throws(TokenFault) in
            guard case .string(let name) = value, name.utf8.count <= Self.maximumName else { throw .malformed }
            return name
        }
    }

    /// `jwt`, which one without a type is too, or `at+jwt`; nil for every other.
    private static func type(_ value: JSONValue?) throws(TokenFault) -> String? {
        guard let value else { return "jwt" }
        guard case .string(let name) = value else { throw .malformed }
        // Nothing longer is compared: texts are so in a normal form, which costs more than they are long.
        guard name.utf8.count <= maximumType else { return nil }
        let plain = name.lowercased().trimmingPrefix("application/")
        return ["jwt", "at+jwt"].first { $0 == plain }
    }

    private static func object(_ part: ArraySlice<UInt8>) throws(TokenFault) -> [JSONMember] {
        // A member that is there twice means two things to two readers: it is none here.
        guard let bytes = bytes(part), case .object(let members)? = try? JSONParser.parse(bytes) else {
            throw .malformed
        }
        return members
    }

    /// The bytes of base64url without padding; nil for every other spelling of them.
    static func bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let isPlain = text.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isPlain, text.count % 4 != 1 else { return nil }
        var padded = text.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        padded += [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: Data(padded)), data.base64EncodedData() == Data(padded) else { return nil }
        return Array(data)
    }
}

extension [JSONMember] {
    /// When a token with these claims ends, whose time it is: in seconds, the leeway included.
    ///
    /// - Throws: ``TokenFault`` `malformed`, `expired` and `early`.
    func end(at now: Timestamp) throws(TokenFault) -> Int64 {
        let now = Double(now.seconds)
        let leeway = Double(TokenPolicy.leeway)
        guard let end = try time("exp") else { throw .malformed }
        guard now < end + leeway else { throw .expired }
        for name in ["nbf", "iat"] {
            if let start = try time(name), now < start - leeway { throw .early }
        }
        return Int64(end) + TokenPolicy.leeway
    }

    /// When it was issued, in seconds; nil where it does not say.
    var issuedAt: Int64? { get throws(TokenFault) { try time("iat").map { Int64($0) } } }

    /// Its `jti`; nil for one that has none that can be named.
    var tokenID: String? {
        guard case .string(let id)? = self["jti"], TokenSubject.allows(id) else { return nil }
        return id
    }

    /// A time that can be reckoned with.
    private func time(_ name: String) throws(TokenFault) -> Double? {
        guard let value = self[name] else { return nil }
        // To the year 9999.
        guard case .number(let number) = value, (0...253_402_300_799).contains(number.double) else { throw .malformed }
        return number.double
    }

    /// The texts of a claim that is a text, or a list of texts; nil for anything else.
    func texts(_ name: String) -> [String]? {
        switch self[name] {
        case .string(let text)?: return [text]
        case .array(let elements)?:
            let texts = elements.compactMap { element -> String? in
                guard case .string(let text) = element else { return nil }
                return text
            }
            return texts.count == elements.count ? texts : nil
        default: return nil
        }
    }

    /// The name of the tenant that a token is of, as an operator has said how it is found.
    ///
    /// - Throws: ``TokenFault`` `tenant`.
    func tenant(of owner: TokenPolicy.Owner) throws(TokenFault) -> String {
        switch owner {
        case .tenant(let name): return name
        case .claim(let claim):
            guard case .string(let name)? = self[claim], !name.isEmpty, name.utf8.count <= SignedToken.maximumName
            else { throw .tenant }
            return name
        }
    }
}

/// Why a token is refused: for the metric alone, as a client is told nothing of it.
enum TokenFault: String, Error, CaseIterable {
    /// It is no token, or has a member that is not of its kind.
    case malformed
    /// Its algorithm is not allowed.
    case algorithm
    /// The issuer has no key of the name that it gives, or none for its algorithm.
    case key
    case signature
    case issuer
    case audience
    case expired
    /// Its time has not come.
    case early
    case subject
    /// It names no tenant that there is.
    case tenant
    /// An operator has revoked it.
    case revoked
    /// It was made for another client of its issuer.
    case party
    /// It was not made for this sign-in.
    case nonce
}
