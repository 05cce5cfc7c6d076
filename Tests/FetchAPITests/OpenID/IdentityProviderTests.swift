import FetchJobs
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

/// What an identity provider's ID tokens prove, and what is done to them.
@Suite struct IdentityProviderTests {
    private static let now: Int64 = 2_000_000_000

    /// A provider that answers as it is told, at a time that stands still.
    private final class Scene: Sendable {
        private final class Stand: Sendable {
            struct State {
                var configuration: String
                var keys: [UInt8]
                var token: (status: Int, body: String) = (200, "{}")
                var requests: [ProviderRequest] = []
            }

            let state: Mutex<State>

            init(_ state: State) { self.state = Mutex(state) }

            func answer(_ request: ProviderRequest) -> ProviderAnswer {
                state.withLock { state in
                    state.requests.append(request)
                    if request.url.hasSuffix("/openid-configuration") {
                        return ProviderAnswer(status: 200, body: Array(state.configuration.utf8))
                    }
                    if request.form == nil { return ProviderAnswer(status: 200, body: state.keys) }
                    return ProviderAnswer(status: state.token.status, body: Array(state.token.body.utf8))
                }
            }
        }

        let issuer: TestIssuer
        let provider: IdentityProvider
        let attempt = SignInAttempt(leadingTo: "/dashboard", now: IdentityProviderTests.now)
        private let stand: Stand

        init(
            configuration: String = ProviderMetadataTests.configuration(),
            _ change: (inout OpenIDPolicy) -> Void = { _ in }
        ) async throws {
            issuer = try TestIssuer()
            let stand = Stand(Stand.State(configuration: configuration, keys: try issuer.keys))
            self.stand = stand
            var policy = OpenIDPolicy(
                issuer: TestIssuer.name, clientID: "fetchd", dashboard: "https://dash.example", name: "Issuer",
                owner: .tenant("default"), values: [.viewer: ["staff", "all"], .admin: ["root"]])
            change(&policy)
            provider = IdentityProvider(
                policy, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: { Timestamp(microseconds: IdentityProviderTests.now * 1_000_000) }, ask: { stand.answer($0) })
            _ = await provider.keys.refresh()
        }

        var requests: [ProviderRequest] { stand.state.withLock { $0.requests } }

        func answerCode(_ status: Int, _ body: String) { stand.state.withLock { $0.token = (status, body) } }

        func claims(_ changes: [String: String?] = [:]) -> String {
            let own: [String: String?] = [
                "iat": "\(IdentityProviderTests.now)", "nonce": "\"\(attempt.nonce)\"", "groups": #"["staff"]"#,
            ]
            return TestIssuer.claims(at: IdentityProviderTests.now, own.merging(changes) { $1 })
        }

        func person(_ code: String = "code") async throws -> IdentityProvider.Person {
            let metadata = try #require(await provider.metadata(from: nil))
            return try await provider.person(by: code, of: attempt, metadata, from: nil)
        }

        func person(
            _ changes: [String: String?], algorithm: String = "RS256", header: String? = nil,
            by other: TestIssuer? = nil
        ) async throws -> IdentityProvider.Person {
            let token = try await (other ?? issuer).token(claims(changes), algorithm: algorithm, header: header)
            answerCode(200, #"{"access_token": "a", "token_type": "Bearer", "id_token": "\#(token)"}"#)
            return try await person()
        }

        /// Why a token is refused; nil when it is taken.
        func fault(_ body: () async throws -> IdentityProvider.Person) async throws -> String? {
            do { _ = try await body() } catch let fault as TokenFault { return fault.rawValue }
            return nil
        }
    }

    // MARK: Right ones

    @Test(arguments: ["RS256", "PS256", "ES256", "EdDSA"])
    func `an ID token says who somebody is and what he may do`(algorithm: String) async throws {
        let person = try await Scene().person([:], algorithm: algorithm)
        #expect(person.subject.description == "https://issuer.example/ ada")
        #expect(person.role == .viewer && person.tenant == "default")
    }

