import Foundation
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// JSON Web Tokens as bearer tokens: an issuer that another implementation of JOSE plays.
@Suite(.timeLimit(.minutes(2))) struct TokenTests {
    /// What joserfc has made: its public keys, and tokens of them by name.
    private struct Issued {
        let keys: String
        let otherKeys: String
        let tokens: [String: String]
        let privateKeys: String
    }

    private static func issue() async throws -> Issued {
        let python = try #require(LoopbackServer.python("python"), "make test prepares it")
        let output = try await onThread {
            let program = try Program([python, "-W", "ignore", "-c", script], readsOutput: true)
            let output = program.output()
            try #require(program.waitForEnd() == 0, "\(output)")
            return output
        }
        let json = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        return Issued(
            keys: try #require(member(json, "keys")), otherKeys: try #require(member(json, "otherKeys")),
            tokens: try #require(member(json, "tokens")), privateKeys: try #require(member(json, "privateKeys")))
    }

    private static let script = """
        import base64, hashlib, hmac, json, time
        from joserfc import jwt
        from joserfc.jwk import ECKey, OKPKey, RSAKey
        rsa = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"}, private=True)
        ec = ECKey.generate_key("P-384", {"kid": "ec"}, private=True)
        ed = OKPKey.generate_key("Ed25519", {"kid": "ed"}, private=True)
        new = ECKey.generate_key("P-256", {"kid": "new"}, private=True)
        now = int(time.time())
        def token(key, alg, **changes):
            claims = {"iss": "https://issuer.example", "aud": ["fetchd"], "sub": "ada", "exp": now + 600,
                "tenant": "default", "scope": "openid jobs:read jobs:write audit"} | changes
            return jwt.encode({"alg": alg, "kid": key.kid, "typ": "at+jwt"}, claims, key, algorithms=[alg])
        def text(value):
            return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        message = text(json.dumps({"alg": "HS256", "kid": "rsa"}).encode()) + "." + token(rsa, "RS256").split(".")[1]
        mac = hmac.new(rsa.as_pem(private=False), message.encode(), hashlib.sha256).digest()
        none = text(json.dumps({"alg": "none"}).encode()) + "." + token(rsa, "RS256").split(".")[1] + "."
        tokens = {
            "stolen": token(ec, "ES384", jti="one", sub="eve"), "kept": token(ec, "ES384", jti="two", sub="eve"),
            "old": token(ec, "ES384", sub="mallory", iat=now - 300), "undated": token(ec, "ES384", sub="mallory"),
            "RS256": token(rsa, "RS256"), "PS512": token(rsa, "PS512"), "ES384": token(ec, "ES384"),
            "EdDSA": token(ed, "EdDSA"), "reader": token(ec, "ES384", scope=["jobs:read"], sub="bob"),
            "admin": token(ec, "ES384", scope="admin"), "new": token(new, "ES256"),
            "!confused": message + "." + text(mac), "!none": none, "!expired": token(ec, "ES384", exp=now - 90),
            "!audience": token(ec, "ES384", aud="other"), "!issuer": token(ec, "ES384", iss="https://evil.example"),
            "!early": token(ec, "ES384", nbf=now + 3600), "!tenant": token(ec, "ES384", tenant="nobody"),
            "!foreign": token(ECKey.generate_key("P-384", {"kid": "ec"}, private=True), "ES384"),
            "!large": token(ec, "ES384", x="x" * 9000),
        }
        def keys(*all, private=False):
            return json.dumps({"keys": [key.as_dict(private=private) for key in all]})
        print(json.dumps({"keys": keys(rsa, ec, ed), "otherKeys": keys(ec, new), "tokens": tokens,
            "privateKeys": keys(ec, private=True)}))
        """

    private static let settings = [
        "JWT_ISSUER": "https://issuer.example", "JWT_AUDIENCE": "fetchd", "JWT_TENANT_CLAIM": "tenant",
    ]

    // Proves: SEC-43.
    @Test func `tokens of an issuer act as their claims say, others get what wrong keys get, and none is in a log`()
        async throws
    {
        let issued = try await Self.issue()
        let published = Mutex<String?>(issued.keys)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                guard let keys = published.withLock({ $0 }) else { return }
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(keys.utf8.count)\r\n\r\n\(keys)"
                )
            }
        }
        let settings = Self.settings.merging(["JWT_KEYS": origin.url("/keys"), "LOG_LEVEL": "info"]) { $1 }
        try await ServiceProcess.Place.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: settings
        ) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let body = #"{"request": {"url": "http://10.0.0.1/"}}"#
            for name in ["RS256", "PS512", "ES384", "EdDSA"] {
                let answer = try await service.request(.post, "/v1/jobs", body: body, key: issued.tokens[name])
                #expect(answer.status == 202, "\(name): \(answer.text)")
            }
            let jobs = try await service.request(.get, "/v1/jobs", key: issued.tokens["reader"]).json
            #expect(member(jobs, "data", as: [[String: Any]].self)?.count == 4)
            let read = try await service.request(.post, "/v1/jobs", body: body, key: issued.tokens["reader"])
            #expect(read.status == 403 && member(read.json, "code") == "scopeRequired")
            for path in ["/v1/admin/keys", "/v1/jobs", "/v1/keys"] {
                #expect(try await service.request(.get, path, key: issued.tokens["admin"]).status == 403, "\(path)")
            }

            let requestID = try #require(HTTPField.Name("Request-Id"))
            let wrong = try await service.request(.get, "/v1/jobs", headers: [requestID: "same"], key: "fk_wrong")
            for (name, token) in issued.tokens where name.hasPrefix("!") {
                let answer = try await service.request(.get, "/v1/jobs", headers: [requestID: "same"], key: token)
                #expect(answer.text == wrong.text && answer.status == 401, "\(name)")
            }
            // The keys change; then the issuer is away.
            published.withLock { $0 = issued.otherKeys }
            #expect(try await service.request(.get, "/v1/jobs", key: issued.tokens["new"]).status == 200)
            published.withLock { $0 = nil }
            #expect(try await service.request(.get, "/v1/jobs", key: issued.tokens["reader"]).status == 200)
            let gone = try await service.request(.get, "/v1/queue", key: issued.tokens["PS512"])
            #expect(gone.status == 200, "what was found is believed for five seconds")

            try await until {
                let path = "/v1/audit?actor=https://issuer.example%20bob&action=requests.refuse"
                let audit = try await service.request(.get, path, key: issued.tokens["new"]).text
                return audit.contains(#""kind":"token","key":"https://issuer.example bob""#)
            }
            let metrics = try await service.request(.get, "/metrics").text
            #expect(metrics.contains(#"fetchd_tokens_refused_total{reason="expired"} 1"#))
            let all = try await place.database.client.query("SELECT row_to_json(e)::text FROM audit_entries e")
            for token in issued.tokens.values {
                let secret = String(token.suffix(40))
                #expect(!service.logged.contains(secret))
                for row in all { #expect(try !row.decode(String.self, at: 0).contains(secret)) }
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `an operator ends a token, and all of somebody, before they expire, on every node`() async throws {
        let issued = try await Self.issue()
        try await ServiceProcess.Place.with(allowing: [], settings: Self.settings) { place in
            let key = try await place.key()
            try FileManager.default.createDirectory(atPath: place.directory, withIntermediateDirectories: true)
            let path = "\(place.directory)/keys.json"
            try issued.keys.write(toFile: path, atomically: true, encoding: .utf8)
            let own = ServiceProcess.Place(
                database: place.database, directory: place.directory,
                environment: place.environment.merging(["JWT_KEYS": path]) { $1 })
            let first = try await ServiceProcess.start(own, key: key)
            let second = try await ServiceProcess.start(own.apart, key: key)
            func status(_ name: String, at node: ServiceProcess) async throws -> Int {
                try await node.request(.get, "/v1/jobs", key: issued.tokens[name]).status
            }
            for name in ["stolen", "kept", "old", "undated"] {
                for node in [first, second] { #expect(try await status(name, at: node) == 200, "\(name)") }
            }
            let one = try await own.run("tokens", "revoke", "--id", "one")
            let all = try await own.run("tokens", "revoke", "--subject", "mallory")
            let start = ContinuousClock.now
            for name in ["stolen", "old", "undated"] {
                for node in [first, second] { try await until { try await status(name, at: node) == 401 } }
            }
            #expect(ContinuousClock.now - start < .seconds(7))
            for node in [first, second] { #expect(try await status("kept", at: node) == 200) }
            #expect(try await own.run("tokens", "list") == one + "\n" + all)
            let wrong = try await first.request(.get, "/v1/jobs", key: "fk_wrong")
            let refused = try await first.request(.get, "/v1/jobs", key: issued.tokens["stolen"])
            #expect(member(refused.json, "code") == "unauthorized" && refused.status == wrong.status)
            // Whoever signs in anew gets a token that is taken.
            let restored = try await ProgramEnd.of(
                ["tokens", "restore", String(one.prefix { $0 != " " })], own.environment)
            #expect(restored.status == 0, "\(restored.errors)")
            try await until { try await status("stolen", at: first) == 200 }
            let rows = try await place.database.client.query(
                "SELECT action, coalesce(details::text, object) FROM audit_entries WHERE action LIKE 'tokens.%' ORDER BY id"
            )
            let entries = try rows.map { "\(try $0.decode(String.self, at: 0)) \(try $0.decode(String.self, at: 1))" }
            #expect(
                entries == [
                    #"tokens.revoke {"jti":"one"}"#, #"tokens.revoke {"sub":"mallory"}"#,
                    "tokens.restore \(one.prefix { $0 != " " })",
                ])
            for node in [first, second] { #expect(try await node.stop() == 0) }
        }
    }

    @Test func `keys from a file are used, and a file without usable ones ends the start`() async throws {
        let issued = try await Self.issue()
        try await ServiceProcess.Place.with(allowing: [], settings: Self.settings) { place in
            let key = try await place.key()
            try FileManager.default.createDirectory(atPath: place.directory, withIntermediateDirectories: true)
            let path = "\(place.directory)/keys.json"
            func with(_ changes: [String: String]) -> ServiceProcess.Place {
                .init(
                    database: place.database, directory: place.directory,
                    environment: place.environment.merging(["JWT_KEYS": path].merging(changes) { $1 }) { $1 })
            }
            for (text, reason) in [
                (nil, "No such file"), ("{}", "is no JSON Web Key Set"),
                (#"{"keys": []}"#, "has no key for signatures"),
                (issued.privateKeys, "holds a private key"),
            ] as [(String?, String)] {
                if let text { try text.write(toFile: path, atomically: true, encoding: .utf8) }
                let end = try await ProgramEnd.of(["serve"], with([:]).environment)
                #expect(
                    end.status == 78 && end.errors.contains("JWT_KEYS") && end.errors.contains(reason), "\(end.errors)")
            }
            try issued.keys.write(toFile: path, atomically: true, encoding: .utf8)
            for (changes, reason) in [
                (["JWT_AUDIENCE": ""], "it needs JWT_ISSUER"), (["JWT_TENANT": "default"], "it needs JWT_ISSUER"),
                (["JWT_ALGORITHMS": "RS256 HS256"], "is not a list of RS256"),
                (["JWT_ALGORITHMS": "none"], "is not a list"),
                (["JWT_SCOPES": "jobs:read, keys"], "is not a list"),
                (["JWT_KEYS": "http://a.example/"], "an https URL"),
            ] {
                let end = try await ProgramEnd.of(["serve"], with(changes).environment)
                #expect(end.status == 78 && end.errors.contains(reason), "\(changes): \(end.errors)")
            }
            let own = with(["JWT_SCOPES": "jobs:read admin", "JWT_ALGORITHMS": "ES384"])
            let service = try await ServiceProcess.start(own, key: key)
            #expect(try await service.request(.get, "/v1/jobs", key: issued.tokens["reader"]).status == 200)
            #expect(try await service.request(.get, "/v1/jobs", key: issued.tokens["RS256"]).status == 401)
            let made = try await service.request(
                .post, "/v1/admin/keys", body: #"{"tenant": "t", "name": "n", "scopes": ["jobs:read"]}"#,
                key: issued.tokens["admin"])
            #expect(made.status == 201 && member(made.json, "createdBy", as: String.self) == nil, "\(made.text)")
            let sign = try await service.request(
                .post, "/dashboard/sign-in", body: "key=\(issued.tokens["admin"] ?? "")",
                headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base])
            #expect(sign.status == 401, "the dashboard takes keys and links")
            #expect(try await service.stop() == 0)
        }
    }
}
