import Crypto
import FetchJobs
import FetchRuntime
import Foundation
import HTTPTypes
import Logging
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

/// What JSON Web Tokens prove, and what is done to them.
@Suite struct TokenAuthenticatorTests {
    private static let now: Int64 = 2_000_000_000

    /// An authenticator over an issuer's keys, which can change, at a time that stands still.
    private final class Scene: Sendable {
        let issuer: TestIssuer
        let tenants = MemoryTenantStore(["other", "test"])
        let revocations = MemoryTokenRevocationStore()
        let metrics = MetricsRegistry()
        let tokens: TokenAuthenticator
        private let source: Source

        private final class Source: Sendable {
            let state: Mutex<(text: [UInt8]?, count: Int)>

            init(_ text: [UInt8]) { state = Mutex((text, 0)) }

            func load() throws -> [UInt8] {
                try state.withLock { state in
                    state.count += 1
                    guard let text = state.text else { throw StoreError(.failed, "away") }
                    return text
                }
            }
        }

        init(_ change: (inout TokenPolicy) -> Void = { _ in }, keys: ((TestIssuer) throws -> [UInt8])? = nil)
            async throws
        {
            issuer = try TestIssuer()
            let source = Source(try keys?(issuer) ?? issuer.keys)
            self.source = source
            var policy = TokenPolicy(issuer: TestIssuer.name, audience: "fetchd", owner: .claim("tenant"))
            change(&policy)
            let known = KnownIssuerKeys(
                interval: .seconds(600), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ) { try source.load() }
            tokens = TokenAuthenticator(
                policy: policy, keys: known, tenants: tenants, revocations: revocations, metrics: metrics,
                now: { Timestamp(microseconds: TokenAuthenticatorTests.now * 1_000_000) })
            #expect(await known.refresh())
        }

        /// Changes what the source has; nil when it is away.
        func publish(_ text: [UInt8]?) { source.state.withLock { $0.text = text } }

        /// How often the keys were read.
        var readings: Int { source.state.withLock { $0.count } }

        func key(_ claims: String, algorithm: String = "ES256", header: String? = nil) async throws -> APIKey? {
            try await tokens.key(of: try await issuer.token(claims, algorithm: algorithm, header: header), from: nil)
        }

        /// Why a token is refused that has these claims instead of the right ones; nil when it is taken.
        func fault(_ changes: [String: String?]) async throws -> String? {
            let key = try await key(TestIssuer.claims(at: TokenAuthenticatorTests.now, changes))
            return key == nil ? lastFault : nil
        }

        /// The one reason of all refusals so far.
        var lastFault: String? {
            metrics.text.firstMatch(of: /fetchd_tokens_refused_total\{reason="(\w+)"\}/).map { String($0.1) }
        }
    }

    private static let right = TestIssuer.claims(at: now)

    // MARK: Revoked ones

    @Test func `a revoked token is refused, and others of its subject are not`() async throws {
        let scene = try await Scene()
        _ = try await scene.revocations.revoke(.token("stolen"))
        #expect(try await scene.fault(["jti": "\"stolen\""]) == "revoked")
        for id in ["\"other\"", nil, "7", "\"\""] as [String?] {
            #expect(try await scene.key(TestIssuer.claims(at: Self.now, ["jti": id])) != nil)
        }
    }

    @Test func `the tokens of a revoked subject are refused, but for those that were issued later`() async throws {
        let scene = try await Scene()
        scene.revocations.revoke(subject: "ada", at: Self.now - 100)
        func claims(_ issued: Int64?) -> [String: String?] { ["iat": issued.map { "\($0)" }] }
        for issued in [nil, Self.now - 500, Self.now - 100, Self.now - 100 + TokenRevocation.leeway] {
            #expect(try await scene.fault(claims(issued)) == "revoked", "\(String(describing: issued))")
        }
        let later = claims(Self.now - 99 + TokenRevocation.leeway)
        #expect(try await scene.key(TestIssuer.claims(at: Self.now, later)) != nil)
        let other = claims(nil).merging(["sub": "\"bob\""]) { $1 }
        #expect(try await scene.key(TestIssuer.claims(at: Self.now, other)) != nil)
    }

    // MARK: Right ones

    @Test(arguments: ["ES256", "EdDSA", "Ed25519", "RS256", "RS512", "PS256", "PS512"])
    func `a token of the issuer has the rights that its claims say`(algorithm: String) async throws {
        let scene = try await Scene()
        let key = try #require(try await scene.key(Self.right, algorithm: algorithm))
        #expect(key.tenant == Tenant.ID(rawValue: 2) && key.spec.scopes == [.readJobs, .writeJobs])
        #expect(key.auditName == "https://issuer.example/ ada" && key.storedID == nil && !key.spec.seesPart)
        #expect(key.spec.expiresAt?.seconds == Self.now + 360)
        let again = try await scene.key(TestIssuer.claims(at: Self.now, ["jti": "\"2\""]), algorithm: algorithm)
        #expect(again?.id == key.id)
        let other = try await scene.key(TestIssuer.claims(at: Self.now, ["sub": "\"bob\""]), algorithm: algorithm)
        #expect(other.map { $0.id != key.id } == true)
    }