    @Test(
        arguments: [
            (#"["all", "root"]"#, .admin), (#"["root", "staff"]"#, .admin), ("\"staff\"", .viewer),
            ("\"all\"", .viewer),
            (#"["Staff"]"#, nil), (#"["staffs"]"#, nil), ("\"staff all\"", nil), ("[]", nil), (nil, nil), ("1", nil),
            (#"{"staff": true}"#, nil), (#"["staff", 1]"#, nil), ("\"viewer\"", nil), ("\"\"", nil),
        ] as [(String?, Role?)])
    func `the highest role counts that a value of the claim gives, and others give none`(
        _ groups: String?, _ role: Role?
    ) async throws {
        #expect(try await Scene().person(["groups": groups]).role == role, "\(groups ?? "none")")
    }

    @Test func `the operator says which claims have the role and the tenant`() async throws {
        let scene = try await Scene { policy in
            policy.owner = .claim("org")
            policy.roleClaim = "https://a.example/roles"
        }
        let person = try await scene.person(["https://a.example/roles": "\"root\"", "org": "\"a/b\""])
        #expect(person.role == .admin && person.tenant == "a/b")
        #expect(try await scene.person(["org": nil]).tenant == nil)
    }

    @Test func `an address makes a role when the provider has verified it`() async throws {
        let scene = try await Scene { policy in
            policy.roleClaim = "email"
            policy.values = [.operator: ["ada@a.example"]]
        }
        for (verified, role) in [("true", .operator), ("false", nil), (nil, nil), ("\"true\"", nil)]
            as [(String?, Role?)]
        {
            let person = try await scene.person(["email": "\"ada@a.example\"", "email_verified": verified])
            #expect(person.role == role, "\(verified ?? "none")")
        }
    }

    // MARK: Wrong ones

    @Test(
        arguments: [
            (["iss": "\"https://issuer.example\""], "issuer"), (["iss": nil], "issuer"),
            (["aud": "\"other\""], "audience"), (["aud": nil], "audience"), (["aud": "[]"], "audience"),
            (["aud": #"["fetchd", "other"]"#], "party"), (["azp": "\"other\""], "party"), (["azp": "1"], "party"),
            (["aud": #"["fetchd", "other"]"#, "azp": "\"other\""], "party"),
            (["exp": "\(now - 60)"], "expired"), (["exp": nil], "malformed"), (["exp": "\"\(now + 9)\""], "malformed"),
            (["nbf": "\(now + 61)"], "early"), (["iat": "\(now + 61)"], "early"), (["iat": nil], "malformed"),
            (["nonce": nil], "nonce"), (["nonce": "\"x\""], "nonce"), (["nonce": "[]"], "nonce"),
            (["sub": nil], "subject"), (["sub": "\"\""], "subject"), (["sub": "\"a\\n\""], "subject"),
            (["sub": "1"], "subject"), (["sub": "\"\(String(repeating: "a", count: 257))\""], "subject"),
            (["aud": #"["fetchd"]"#], nil), (["azp": "\"fetchd\""], nil), (["exp": "\(now - 59)"], nil),
            (["aud": #"["other", "fetchd"]"#, "azp": "\"fetchd\""], nil), (["nbf": "\(now + 60)"], nil),
        ] as [([String: String?], String?)])
    func `each claim is what it has to be, clocks being a minute apart at most`(
        _ changes: [String: String?], _ fault: String?
    ) async throws {
        let scene = try await Scene()
        #expect(try await scene.fault { try await scene.person(changes) } == fault, "\(changes)")
    }

    @Test func `a token is signed with a key of the provider, and not as it says itself`() async throws {
        let scene = try await Scene()
        let other = try TestIssuer()
        let cases: [(String?, String, TestIssuer?, String)] = [
            (nil, "ES256", other, "signature"), (nil, "EdDSA", other, "signature"),
            (#"{"alg": "none"}"#, "none", nil, "malformed"),
            (#"{"alg": "none", "kid": "ec"}"#, "ES256", nil, "algorithm"),
            (#"{"alg": "HS256", "kid": "rsa"}"#, "HS256", nil, "algorithm"),
            (#"{"alg": "RS256", "kid": "rsa"}"#, "HS256", nil, "signature"),
            (#"{"alg": "ES256", "kid": "x", "jwk": \#(other.ellipticKey("x"))}"#, "ES256", other, "key"),
            (#"{"alg": "ES256", "kid": "ec", "typ": "at+jwt"}"#, "ES256", nil, "malformed"),
            (#"{"alg": "ES256", "kid": "ec", "crit": ["x"], "x": 1}"#, "ES256", nil, "malformed"),
        ]
        for (header, algorithm, issuer, expected) in cases {
            let fault = try await scene.fault {
                try await scene.person([:], algorithm: algorithm, header: header, by: issuer)
            }
            #expect(fault == expected, "\(header ?? algorithm)")
        }
    }

    @Test func `a provider that gives no token for a code is named with its error and nothing else`() async throws {
        let scene = try await Scene()
        let cases = [
            (
                400, #"{"error": "invalid_grant", "error_description": "code s3cret"}"#,
                "answers 400 to the code: invalid_grant"
            ),
            (400, #"{"error": "a\nb"}"#, "answers 400 to the code"), (500, "<html>", "answers 500 to the code"),
            (302, "", "answers 302 to the code"), (200, "", "gives no ID token for the code"),
            (200, #"{"id_token": 1}"#, "gives no ID token for the code"),
            (200, #"{"id_token": "a.b.c", "id_token": "a.b.c"}"#, "gives no ID token for the code"),
        ]
        for (status, body, reason) in cases {
            scene.answerCode(status, body)
            let fault = await #expect(throws: ProviderFault.self, "\(body)") { try await scene.person("c0de") }
            #expect(fault.map { "\($0)".hasSuffix(reason) } == true, "\(body)")
            #expect(fault.map { !"\($0)".contains("s3cret") && !"\($0)".contains("c0de") } == true)
        }
        scene.answerCode(200, #"{"id_token": "\#(String(repeating: "a", count: 70_000))"}"#)
        #expect(try await scene.fault { try await scene.person() } == "malformed")
    }

    // MARK: Requests

    @Test func `a browser is sent with a challenge, and the code with its verifier and the secret`() async throws {
        let scene = try await Scene { $0.clientSecret = "a:b/+" }
        let metadata = try #require(await scene.provider.metadata(from: nil))
        let address = scene.provider.address(of: scene.attempt, metadata)
        let parts = address.split(separator: "?", maxSplits: 1).map { String($0) }
        let query = try Query(parts[1])
        #expect(parts[0] == "https://issuer.example/authorize" && query["response_type"] == "code")
        #expect(query["redirect_uri"] == "https://dash.example/dashboard/oidc/callback" && query["scope"] == "openid")
        #expect(query["state"] == scene.attempt.state && query["nonce"] == scene.attempt.nonce)
        #expect(query["code_challenge"] == scene.attempt.challenge && query["code_challenge_method"] == "S256")
        #expect(!address.contains(scene.attempt.verifier))

        _ = try await scene.person([:])
        let request = try #require(scene.requests.last)
        let form = try Query(try #require(request.form))
        #expect(request.url == "https://issuer.example/token" && form["grant_type"] == "authorization_code")
        #expect(form["code"] == "code" && form["code_verifier"] == scene.attempt.verifier)
        #expect(form["redirect_uri"] == query["redirect_uri"] && form["client_id"] == nil)
        let pair = Data("fetchd:a%3Ab%2F%2B".utf8).base64EncodedString()
        #expect(request.authorization == "Basic \(pair)")
        #expect(!"\(scene.provider.policy)".contains("a:b"))
    }

    @Test func `a client without a secret names itself, and an address may have a query of its own`() async throws {
        let configuration = ProviderMetadataTests.configuration(["authorization_endpoint": "\"https://a.example/?p=1\""]
        )
        let scene = try await Scene(configuration: configuration)
        let metadata = try #require(await scene.provider.metadata(from: nil))
        #expect(
            scene.provider.address(of: scene.attempt, metadata).hasPrefix("https://a.example/?p=1&response_type=code&"))
        _ = try await scene.person([:])
        let request = try #require(scene.requests.last)
        #expect(request.authorization == nil)
        #expect(try Query(try #require(request.form))["client_id"] == "fetchd")
    }

    @Test func `the configuration is read once for many sign-ins, and kept when the provider is away`() async throws {
        let scene = try await Scene()
        for _ in 0..<20 { _ = try await scene.person([:]) }
        #expect(scene.requests.filter { $0.form == nil }.count == 2)
    }
}
