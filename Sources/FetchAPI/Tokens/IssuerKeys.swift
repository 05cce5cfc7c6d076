import FetchJobs
import JWTKit

/// The public keys of an issuer: a JSON Web Key Set (RFC 7517), read strictly.
package struct IssuerKeys: Sendable {
    /// The longest set that is read, in bytes.
    package static let maximumBytes = 256 * 1024
    static let maximumKeys = 100
    /// The longest member of a key: the modulus of 8192 bits as base64url.
    private static let maximumMember = 1366

    /// Why a text is no set of keys, or a key of it is not used; it quotes nothing of a key but its name.
    package struct Fault: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    private struct Key: Sendable {
        let name: String?
        let verifiers: [TokenAlgorithm: any JWTAlgorithm]
    }

    private let keys: [Key]
    /// The keys that are not used, with the reasons.
    package let faults: [Fault]

    /// Reads a set; keys that are not for checking signatures, or not fit for it, are left out.
    ///
    /// - Throws: ``Fault`` when it is no set, or no key of it can be used.
    package init(_ text: [UInt8]) async throws {
        guard text.count <= Self.maximumBytes else {
            throw Fault(description: "has more than \(Self.maximumBytes) bytes")
        }
        guard case .object(let members)? = try? JSONParser.parse(text), case .array(let values)? = members["keys"]
        else {
            throw Fault(description: "is no JSON Web Key Set")
        }
        guard values.count <= Self.maximumKeys else {
            throw Fault(description: "has more than \(Self.maximumKeys) keys")
        }
        var (keys, faults) = ([Key](), [Fault]())
        for (index, value) in values.enumerated() {
            do {
                guard let key = try await Self.key(value) else { continue }
                let isNew = !keys.contains { other in
                    other.name == key.name && !Set(other.verifiers.keys).isDisjoint(with: key.verifiers.keys)
                }
                guard isNew || key.name == nil else { throw Fault(description: "has the name of another") }
                keys.append(key)
            } catch {
                let reason = (error as? Fault)?.description ?? "is no public key that signatures can be checked with"
                faults.append(Fault(description: "key \(index + 1) \(reason)"))
            }
        }
        guard !keys.isEmpty else {
            throw Fault(
                description: (["has no key for signatures"] + faults.map(\.description)).joined(separator: "; "))
        }
        self.keys = keys
        self.faults = faults
    }

    /// Whether a token that names its key so can be checked.
    func has(_ name: String?) -> Bool { name == nil || keys.contains { $0.name == name } }

    /// - Throws: ``TokenFault`` `key` and `signature`.
    func check(_ token: SignedToken) throws(TokenFault) {
        let fitting = keys.compactMap { key in
            token.keyName == nil || token.keyName == key.name ? key.verifiers[token.algorithm] : nil
        }
        // A token without the name of its key is one of the only key that it can be of.
        guard let verifier = fitting.first, fitting.count == 1 else { throw .key }
        guard (try? verifier.verify(token.signature, signs: token.message)) == true else { throw .signature }
    }

    // MARK: Keys

    /// Nil for a key that is for something else.
    private static func key(_ value: JSONValue) async throws -> Key? {
        guard case .object(let members) = value else { throw Fault(description: "is no object") }
        if let use = try text("use", members), use != "sig" { return nil }
        if case .array(let operations)? = members["key_ops"], !operations.contains(.string("verify")) { return nil }
        // Whoever can read the set could sign with such a key.
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] where members[name] != nil {
            throw Fault(description: "holds a private key: publish the public one alone, and make a new one")
        }
        let name = try text("kid", members)
        guard name.map({ $0.utf8.count <= SignedToken.maximumName }) ?? true else {
            throw Fault(description: "has a longer name than \(SignedToken.maximumName) bytes")
        }
        let jwk: JWK
        let possible: [TokenAlgorithm]
        let identifier = JWKIdentifier(string: name ?? "")
        switch try text("kty", members) {
        case "RSA":
            possible = [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
            jwk = .rsa(
                nil, identifier: identifier, modulus: try number("n", members), exponent: try number("e", members))
        case "EC":
            let curves: [String: (TokenAlgorithm, ECDSACurve)] = [
                "P-256": (.es256, .p256), "P-384": (.es384, .p384), "P-521": (.es512, .p521),
            ]
            guard let (algorithm, curve) = try text("crv", members).flatMap({ curves[$0] }) else { return nil }
            possible = [algorithm]
            jwk = .ecdsa(
                nil, identifier: identifier, x: try number("x", members), y: try number("y", members), curve: curve)
        case "OKP":
            guard try text("crv", members) == "Ed25519" else { return nil }
            possible = [.edDSA, .ed25519]
            jwk = .octetKeyPair(nil, identifier: identifier, x: try number("x", members), y: nil, curve: .ed25519)
        default: return nil
        }
        let own = try text("alg", members)
        var verifiers: [TokenAlgorithm: any JWTAlgorithm] = [:]
        for algorithm in possible where own == nil || own == algorithm.rawValue {
            var key = jwk
            // The library knows the one algorithm by its older name.
            key.algorithm = algorithm == .ed25519 ? .eddsa : JWK.Algorithm(rawValue: algorithm.rawValue)
            verifiers[algorithm] = try await JWTKeyCollection().add(jwk: key).getKey(for: identifier)
        }
        return verifiers.isEmpty ? nil : Key(name: name, verifiers: verifiers)
    }

    private static func text(_ name: String, _ members: [JSONMember]) throws -> String? {
        guard let value = members[name] else { return nil }
        guard case .string(let text) = value else { throw Fault(description: "has no text as \(name)") }
        return text
    }

    private static func number(_ name: String, _ members: [JSONMember]) throws -> String {
        guard let text = try text(name, members), text.utf8.count <= maximumMember,
            SignedToken.bytes(Array(text.utf8)[...]) != nil
        else { throw Fault(description: "has no number as \(name)") }
        return text
    }
}
