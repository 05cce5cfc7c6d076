import Crypto
import FetchJobs
import Foundation
import JWTKit

@testable import FetchAPI

/// An issuer of tokens with a key of each kind, which signs whatever it is given.
struct TestIssuer: Sendable {
    static let name = "https://issuer.example/"

    let elliptic = P256.Signing.PrivateKey()
    let edwards = Curve25519.Signing.PrivateKey()
    let rsa: JWTKit.Insecure.RSA.PrivateKey

    init() throws { rsa = try JWTKit.Insecure.RSA.PrivateKey(pem: Self.pem) }

    // MARK: Keys

    /// Its set: `ec`, `ed` and `rsa`, each with its public key.
    var keys: [UInt8] { get throws { Self.set([ellipticKey(), edwardsKey(), try rsaKey()]) } }

    static func set(_ keys: [String]) -> [UInt8] { Array(#"{"keys": [\#(keys.joined(separator: ", "))]}"#.utf8) }

    func ellipticKey(_ name: String = "ec", more: String = "") -> String {
        let point = elliptic.publicKey.rawRepresentation
        let (x, y) = (Self.text(point.prefix(32)), Self.text(point.suffix(32)))
        return #"{"kty": "EC", "crv": "P-256", "kid": "\#(name)", "x": "\#(x)", "y": "\#(y)"\#(more)}"#
    }

    func edwardsKey() -> String {
        let x = Self.text(edwards.publicKey.rawRepresentation)
        return #"{"kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": "\#(x)"}"#
    }

    func rsaKey(more: String = "") throws -> String {
        let primitives = try rsa.publicKey.getKeyPrimitives()
        let (n, e) = (Self.text(primitives.modulus), Self.text(primitives.publicExponent))
        return #"{"kty": "RSA", "kid": "rsa", "n": "\#(n)", "e": "\#(e)"\#(more)}"#
    }

    // MARK: Tokens

    /// Claims that are right at a time, with others instead of some; nil leaves one out.
    static func claims(at now: Int64, _ changes: [String: String?] = [:]) -> String {
        var claims: [String: String?] = [
            "iss": "\"\(name)\"", "aud": "\"fetchd\"", "sub": "\"ada\"", "exp": "\(now + 300)", "tenant": "\"test\"",
            "scope": "\"openid jobs:read jobs:write\"",
        ]
        claims.merge(changes) { $1 }
        let members = claims.compactMap { name, value in value.map { "\"\(name)\": \($0)" } }
        return "{\(members.joined(separator: ", "))}"
    }

    /// A token that is signed as its header says with the key that fits.
    func token(
        _ claims: String, algorithm: String = "ES256", header: String? = nil
    ) async throws -> String {
        let name = algorithm.hasPrefix("ES") ? "ec" : algorithm.hasPrefix("Ed") ? "ed" : "rsa"
        let header = header ?? #"{"alg": "\#(algorithm)", "kid": "\#(name)", "typ": "JWT"}"#
        let message = "\(Self.text(Data(header.utf8))).\(Self.text(Data(claims.utf8)))"
        return "\(message).\(Self.text(try await sign(Data(message.utf8), algorithm)))"
    }

    private func sign(_ message: Data, _ algorithm: String) async throws -> [UInt8] {
        switch algorithm {
        case "ES256": return Array(try elliptic.signature(for: message).rawRepresentation)
        case "EdDSA", "Ed25519": return Array(try edwards.signature(for: message))
        case "HS256":
            // The attack on verifiers that take the public key for a shared secret.
            let secret = SymmetricKey(data: Data(rsa.publicKey.pemRepresentation.utf8))
            return Array(Crypto.HMAC<SHA256>.authenticationCode(for: message, using: secret))
        case "none": return []
        default:
            let digest: DigestAlgorithm = algorithm.hasSuffix("256") ? .sha256 : .sha512
            let keys = JWTKeyCollection()
            if algorithm.hasPrefix("PS") {
                await keys.add(pss: rsa, digestAlgorithm: digest)
            } else {
                await keys.add(rsa: rsa, digestAlgorithm: digest)
            }
            return try await keys.getKey().sign(message)
        }
    }

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// For these tests alone.
    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC6vcye46bIJACW
        OJvD9fqkyq8w5Gsp7/srn70ydTo8ZbS4wNtFYRYwOGlcGFNA7FhaZsS5KSGmvuCb
        Emjyr7e1MK0XTm609jwf17mdPibtlK08CbVS3iQce15NJOxg4MtY2J2YQ0fECr26
        hMn6LX9no/k5Eg8tLSRyBRNMtIHRDNi0uT2J3bOCq4bf2QK2x9aI6tdnNJGcRilr
        uTb30+5pW6fVfusWxHswWPSYrJkq09UQUP7eB8XAoUkEmJFQPOeysSa4vmVSuREK
        i4U3htsU/3vqub6A+x2n6HK69BALDDaEBQ66Q8enh+e2LQoiXQ2CBu6QKU79zy2i
        CGXP+LShAgMBAAECggEAKHOZ4idVRxCJcgEUOOhNYaooNhKc5io+ge4p6Ua8lT3A
        3q6kMQy9ZjeqFxGL40nvP7H4VlXDHOBHPkBILJ4E0QKY1C4gzCF0177+zcGbZCar
        OhCuTyOgtezBejuP2tKHKhlOVh/o6V4cSE2ghQmbCiPahlLTp8kaFnrj+d82Kcbc
        HTWPlxrDkRWC7NyOr8l7Veo0U4ReUaDwANcFnjjuWs+79ACZ42UZFpwRZsEppclR
        PEiA+bdXD6QhmBHSj0bIz5+5MwsUudGMhm846mJOIm6eHIDwkNpNm2HcamHyp73c
        rk7MHEE9yGFbmTq0rJ6zif5O/uLkMsWyW6jnyEItGQKBgQDsVGhBeTyC9LsR9BS9
        ksoWYU5WV1vC55VHD0/JrkVkNibZ5ApYzl3guWhFONTmSYu8/tayjqdNEt/yvlHC
        TQvFvBMZ+Rw0qYPMWfU64G6OUBh/nAEv2Aff0JS9HIy/s0pQjpeZ/W+QFEk+jKOZ
        RyHKw7C9sCqvDv5/1NUyvPjSZQKBgQDKSMomPYGlxOkJQCHwixuQuMg851VH0Brc
        CRnHETsliaA/POKCXC7NP+3KZkLSwOnoxqNYPBOFb+iuEAuGKv4ihiW4qqyywAOu
        c40dT5SSQOh0VuOHGVmM4jy/oakx/+AKizdCrZplFApJEusiX2Bw6+hol50e8VCH
        HXxHGLLXjQKBgQDLmPwoS9YBy+zNzsV/fFJ1bWcboy7+fpxwF5TZXzWQ28YkuPzg
        /QiLba+S0x83Ne0Y6UL1mUgwci5U5flxtwaJVzntilruU4ukJWvLSUZ1fDNe3Ht5
        SFegTgWV1l67WC6RsAaTN29BZPik1myqxEksceJ1yKs9HWHLpwP1Li/+sQKBgHd3
        L7QP5S6ysXJeJu06Kqh5CQE3Gl2UIRjMYyX3HjhYJITUf22/5YAgfl5nsJVpi3uH
        PNcSe/D1m7SZE0VExNw837BFVEMpNcNkyPWDl1oc7WwwGKYkKYgT4Q7H+fXmiTmQ
        6Kz/fEyv3jcz7hxZucpW+OY0jH3GxOlXV5thkdXNAoGAUGEYp2cq/iViukUFLbZH
        fTm3lXjI2ZBXHcJVZcUbNOr54ZAXfVKIAjqN2XZetYyc4Vp1ho23Twjm0NmP8lAx
        i+w6++lpiqrQ3fo6qnR5ILMKdP/hu9i/ET1ITtuAHU2/bMOok/J1nZUbsi1WLtBF
        cg0fLpahK5uWqQ9Ev6ftsqQ=
        -----END PRIVATE KEY-----
        """
}
