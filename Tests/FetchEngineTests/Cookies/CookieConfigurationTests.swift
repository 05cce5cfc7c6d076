import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct CookieConfigurationTests {
    // Proves: SES-1, COK-10.
    @Test func `a default session keeps cookies, and each its own`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        for session in [Session(), Session(), Session(configuration: .ephemeral)] {
            for _ in 0..<2 { _ = try await session.data(for: request) }
        }
        #expect(cookies(at: origin) == ["", "a=1", "", "a=1", "", "a=1"])
    }

    // Proves: SES-12, SES-6.
    @Test func `a session may keep cookies without sending them, or have no storage at all`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        let (keeping, storage) = cookieSession { $0.httpShouldSetCookies = false }
        let (without, _) = cookieSession { $0.httpCookieStorage = nil }
        for session in [keeping, keeping, without, without] { _ = try await session.data(for: request) }
        #expect(cookies(at: origin) == ["", "", "", ""])
        #expect(try await storage.cookies().map(\.name) == ["a"])
    }

    // Proves: COK-6, COK-7, SES-12, URL-9, FN-29.
    @Test(
        arguments: [
            (CookieAcceptPolicy.always, "http://other.example/", true), (.onlyFromMainDocumentDomain, nil, true),
            (.onlyFromMainDocumentDomain, "http://127.0.0.1:1/", true),
            (.onlyFromMainDocumentDomain, "http://other.example/", false), (.never, nil, false),
        ] as [(CookieAcceptPolicy, String?, Bool)])
    func `the accept policy and the main document decide`(
        _ policy: CookieAcceptPolicy, _ document: String?, _ isTaken: Bool
    ) async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let (session, storage) = cookieSession { $0.httpCookieAcceptPolicy = policy }
        var request = Request(url: try URLRecord(origin.url()))
        request.mainDocumentURL = try document.map { try URLRecord($0) }
        _ = try await session.data(for: request)
        #expect(try await storage.cookies().isEmpty == !isTaken)
    }

    // Proves: COK-6, URL-9.
    @Test func `a main document that is redirected goes on as the main document`() async throws {
        let target = try cookieOrigin(["/b": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let origin = try cookieOrigin(["/a": "302 Found\r\nLocation: http://localhost:\(target.port)/b\r\n"])
        let (session, storage) = cookieSession()
        let url = try URLRecord(origin.url("/a"))
        _ = try await session.data(for: Request(url: url, mainDocumentURL: url))
        #expect(try await storage.cookies().map(\.domain) == ["localhost"])
    }

    // Proves: COK-8.
    @Test func `a changed policy holds for tasks under way`() async throws {
        let gate = Gate()
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            arrival.finish()
            try gate.wait()
            try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n")
        }
        let (session, storage) = cookieSession()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        async let response = task.response(bufferingUpTo: 10)
        for await _ in arrivals {}
        await storage.setCookieAcceptPolicy(.never)
        gate.open()
        _ = try await response
        #expect(task.cookieVerdicts == [.rejected(name: "a", .neverAccepted)])
        #expect(try await storage.cookies().isEmpty)
    }

    // Proves: BEY-20, COK-10.
    @Test func `a task may have a storage of its own, and sessions may share one`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        let (session, storage) = cookieSession()
        var configuration = session.configuration
        configuration.httpCookieStorage = MemoryCookieStorage()
        _ = try await session.data(for: request, configuration: configuration)
        #expect(try await storage.cookies().isEmpty)
        _ = try await session.data(for: request)
        _ = try await Session(configuration: session.configuration).data(for: request)
        #expect(cookies(at: origin) == ["", "", "a=1"])
    }

    // Proves: SES-3.
    @Test func `the cookies of an ephemeral session end with it, and others stay`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        for (kind, isKept) in [(SessionConfiguration.Kind.ephemeral, false), (.default, true)] {
            let session = Session(configuration: SessionConfiguration(kind: kind))
            _ = try await session.data(for: request)
            let storage = try #require(session.configuration.httpCookieStorage)
            #expect(try await storage.cookies().count == 1)
            session.finishTasksAndInvalidate()
            #expect(try await storage.cookies().isEmpty == !isKept)
        }
    }

    // Proves: BEY-21.
    @Test func `resetting a session forgets its cookies`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let (session, storage) = cookieSession()
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        try await session.reset()
        #expect(try await storage.cookies().isEmpty)
    }

    // Proves: BEY-21.
    @Test func `resetting a session forgets its credentials, so that it is asked again`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let answer = head.contains("Authorization: ") ? "200 OK" : "401 Who\r\nWWW-Authenticate: Basic realm=r"
                try connection.send("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let (session, _) = cookieSession { $0.credentialStorage = MemoryCredentialStorage() }
        let storage = try #require(session.configuration.credentialStorage)
        let space = ProtectionSpace(
            host: "127.0.0.1", port: origin.port, scheme: "http", realm: "r", method: .httpBasic)
        let credential = Credential(user: "u", password: "p", persistence: .forSession)
        await storage.setDefault(credential, for: space)
        let request = Request(url: try URLRecord(origin.url()))
        var statuses: [Int] = []
        for _ in 0..<2 {
            statuses.append(try await session.data(for: request).1.status.code)
            try await session.reset()
        }
        #expect(statuses == [200, 401])
        #expect(await storage.allCredentials().isEmpty)
    }

    // Proves: COK-5.
    @Test func `a storage that fails fails the load`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let (session, _) = cookieSession { $0.httpCookieStorage = BrokenCookieStorage() }
        await expect(.resourceUnavailable) {
            try await session.data(for: Request(url: try URLRecord(origin.url())))
        }
        #expect(origin.connections.isEmpty)
    }

    @Test func `a storage that is known to be empty is not asked for cookies`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\n"])
        let (session, _) = cookieSession { $0.httpCookieStorage = BrokenCookieStorage(isKnownEmpty: true) }
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        let memory = MemoryCookieStorage()
        #expect(memory.isKnownEmpty)
        let context = CookieContext(url: try URLRecord("http://a.test/"))
        _ = try await memory.store(
            Cookie.verdicts(onResponseHeaderFields: [.setCookie: "a=1"], from: context, at: .now),
            from: context, at: .now)
        #expect(!memory.isKnownEmpty)
    }

    @Test func `configurations are equal when they share the storage`() {
        let configuration = SessionConfiguration()
        var other = configuration
        #expect(configuration == other)
        other.httpCookieStorage = MemoryCookieStorage()
        #expect(configuration != other)
        #expect(SessionConfiguration.default != SessionConfiguration.default)
    }
}

