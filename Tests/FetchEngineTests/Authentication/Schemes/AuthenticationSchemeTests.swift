import COpenSSL
import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The example of the documentation: proves that it knows a key without sending it.
private struct KeyedScheme: AuthenticationScheme {
    let name = "keyed"
    var isPreemptive = false

    func accepts(_ credential: Credential) -> Bool {
        guard let key = credential.password else { return false }
        return (credential.user + key).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    func authorization(
        for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
    ) async -> String? {
        guard accepts(credential), let nonce = challenge?.text("nonce"), let key = credential.password else {
            return nil
        }
        return "Keyed id=\(credential.user), proof=\(Self.proof(nonce, key))"
    }

    static func proof(_ nonce: String, _ key: String) -> String {
        let text = Array((nonce + key).utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(text, text.count, &digest)
        return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

@Suite struct AuthenticationSchemeTests {
    private static let password = Credential(user: "aladdin", password: "sesame")
    private static let token = Credential(bearerToken: "abc")
    private static let challenge = OfferedChallenge(
        scheme: "keyed", parameters: [("realm", "cave"), ("nonce", "n1")])

    private static let subjects = [
        AuthenticationSchemeContract.Subject(
            BasicScheme(), accepted: password, refused: Credential(user: "a:b", password: "c")),
        AuthenticationSchemeContract.Subject(BearerScheme(), accepted: token, refused: password),
        AuthenticationSchemeContract.Subject(KeyedScheme(), accepted: password, refused: token, challenge: challenge),
    ]

    @Test(arguments: AuthenticationSchemeContract.clauses)
    func `every scheme keeps the contract`(_ clause: Clause<AuthenticationSchemeContract.Subject>) async throws {
        for subject in Self.subjects {
            #expect(try await clause.differences(in: subject) == [], "\(subject.scheme.name): \(clause.sentence)")
        }
    }

    /// Asks for the key, beside Basic, and lets in who proves it; a nonce is good for many requests.
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isProven = head.contains("Keyed id=aladdin, proof=\(KeyedScheme.proof("n1", "sesame"))\r\n")
                let refusal =
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"cave\"\r\n"
                    + "WWW-Authenticate: Keyed realm=\"cave\", nonce=\"n1\"\r\nContent-Length: 0\r\n\r\n"
                try connection.send(isProven ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" : refusal)
            }
        }
    }

    private static func session(_ schemes: [any AuthenticationScheme], _ credential: Credential) -> Session {
        var configuration = SessionConfiguration()
        configuration.authentication.schemes = schemes
        return Session(configuration: configuration, delegate: ChallengeLog(using: credential))
    }

    @Test func `a scheme of the program's own is preferred, and answers the challenge of the server`() async throws {
        let origin = try Self.origin()
        let task = Self.session([KeyedScheme()], Self.password).dataTask(
            with: Request(url: try URLRecord(origin.url("/a"))))
        let (body, response) = try await task.data()
        #expect(response.status.code == 200 && body == Array("hi".utf8))
        #expect(task.challenges.map(\.protectionSpace.method.rawValue) == ["keyed"])
        #expect(task.challenges.map(\.protectionSpace.realm) == ["cave"])
        #expect(task.metrics.transactions.map(\.status) == [401, 200])
    }

    @Test func `a preemptive scheme answers once for its directory, another one each time`() async throws {
        for (isPreemptive, statuses) in [(true, [200]), (false, [401, 200])] {
            let origin = try Self.origin()
            let credential = Credential(user: "aladdin", password: "sesame", persistence: .forSession)
            let session = Self.session([KeyedScheme(isPreemptive: isPreemptive)], credential)
            _ = try await session.data(for: Request(url: try URLRecord(origin.url("/a/b"))))
            let task = session.dataTask(with: Request(url: try URLRecord(origin.url("/a/c"))))
            _ = try await task.data()
            #expect(task.metrics.transactions.map(\.status) == statuses)
        }
    }

    @Test func `without the scheme its challenge is passed over`() async throws {
        let origin = try Self.origin()
        let task = Self.session([], Self.password).dataTask(with: Request(url: try URLRecord(origin.url("/a"))))
        // The password proves nothing in Basic here, and the delegate has no other.
        await expect(.userCancelledAuthentication) { try await task.data() }
        #expect(Set(task.challenges.map(\.protectionSpace.method)) == [.httpBasic])
    }

    @Test func `a scheme with the name of a built-in one replaces it`() async throws {
        struct Replaced: AuthenticationScheme {
            let name = "basic"
            let method = ProtectionSpace.Method.httpBasic
            func accepts(_ credential: Credential) -> Bool { true }
            func authorization(
                for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
            ) async -> String? { "Basic replaced" }
        }
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isIn = head.contains("Authorization: Basic replaced\r\n")
                try connection.send(
                    isIn
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let (_, response) = try await Self.session([Replaced()], Self.password)
            .data(for: Request(url: try URLRecord(origin.url("/"))))
        #expect(response.status.code == 200)
    }

    @Test func `a field with a control character is not sent`() async throws {
        struct Careless: AuthenticationScheme {
            let name = "keyed"
            func accepts(_ credential: Credential) -> Bool { true }
            func authorization(
                for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
            ) async -> String? { "Keyed a\r\nX-Injected: 1" }
        }
        let origin = try Self.origin()
        let task = Self.session([Careless()], Self.token).dataTask(with: Request(url: try URLRecord(origin.url("/"))))
        let (_, response) = try await task.data()
        #expect(response.status.code == 401)
        let received = origin.connections.map { String(decoding: $0.received, as: UTF8.self) }.joined()
        #expect(!received.contains("X-Injected"))
    }
}
