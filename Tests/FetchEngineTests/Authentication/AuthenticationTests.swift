import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Challenges on the wire, byte by byte.
@Suite struct AuthenticationTests {
    /// `aladdin:open sesame` in base64, the example of RFC 7617 §2 in lower case.
    private static let basic = "Authorization: Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"

    private static func refusal(_ fields: String, status: String = "401 Unauthorized") -> String {
        "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 3\r\n\r\nno!"
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    /// Answers each request by its head, on kept connections, reading bodies first.
    private static func origin(_ answer: @escaping @Sendable (String) -> String) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if let length = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Content-Length: ") }) {
                    try connection.receive(Int(length.dropFirst(16))!)
                }
                if head.contains("Transfer-Encoding: chunked") { try connection.receiveChunked() }
                try connection.send(answer(head))
            }
        }
    }

    /// An origin whose every path is one Basic space.
    private static func basicOrigin() throws -> WireOrigin {
        try origin { $0.contains(basic) ? ok : refusal("WWW-Authenticate: Basic realm=\"cave\"\r\n") }
    }

    private static func credential(_ persistence: Credential.Persistence = .none) -> Credential {
        Credential(user: "aladdin", password: "open sesame", persistence: persistence)
    }

    private static func load(
        _ url: String, _ delegate: ChallengeLog? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> ([UInt8], Response) {
        var configuration = SessionConfiguration()
        change(&configuration)
        return try await Session(configuration: configuration, delegate: delegate)
            .data(for: Request(url: try URLRecord(url)))
    }

    private static func heads(_ origin: WireOrigin) -> [String] {
        origin.connections.flatMap { connection in
            String(decoding: connection.received, as: UTF8.self).components(separatedBy: "\r\n\r\n")
                .filter { $0.hasPrefix("GET") || $0.hasPrefix("POST") || $0.hasPrefix("PUT") }.map { $0 + "\r\n" }
        }
    }

    // One response is told, after the challenge.
    // Proves: AUT-14, AUT-21, AUT-22, FN-47, LIF-3.
    @Test func `a challenge is answered, and only the final response is told`() async throws {
        let origin = try Self.basicOrigin()
        let log = ChallengeLog(using: Self.credential())
        let task = Session(delegate: log).dataTask(with: Request(url: try URLRecord(origin.url("/a?b"))))
        let (body, response) = try await task.data()
        #expect(response.status.code == 200 && body == Array("hi".utf8))
        #expect(log.events == ["task httpBasic", "response 200", "completed"])
        let heads = Self.heads(origin)
        #expect(
            heads == [
                "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n\(offeredCodings)",
                "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n\(Self.basic)"
                    + offeredCodings,
            ])
        #expect(task.metrics.transactions.map(\.status) == [401, 200])
        #expect(task.redirects.isEmpty)
    }

    // Proves: AUT-2, AUT-3.
    @Test func `a challenge tells its space, what was tried and the answer that asks`() async throws {
        let origin = try Self.basicOrigin()
        let wrong = Credential(user: "aladdin", password: "wrong")
        let log = ChallengeLog(using: wrong, Self.credential())
        _ = try await Self.load(origin.url(), log)
        let space = ProtectionSpace(
            host: "127.0.0.1", port: origin.port, scheme: "http", realm: "cave", method: .httpBasic)
        #expect(log.challenges.map(\.protectionSpace) == [space, space])
        #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
        #expect(log.challenges.map(\.proposedCredential) == [nil, wrong])
        #expect(log.challenges.map(\.failureResponse?.status.code) == [401, 401])
        #expect(log.challenges.map(\.offeredSpaces) == [[space], [space]])
    }

    // With nobody to ask, the 401 is the result, with its body.
    // Proves: AUT-20, CON-4, FN-6, FN-8.
    @Test(arguments: [
        "Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"n\", Basic realm=\"a\"", "Negotiate", "NTLM", "Bearer",
        "Unknown x=y",
    ])
    func `without a credential the refusal is the result`(_ offer: String) async throws {
        let origin = try Self.origin { _ in Self.refusal("WWW-Authenticate: \(offer)\r\n") }
        let (body, response) = try await Self.load(origin.url())
        #expect(response.status.code == 401 && body == Array("no!".utf8))
        #expect(Self.heads(origin).count == 1)
    }

    // Proves: AUT-6.
    @Test func `a 401 without its field asks for nothing`() async throws {
        let origin = try Self.origin { _ in Self.refusal("Proxy-Authenticate: Basic realm=\"a\"\r\n") }
        let log = ChallengeLog(using: Self.credential())
        let (_, response) = try await Self.load(origin.url(), log)
        #expect(response.status.code == 401)
        #expect(log.challenges.isEmpty)
    }

    // Proves: AUT-15, AUT-18.
    @Test func `continuing without a credential and default handling give the refusal once`() async throws {
        for answer in [Challenge.Disposition.continueWithoutCredential, .performDefaultHandling] {
            let origin = try Self.basicOrigin()
            let log = ChallengeLog(task: { _ in answer })
            let (body, response) = try await Self.load(origin.url(), log)
            #expect(response.status.code == 401 && body == Array("no!".utf8))
            #expect(log.events.filter { $0 != "task httpBasic" } == ["response 401", "completed"])
            #expect(Self.heads(origin).count == 1)
        }
    }

    // Proves: AUT-17, AUT-19.
    @Test func `a cancelled challenge ends the load, and nothing more is sent`() async throws {
        let origin = try Self.basicOrigin()
        let log = ChallengeLog(using: Credential(user: "aladdin", password: "wrong"))
        await expect(.userCancelledAuthentication) { try await Self.load(origin.url(), log) }
        #expect(log.events == ["task httpBasic", "task httpBasic", "completed userCancelledAuthentication"])
        #expect(Self.heads(origin).count == 2)
    }

    // Proves: AUT-16, AUT-26, FN-31.
    @Test func `rejected spaces give way, down to Basic`() async throws {
        let offers =
            "WWW-Authenticate: Basic realm=\"cave\", Digest realm=\"d\", nonce=\"n\"\r\nWWW-Authenticate: Negotiate\r\n"
        let origin = try Self.origin { $0.contains(Self.basic) ? Self.ok : Self.refusal(offers) }
        let log = ChallengeLog(task: { challenge in
            challenge.protectionSpace.method == .httpBasic
                ? .useCredential(Self.credential()) : .rejectProtectionSpace
        })
        let (_, response) = try await Self.load(origin.url(), log)
        #expect(response.status.code == 200)
        #expect(log.events.prefix(3) == ["task negotiate", "task httpDigest", "task httpBasic"])
    }

    // Stored credentials are used all the same.
    // Proves: AUT-12.
    @Test func `a space that the delegate does not want is not asked about`() async throws {
        let offers = "WWW-Authenticate: Basic realm=\"cave\", Digest realm=\"d\", nonce=\"n\"\r\n"
        let origin = try Self.origin { $0.contains(Self.basic) ? Self.ok : Self.refusal(offers) }
        let rule: ChallengeLog.Rule = { _ in .useCredential(Self.credential()) }
        let some = ChallengeLog(task: rule, unwanted: [.httpDigest])
        #expect(try await Self.load(origin.url(), some).1.status.code == 200)
        #expect(some.challenges.map(\.protectionSpace.method) == [.httpBasic])
        let none = ChallengeLog(task: rule, unwanted: [.httpDigest, .httpBasic])
        #expect(try await Self.load(origin.url(), none).1.status.code == 401)
        #expect(none.challenges.isEmpty)
        let store = MemoryCredentialStorage()
        store.set(
            Self.credential(.permanent),
            for: ProtectionSpace(
                host: "127.0.0.1", port: origin.port, scheme: "http", realm: "cave", method: .httpBasic))
        let (_, response) = try await Self.load(origin.url(), none) { $0.credentialStorage = store }
        #expect(response.status.code == 200 && none.challenges.isEmpty)
    }

    /// Has the method for challenges alone.
    private final class Counting: TaskDelegate {
        let count = Progress()
        func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
            count.add(1)
            return .performDefaultHandling
        }
    }

    // Proves: AUT-12.
    @Test(arguments: ["NTLM", "Negotiate", "Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\"", "Bearer"])
    func `a delegate that does not say what it wants is asked about what responses ask for`(
        _ offer: String
    ) async throws {
        let origin = try Self.origin { _ in Self.refusal("WWW-Authenticate: \(offer)\r\n") }
        let delegate = Counting()
        let request = Request(url: try URLRecord(origin.url()))
        #expect(try await Session().data(for: request, delegate: delegate).1.status.code == 401)
        #expect(delegate.count.value == 1)
    }

    // Proves: AUT-8, AUT-9, AUT-10, SES-7, FN-48.
    @Test(arguments: ["NTLM", "Negotiate", "Basic realm=\"r\""], ["", "session", "task", "session task"])
    func `session level goes first where the method is of that level`(
        _ offer: String, _ methods: String
    ) async throws {
        let origin = try Self.origin { _ in Self.refusal("WWW-Authenticate: \(offer)\r\n") }
        let (hasSession, hasTask) = (methods.contains("session"), methods.contains("task"))
        let stop: ChallengeLog.Rule = { _ in .continueWithoutCredential }
        let log = ChallengeLog(session: hasSession ? stop : nil, task: hasTask ? stop : nil)
        _ = try await Self.load(origin.url(), log)
        let isSessionLevel = !offer.hasPrefix("Basic")
        let asked = log.events.filter { !$0.hasPrefix("response") && !$0.hasPrefix("completed") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(asked == (isSessionLevel && hasSession ? ["session"] : hasTask ? ["task"] : []))
    }

    // The task's delegate goes before the session's for the session's tasks.
    // Proves: AUT-9, BEY-8.
    @Test func `the task's own delegate is asked before the session's`() async throws {
        let origin = try Self.basicOrigin()
        let (ofSession, ofTask) = (ChallengeLog(using: Self.credential()), ChallengeLog(using: Self.credential()))
        let session = Session(delegate: ofSession)
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())), delegate: ofTask)
        #expect(ofTask.challenges.count == 1 && ofSession.challenges.isEmpty)
        _ = try await session.data(
            for: Request(url: try URLRecord(origin.url("/2"))), delegate: ChallengeLog())
        #expect(ofSession.challenges.count == 1)
    }

    // Proves: AUT-7, URL-10, FN-7, SEC-32.
    @Test func `user name and password of the URL are used, and never sent in it`() async throws {
        let origin = try Self.basicOrigin()
        let url = "http://aladdin:open%20sesame@127.0.0.1:\(origin.port)/x"
        let task = Session().dataTask(with: Request(url: try URLRecord(url)))
        let (_, response) = try await task.data()
        #expect(response.status.code == 200)
        #expect(!response.url.hasCredentials && !task.currentRequest.url.hasCredentials)
        #expect(task.metrics.transactions.allSatisfy { !$0.url.hasCredentials })
        let heads = Self.heads(origin)
        #expect(heads.count == 2 && heads.allSatisfy { $0.hasPrefix("GET /x HTTP/1.1\r\n") && !$0.contains("@") })
    }

    // Proves: RED-11, LIF-4, URL-10.
    @Test func `the URL's credential follows a redirect within its server and to no other`() async throws {
        let other = try Self.basicOrigin()
        let origin = try Self.origin { head in
            guard head.contains(Self.basic) else { return Self.refusal("WWW-Authenticate: Basic realm=\"cave\"\r\n") }
            if head.hasPrefix("GET /near ") { return Self.ok }
            let target = head.hasPrefix("GET /a ") ? "near" : other.url("/far")
            return "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n"
        }
        let base = "http://aladdin:open%20sesame@127.0.0.1:\(origin.port)"
        #expect(try await Self.load(base + "/a").1.status.code == 200)
        let (_, refused) = try await Self.load(base + "/b")
        #expect(refused.status.code == 401 && refused.url.path == "/far")
        #expect(!other.received().contains("Authorization"))
    }

    // After the redirect, the new server may ask.
    // Proves: LIF-4.
    @Test func `each hop may ask for its own credential`() async throws {
        let target = try Self.basicOrigin()
        let origin = try Self.origin { head in
            head.contains(Self.basic)
                ? "HTTP/1.1 302 Found\r\nLocation: \(target.url("/b"))\r\nContent-Length: 0\r\n\r\n"
                : Self.refusal("WWW-Authenticate: Basic realm=\"gate\"\r\n")
        }
        let log = ChallengeLog(using: Self.credential())
        _ = try await Self.load(origin.url("/a"), log)
        #expect(log.events == ["task httpBasic", "redirect", "task httpBasic", "response 200", "completed"])
        #expect(log.challenges.map(\.protectionSpace.port) == [origin.port, target.port])
    }

    // Proves: AUT-7, CRD-3, FN-7, FN-20, CRD-6, DLG-8.
    @Test func `a stored credential is used and nobody is asked`() async throws {
        let origin = try Self.basicOrigin()
        let store = MemoryCredentialStorage()
        store.set(
            Self.credential(.permanent),
            for: ProtectionSpace(
                host: "127.0.0.1", port: origin.port, scheme: "http", realm: "cave", method: .httpBasic))
        let log = ChallengeLog(using: Self.credential())
        let (_, response) = try await Self.load(origin.url(), log) { $0.credentialStorage = store }
        #expect(response.status.code == 200)
        #expect(log.challenges.isEmpty)
    }

    // Proves: CRD-6.
    @Test func `what convinced in one session is used by those that have its store, and by no other`() async throws {
        let origin = try Self.basicOrigin()
        let (store, other) = (MemoryCredentialStorage(), MemoryCredentialStorage())
        let first = ChallengeLog(using: Self.credential(.permanent))
        let (_, response) = try await Self.load(origin.url(), first) { $0.credentialStorage = store }
        #expect(response.status.code == 200 && first.challenges.count == 1)
        for (storage, status) in [(store, 200), (other, 401), (nil, 401)] {
            let log = ChallengeLog(task: { _ in .continueWithoutCredential })
            let (_, response) = try await Self.load(origin.url(), log) { $0.credentialStorage = storage }
            #expect(response.status.code == status)
            #expect(log.challenges.isEmpty == (status == 200))
        }
        // What one takes away is gone for all.
        store.removeAll()
        #expect(try await Self.load(origin.url()) { $0.credentialStorage = store }.1.status.code == 401)
    }

    // Proves: SES-6.
    @Test func `each session has its own credentials, with a store of the program's or without`() async throws {
        let origin = try Self.basicOrigin()
        let request = Request(url: try URLRecord(origin.url("/a")))
        let stores = [MemoryCredentialStorage(), MemoryCredentialStorage(), nil, nil]
        for store in stores {
            let log = ChallengeLog(using: Self.credential(.forSession))
            var configuration = SessionConfiguration()
            configuration.credentialStorage = store
            let session = Session(configuration: configuration, delegate: log)
            // No other session's answer is of use to this one; its own is.
            for _ in 0..<2 {
                #expect(try await session.data(for: request).1.status == .ok)
                #expect(log.challenges.count == 1)
            }
        }
        #expect(stores[0]?.allCredentials().count == 1 && stores[1]?.allCredentials().count == 1)
        var configuration = SessionConfiguration()
        (configuration.httpCookieStorage, configuration.urlCache, configuration.credentialStorage) = (nil, nil, nil)
        let (_, response) = try await Session(configuration: configuration).data(for: request)
        #expect(response.status.code == 401)
    }

    // The second load of the directory needs neither question nor challenge.
    // Proves: CRD-4, AUT-22.
    @Test func `what convinced is kept, and sent unasked at and below its directory`() async throws {
        let origin = try Self.basicOrigin()
        let log = ChallengeLog(using: Self.credential(.forSession))
        let session = Session(delegate: log)
        for path in ["/a/x", "/a/y/z", "/b"] {
            let (_, response) = try await session.data(for: Request(url: try URLRecord(origin.url(path))))
            #expect(response.status.code == 200)
        }
        #expect(log.challenges.count == 1)
        #expect(
            Self.heads(origin).map { [$0.contains("GET /a/"), $0.contains(Self.basic)] }.sorted { "\($0)" < "\($1)" }
                == [[false, false], [false, true], [true, false], [true, true], [true, true]])
    }

    // Proves: CRD-2.
    @Test func `a credential for one request is asked for again`() async throws {
        let origin = try Self.basicOrigin()
        let log = ChallengeLog(using: Self.credential(.none))
        let session = Session(delegate: log)
        for _ in 0..<2 { _ = try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        #expect(log.challenges.count == 2)
    }

    // One automatic attempt, counted and proposed; the wrong one is not stored anew.
    // Proves: CRD-4, CRD-9, AUT-5.
    @Test func `a stored credential that fails is tried once and replaced by what convinces`() async throws {
        let origin = try Self.basicOrigin()
        let store = MemoryCredentialStorage()
        let space = ProtectionSpace(
            host: "127.0.0.1", port: origin.port, scheme: "http", realm: "cave", method: .httpBasic)
        let stale = Credential(user: "aladdin", password: "old", persistence: .permanent)
        store.set(stale, for: space)
        let log = ChallengeLog(task: { _ in .useCredential(Self.credential(.permanent)) })
        _ = try await Self.load(origin.url(), log) { $0.credentialStorage = store }
        #expect(log.challenges.map(\.previousFailureCount) == [1])
        #expect(log.challenges.map(\.proposedCredential) == [stale])
        #expect(store.defaultCredential(for: space) == Self.credential(.permanent))
        #expect(Self.heads(origin).count == 3)
    }

    // Proves: CRD-3, CRD-5, BEY-21.
    @Test func `a store learns which task it answers`() async throws {
        let origin = try Self.basicOrigin()
        let store = NamedTaskStorage(name: "mine")
        let space = ProtectionSpace(
            host: "127.0.0.1", port: origin.port, scheme: "http", realm: "cave", method: .httpBasic)
        store.base.set(Self.credential(.permanent), for: space)
        var configuration = SessionConfiguration.default
        configuration.credentialStorage = store
        let session = Session(configuration: configuration)
        for (name, status) in [("mine", 200), (nil, 401), ("another's", 401)] {
            let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
            #expect(task.taskDescription == nil)
            task.taskDescription = name
            #expect(try await task.response(bufferingUpTo: 1000).status.code == status)
        }
    }

    // Proves: SEC-21.
    @Test func `requests of different credentials share no connection`() async throws {
        let origin = try Self.origin { head in
            head.contains("Authorization: Basic ") ? Self.ok : Self.refusal("WWW-Authenticate: Basic realm=\"r\"\r\n")
        }
        let session = Session()
        for user in ["a", "b", "a"] {
            let log = ChallengeLog(using: Credential(user: user, password: "p"))
            _ = try await session.data(for: Request(url: try URLRecord(origin.url())), delegate: log)
        }
        let users = origin.connections.map { connection in
            Set(
                String(decoding: connection.received, as: UTF8.self).split(separator: "\r\n")
                    .filter { $0.hasPrefix("Authorization") })
        }
        #expect(users.count == 3 && users.allSatisfy { $0.count <= 1 })
    }

    // RFC 7617 §2.1
    // Proves: AUT-22.
    @Test func `a user name beyond ASCII is sent as UTF-8`() async throws {
        let origin = try Self.origin { head in
            head.contains("Authorization: Basic dGVzdDoxMjPCow==\r\n")
                ? Self.ok : Self.refusal("WWW-Authenticate: Basic realm=\"foo\", charset=\"UTF-8\"\r\n")
        }
        let log = ChallengeLog(using: Credential(user: "test", password: "123£"))
        #expect(try await Self.load(origin.url(), log).1.status.code == 200)
    }

    @Test func `a bearer token is sent to who asks for one`() async throws {
        let origin = try Self.origin { head in
            head.contains("Authorization: Bearer a.b-c=\r\n")
                ? Self.ok : Self.refusal("WWW-Authenticate: Bearer realm=\"api\"\r\n")
        }
        let log = ChallengeLog(using: Credential(bearerToken: "a.b-c="))
        #expect(try await Self.load(origin.url(), log).1.status.code == 200)
        #expect(log.challenges.map(\.protectionSpace.method) == [.httpBearer])
    }

    @Test func `the request's own Authorization is sent first, and replaced when it is refused`() async throws {
        let origin = try Self.basicOrigin()
        var request = Request(url: try URLRecord(origin.url()))
        request.headerFields[.authorization] = "Basic eDp5"
        let log = ChallengeLog(using: Self.credential())
        let (_, response) = try await Session(delegate: log).data(for: request)
        #expect(response.status.code == 200)
        let fields = Self.heads(origin).map { head in
            head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("authorization") }
        }
        #expect(fields == [["Authorization: Basic eDp5"], [Substring(Self.basic.dropLast())]])
    }

    // With one cache and two users, each gets his own responses.
    // Proves: SEC-42.
    @Test func `what one user was given, the cache gives to no other`() async throws {
        let origin = try Self.origin { head in
            guard let field = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Authorization: Basic ") })
            else {
                return Self.refusal("WWW-Authenticate: Basic realm=\"cave\"\r\n")
            }
            return
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nContent-Length: \(field.utf8.count)\r\n\r\n\(field)"
        }
        let cache = MemoryResponseCache()
        var answers: [[UInt8]] = []
        for user in ["a", "b"] {
            let log = ChallengeLog(using: Credential(user: user, password: "p", persistence: .forSession))
            var configuration = SessionConfiguration()
            configuration.urlCache = cache
            let session = Session(configuration: configuration, delegate: log)
            for _ in 0..<2 {
                answers.append(try await session.data(for: Request(url: try URLRecord(origin.url()))).0)
            }
        }
        #expect(answers[0] == answers[1] && answers[1] != answers[2] && answers[2] == answers[3])
    }

    // Proves: AUT-32, TSK-8.
    @Test func `a load that waits for an answer can be cancelled`() async throws {
        let origin = try Self.basicOrigin()
        let task = Mutex<SessionTask?>(nil)
        let log = ChallengeLog(task: { _ in
            task.withLock { $0 }?.cancel()
            return .useCredential(Self.credential())
        })
        let load = Session(delegate: log).dataTask(with: Request(url: try URLRecord(origin.url())))
        task.withLock { $0 = load }
        await expect(.cancelled) { try await load.data() }
        #expect(Self.heads(origin).count == 1)
        task.withLock { $0 = nil }
    }

    // Proves: DLG-7, URL-10, SEC-60.
    @Test func `errors and descriptions say nothing of the credential`() async throws {
        let origin = try Self.basicOrigin()
        let url = "http://aladdin:secret-word@127.0.0.1:\(origin.port)/x"
        let log = ChallengeLog(task: { _ in .cancelAuthenticationChallenge })
        do {
            _ = try await Self.load(url, log)
            Issue.record("it did not fail")
        } catch let error as LoadError {
            #expect(!"\(error) \(String(reflecting: error))".contains("secret-word"))
        }
        for challenge in log.challenges { #expect(!"\(challenge)".contains("secret-word")) }
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}

/// Gives its credentials to tasks of one name.
private final class NamedTaskStorage: CredentialStorage {
    let base = MemoryCredentialStorage()
    private let name: String

    init(name: String) { self.name = name }

    func defaultCredential(for space: ProtectionSpace) -> Credential? { nil }
    func defaultCredential(for space: ProtectionSpace, taskDescription: String?) -> Credential? {
        taskDescription == name ? base.defaultCredential(for: space) : nil
    }
    func credentials(for space: ProtectionSpace) -> [String: Credential] { base.credentials(for: space) }
    func allCredentials() -> [ProtectionSpace: [String: Credential]] { base.allCredentials() }
    func set(_ credential: Credential, for space: ProtectionSpace) { base.set(credential, for: space) }
    func setDefault(_ credential: Credential, for space: ProtectionSpace) { base.setDefault(credential, for: space) }
    func remove(_ credential: Credential, for space: ProtectionSpace) { base.remove(credential, for: space) }
    func removeAll() { base.removeAll() }
    func changes() -> AsyncStream<ProtectionSpace> { base.changes() }
}