/// A storage that can do nothing.
private actor BrokenCookieStorage: CookieStorage {
    private static let failure = LoadError(.resourceUnavailable, "The cookies cannot be had.")

    nonisolated let isKnownEmpty: Bool

    init(isKnownEmpty: Bool = false) { self.isKnownEmpty = isKnownEmpty }

    func cookies(for context: CookieContext, at now: UnixTime) async throws(LoadError) -> [Cookie] {
        throw Self.failure
    }

    func store(
        _ cookies: [Cookie], from context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [CookieRejection?] { throw Self.failure }

    func cookies(at now: UnixTime) async throws(LoadError) -> [Cookie] { throw Self.failure }
    func setCookie(_ cookie: Cookie, at now: UnixTime) async throws(LoadError) { throw Self.failure }
    func deleteCookie(_ cookie: Cookie) async throws(LoadError) { throw Self.failure }
    func removeCookies(since time: UnixTime?) async throws(LoadError) { throw Self.failure }
    func cookieAcceptPolicy() async throws(LoadError) -> CookieAcceptPolicy { throw Self.failure }
    func setCookieAcceptPolicy(_ policy: CookieAcceptPolicy) async throws(LoadError) { throw Self.failure }
    nonisolated func cookiesChanged() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    nonisolated func cookieAcceptPolicyChanged() -> AsyncStream<CookieAcceptPolicy> { AsyncStream { $0.finish() } }
}