    @Test(
        arguments: [
            (["scope": #"["jobs:read", "limits"]"#], [.readJobs, .limits]), (["scope": nil], []), (["scope": "7"], []),
            (["scope": "\"keys admin webhooks unheard:of\""], [.webhooks]), (["scope": #"["jobs:read", 1]"#], []),
        ] as [([String: String?], Set<Scope>)])
    func `scopes that are unknown or not allowed are left out`(
        _ changes: [String: String?], _ scopes: Set<Scope>
    ) async throws {
        let scene = try await Scene()
        #expect(try await scene.key(TestIssuer.claims(at: Self.now, changes))?.spec.scopes == scopes)
    }

    @Test func `the operator says which claims name tenant and scopes, and which scopes there may be`() async throws {
        let scene = try await Scene { policy in
            policy.owner = .tenant("other")
            policy.scopeClaim = "https://a.example/roles"
            policy.scopes = [.admin]
        }
        let claims = TestIssuer.claims(
            at: Self.now, ["tenant": nil, "https://a.example/roles": #"["admin", "jobs:read"]"#])
        let key = try #require(try await scene.key(claims))
        #expect(key.tenant == Tenant.ID(rawValue: 1) && key.spec.scopes == [.admin])
    }

    // MARK: Claims

    @Test(
        arguments: [
            (["iss": "\"https://issuer.example\""], "issuer"), (["iss": nil], "issuer"), (["iss": "[]"], "issuer"),
            (["aud": "\"other\""], "audience"), (["aud": nil], "audience"), (["aud": "[]"], "audience"),
            (["aud": #"["fetchd", 1]"#], "audience"), (["aud": #"{"fetchd": 1}"#], "audience"),
            (["exp": "\(now - 60)"], "expired"), (["exp": "0"], "expired"), (["exp": nil], "malformed"),
            (["exp": "\"\(now + 300)\""], "malformed"), (["exp": "1e999"], "malformed"), (["exp": "-1"], "malformed"),
            (["exp": "true"], "malformed"), (["exp": "null"], "malformed"),
            (["nbf": "\(now + 61)"], "early"), (["nbf": "\"x\""], "malformed"), (["iat": "\(now + 61)"], "early"),
            (["sub": nil], "subject"), (["sub": "\"\""], "subject"), (["sub": "\"a\\n\""], "subject"),
            (["sub": "\"\(String(repeating: "a", count: 257))\""], "subject"), (["sub": "1"], "subject"),
            (["tenant": nil], "tenant"), (["tenant": "\"nobody\""], "tenant"), (["tenant": "\"\""], "tenant"),
            (["tenant": "2"], "tenant"), (["tenant": #"["test"]"#], "tenant"),
            (["aud": #"["x", "fetchd"]"#], nil), (["exp": "\(now - 59)"], nil), (["exp": "\(now).5"], nil),
            (["nbf": "\(now + 60)"], nil), (["iat": "\(now + 60)"], nil),
        ] as [([String: String?], String?)])
    func `each claim is what it has to be, clocks being a minute apart at most`(
        _ changes: [String: String?], _ fault: String?
    ) async throws {
        #expect(try await Scene().fault(changes) == fault, "\(changes)")
    }

    // MARK: Attacks

    @Test func `a token is signed with the algorithm and the key of the issuer, and not as it says itself`()
        async throws
    {
        let scene = try await Scene()
        let own = scene.issuer.ellipticKey("ec")
        let headers: [(String, String, String)] = [
            // Without a signature, and with the public key as a shared secret.
            (#"{"alg": "none"}"#, "none", "malformed"), (#"{"alg": "none", "kid": "rsa"}"#, "ES256", "algorithm"),
            (#"{"alg": "NONE", "kid": "rsa"}"#, "ES256", "algorithm"),
            (#"{"alg": "HS256", "kid": "rsa"}"#, "HS256", "algorithm"),
            // The name of one algorithm, and the signature of another.
            (#"{"alg": "RS256", "kid": "rsa"}"#, "HS256", "signature"),
            (#"{"alg": "RS256", "kid": "rsa"}"#, "PS256", "signature"),
            (#"{"alg": "ES256", "kid": "ec"}"#, "EdDSA", "signature"),
            (#"{"alg": "RS256", "kid": "ec"}"#, "RS256", "key"), (#"{"alg": "ES256", "kid": "ed"}"#, "ES256", "key"),
            (#"{"alg": "ES384", "kid": "ec"}"#, "ES256", "key"),
            // Keys that the token brings along.
            (#"{"alg": "ES256", "kid": "x", "jwk": \#(own), "jku": "https://a.example/"}"#, "ES256", "key"),
            (#"{"alg": "ES256", "kid": "../../ec"}"#, "ES256", "key"),
            (#"{"alg": "ES256", "kid": 1}"#, "ES256", "malformed"),
            (#"{"alg": "ES256", "kid": "\#(String(repeating: "k", count: 257))"}"#, "ES256", "malformed"),
            (#"{"alg": "ES256", "kid": "ec", "crit": ["b64"], "b64": false}"#, "ES256", "malformed"),
            (#"{"alg": "ES256", "kid": "ec", "typ": "logout+jwt"}"#, "ES256", "malformed"),
            (#"{"alg": "ES256", "kid": "ec", "alg": "ES256"}"#, "ES256", "malformed"),
            (#"{"kid": "ec"}"#, "ES256", "malformed"), (#"{"alg": ["ES256"], "kid": "ec"}"#, "ES256", "malformed"),
            ("[]", "ES256", "malformed"), ("", "ES256", "malformed"),
        ]
        for (header, algorithm, fault) in headers {
            let fresh = try await Scene()
            #expect(try await fresh.key(Self.right, algorithm: algorithm, header: header) == nil, "\(header)")
            #expect(fresh.lastFault == fault, "\(header)")
        }
        #expect(
            try await scene.key(Self.right, header: #"{"alg": "ES256", "typ": "application/AT+JWT", "kid": "ec"}"#)
                != nil)
        // Its key is the only one that it can be of.
        #expect(try await scene.key(Self.right, header: #"{"alg": "ES256"}"#) != nil)
    }

    @Test func `an algorithm that the operator does not allow is refused, whatever its key`() async throws {
        let scene = try await Scene { $0.algorithms = [.es256] }
        #expect(try await scene.key(Self.right, algorithm: "RS256") == nil)
        #expect(scene.lastFault == "algorithm")
        #expect(try await scene.key(Self.right) != nil)
    }

    @Test func `no changed byte, doubled claim, padding or other spelling of a token is taken`() async throws {
        let scene = try await Scene()
        let token = try await scene.issuer.token(Self.right)
        #expect(try await scene.tokens.key(of: token, from: nil) != nil)
        for index in token.indices where token[index] != "." {
            var changed = token
            changed.replaceSubrange(index...index, with: token[index] == "A" ? "B" : "A")
            let key = try await scene.tokens.key(of: changed, from: nil)
            #expect(key == nil, "\(token.distance(from: token.startIndex, to: index))")
        }
        let parts = token.split(separator: ".")
        let others = [
            "", ".", "..", "...", "a.b.c", "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(token).",
            ".\(token)",
            "\(token)=", " \(token)", "\(token)\n", "\(parts[0])..\(parts[2])", "\(token).\(parts[2])",
        ]
        for other in others { #expect(try await scene.tokens.key(of: other, from: nil) == nil, "\(other)") }
        for claim in [#""sub": "root""#, #""exp": 1"#, #""s\u0075b": "root""#] {
            let doubled = Self.right.dropLast() + ", \(claim)}"
            #expect(try await scene.key(String(doubled)) == nil, "\(claim)")
        }
    }

    @Test func `a token that is too long is not even looked at`() async throws {
        let scene = try await Scene()
        let fill = { (count: Int) in
            TestIssuer.claims(at: Self.now, ["x": "\"\(String(repeating: "x", count: count))\""])
        }
        #expect(try await scene.key(fill(5000)) != nil)
        #expect(try await scene.key(fill(8200)) == nil)
        let deep = String(repeating: "[", count: 3000) + String(repeating: "]", count: 3000)
        #expect(try await scene.key(TestIssuer.claims(at: Self.now, ["x": deep])) == nil)
        let start = ContinuousClock.now
        #expect(try await scene.tokens.key(of: String(repeating: "e.", count: 5_000_000), from: nil) == nil)
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    // MARK: Keys of the issuer

    @Test func `however many tokens name keys that are not known, the keys are read anew once a minute`() async throws {
        let scene = try await Scene()
        try await withThrowingTaskGroup(of: Void.self) { group async throws in
            group.addTask { try await scene.tokens.keys.run() }
            for number in 0..<200 {
                let header = #"{"alg": "ES256", "kid": "unknown \#(number)"}"#
                #expect(try await scene.key(Self.right, header: header) == nil)
            }
            // At the start of the service, by the first of these, and no more.
            #expect((2...3).contains(scene.readings), "\(scene.readings)")
            #expect(try await scene.key(Self.right) != nil)
            group.cancelAll()
        }
    }

    @Test func `a new key is taken once a token names it, and one that is gone is not`() async throws {
        let scene = try await Scene()
        try await withThrowingTaskGroup(of: Void.self) { group async throws in
            group.addTask { try await scene.tokens.keys.run() }
            try await until { scene.readings == 2 }
            scene.publish(TestIssuer.set([scene.issuer.ellipticKey("new")]))
            let header = #"{"alg": "ES256", "kid": "new"}"#
            // The second reading may still be on its way, with the keys from before.
            try await until { try await scene.key(Self.right, header: header) != nil }
            #expect(try await scene.key(TestIssuer.claims(at: Self.now, ["jti": "\"1\""])) == nil)
            group.cancelAll()
        }
    }

    @Test func `the keys stay when they cannot be read, or when what is read is none`() async throws {
        let scene = try await Scene()
        for text in [nil, [], Array("{}".utf8), TestIssuer.set([])] as [[UInt8]?] {
            scene.publish(text)
            #expect(await !scene.tokens.keys.refresh())
            #expect(try await scene.key(TestIssuer.claims(at: Self.now, ["jti": "\"\(scene.readings)\""])) != nil)
        }
    }

    @Test func `a key that is private, for something else or too weak is not used`() async throws {
        let issuer = try TestIssuer()
        let good = issuer.ellipticKey()
        let short =
            #"{"kty": "RSA", "kid": "s", "e": "AQAB", "n": "\#(TestIssuer.text([UInt8](repeating: 0xC1, count: 128)))"}"#
        let cases: [(String, String?)] = [
            (issuer.ellipticKey("p", more: #", "d": "AAAA""#), "private"),
            (try issuer.rsaKey(more: #", "p": "AAAA""#), "private"),
            (#"{"kty": "oct", "kid": "o", "k": "AAAA"}"#, "private"), (good, "name of another"),
            (short, "no public key"),
            (#"{"kty": "EC", "crv": "P-256", "kid": "z", "x": "AAAA", "y": "AAAA"}"#, "no public key"),
            (#"{"kty": "RSA", "kid": "m", "e": "AQAB"}"#, "no number as n"), (#"{"kty": 1}"#, "no text as kty"),
            ("7", "no object"), (issuer.ellipticKey("e", more: #", "use": "enc""#), nil),
            (issuer.ellipticKey("w", more: #", "key_ops": ["wrapKey"]"#), nil),
            (issuer.ellipticKey("h", more: #", "alg": "HS256""#), nil), (#"{"kty": "future"}"#, nil),
            (#"{"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"}"#, nil),
        ]
        for (key, fault) in cases {
            let keys = try await IssuerKeys(TestIssuer.set([good, key]))
            #expect(keys.faults.count == (fault == nil ? 0 : 1), "\(key): \(keys.faults)")
            #expect(fault.map { keys.faults.first?.description.contains($0) == true } ?? true, "\(key): \(keys.faults)")
            #expect(!"\(keys.faults)".contains("AAAA"))
            await #expect(throws: (any Error).self) {
                try await IssuerKeys(TestIssuer.set(fault == "name of another" ? [] : [key]))
            }
        }
        await #expect(throws: IssuerKeys.Fault.self) {
            try await IssuerKeys([UInt8](repeating: UInt8(ascii: " "), count: IssuerKeys.maximumBytes + 1))
        }
    }

    // MARK: Over the API

    // Proves: SEC-43.
    @Test func `a token that proves nothing gets what a wrong key gets, and counts as one`() async throws {
        let server = try await TestServer()
        let issuer = try TestIssuer()
        try await server.listen { configuration in
            configuration.tokens = TokenPolicy(issuer: TestIssuer.name, audience: "fetchd", owner: .tenant("a/b"))
        } _: { port, _ async throws in
            let good = try await issuer.token(TestIssuer.claims(at: Timestamp.now.seconds))
            var bodies: Set<String> = []
            for text in ["fk_x", "a.b.c", good, "\(good)A"] {
                let answer = try await WireTests.exchange(
                    "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nRequest-Id: same\r\nAuthorization: Bearer \(text)\r\n"
                        + "Connection: close\r\n\r\n", port: port)
                #expect(answer.hasPrefix("HTTP/1.1 401"))
                bodies.insert(String(answer.split(separator: "\r\n\r\n").last ?? ""))
            }
            #expect(bodies.count == 1, "\(bodies)")
            #expect(server.audit.all.allSatisfy { $0.actor == "anonymous" })
        }
    }
}
