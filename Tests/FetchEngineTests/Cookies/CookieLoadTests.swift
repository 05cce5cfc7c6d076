import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct CookieLoadTests {
    /// Answers each path with the status line and fields that the table has for it, on kept connections.
    private static func origin(_ answers: [String: String]) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let answer = answers[String(head.split(separator: " ")[1])] ?? "404 Not Found\r\n"
                try connection.send("HTTP/1.1 \(answer)Content-Length: 0\r\n\r\n")
            }
        }
    }

    /// The `Cookie` values of the requests that an origin has received, empty where there was none.
    private static func cookies(at origin: WireOrigin) -> [String] {
        origin.connections.flatMap { connection in
            let text = String(decoding: connection.received, as: UTF8.self)
            return text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
                let line = head.components(separatedBy: "\r\n").first { $0.hasPrefix("Cookie: ") }
                return String(line?.dropFirst(8) ?? "")
            }
        }
    }

    /// A session with a storage, and both.
    private static func session(
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> (session: Session, storage: MemoryCookieStorage) {
        let storage = MemoryCookieStorage()
        var configuration = SessionConfiguration()
        configuration.httpCookieStorage = storage
        change(&configuration)
        return (Session(configuration: configuration), storage)
    }

    // COK-3, FN-40
    @Test func `a cookie that was set is sent from the next request on, exactly so`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2; Path=/x\r\n"])
        let (session, _) = Self.session()
        let request = Request(url: try URLRecord(origin.url()))
        for _ in 0..<2 { _ = try await session.data(for: request) }
        let start = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n"
        #expect(origin.received() == "\(start)\r\n\(start)Cookie: a=1\r\n\r\n")
    }

    // SES-1, COK-10
    @Test func `a default session keeps cookies, and each its own`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        for session in [Session(), Session(), Session(configuration: .ephemeral)] {
            for _ in 0..<2 { _ = try await session.data(for: request) }
        }
        #expect(Self.cookies(at: origin) == ["", "a=1", "", "a=1", "", "a=1"])
    }

    // RED-15, COK-4
    @Test func `cookies of a redirect are there for the next hop, and hops are given their own`() async throws {
        let origin = try Self.origin([
            "/a/start": "302 Found\r\nLocation: /b/next\r\nSet-Cookie: everywhere=1; Path=/\r\nSet-Cookie: here=1\r\n",
            "/b/next": "303 See Other\r\nLocation: /a/end\r\nSet-Cookie: everywhere=2; Path=/\r\n",
            "/a/end": "200 OK\r\nSet-Cookie: bad=1; Domain=com\r\n",
        ])
        let (session, storage) = Self.session()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url("/a/start"))))
        _ = try await task.response(bufferingUpTo: 10)
        #expect(Self.cookies(at: origin) == ["", "everywhere=1", "here=1; everywhere=2"])
        #expect(task.cookieVerdicts.map(\.name) == ["everywhere", "here", "everywhere", "bad"])
        #expect(task.cookieVerdicts.map(\.rejection) == [nil, nil, nil, .domainMismatch])
        #expect(try await storage.cookies().map(\.value) == ["2", "1"])
        #expect(task.currentRequest.headerFields[.cookie] == nil)
    }

    // COK-4
    @Test(arguments: [200, 204, 304, 400, 401, 404, 500])
    func `answers of any status may set cookies`(_ code: Int) async throws {
        let origin = try Self.origin(["/": "\(code) Such\r\nSet-Cookie: a=1\r\n"])
        let (session, storage) = Self.session()
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(try await storage.cookies().map(\.name) == ["a"])
    }

    // COK-4
    @Test func `informational answers and trailers set none`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 103 Early Hints\r\nSet-Cookie: early=1\r\n\r\nHTTP/1.1 200 OK\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\nSet-Cookie: late=1\r\n\r\n")
        let (session, storage) = Self.session()
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(try await storage.cookies().isEmpty)
    }

    // URL-8, FN-28
    @Test func `a request that wants no cookies neither sends nor keeps any`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: b=2\r\n"])
        let (session, storage) = Self.session()
        await storage.setCookie(try Cookie(name: "a", value: "1", domain: "127.0.0.1"), at: .now)
        var request = Request(url: try URLRecord(origin.url()))
        request.httpShouldHandleCookies = false
        _ = try await session.data(for: request)
        request.headerFields[.cookie] = "mine=1"
        _ = try await session.data(for: request)
        #expect(Self.cookies(at: origin) == ["", "mine=1"])
        #expect(try await storage.cookies().map(\.name) == ["a"])
    }

    // SES-12
    @Test func `a session may keep cookies without sending them, or have no storage at all`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        let (keeping, storage) = Self.session { $0.httpShouldSetCookies = false }
        let (without, _) = Self.session { $0.httpCookieStorage = nil }
        for session in [keeping, keeping, without, without] { _ = try await session.data(for: request) }
        #expect(Self.cookies(at: origin) == ["", "", "", ""])
        #expect(try await storage.cookies().map(\.name) == ["a"])
    }

    // COK-6, COK-7, SES-12, URL-9, FN-29
    @Test(
        arguments: [
            (CookieAcceptPolicy.always, "http://other.example/", true), (.onlyFromMainDocumentDomain, nil, true),
            (.onlyFromMainDocumentDomain, "http://127.0.0.1:1/", true),
            (.onlyFromMainDocumentDomain, "http://other.example/", false), (.never, nil, false),
        ] as [(CookieAcceptPolicy, String?, Bool)])
    func `the accept policy and the main document decide`(
        _ policy: CookieAcceptPolicy, _ document: String?, _ isTaken: Bool
    ) async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let (session, storage) = Self.session { $0.httpCookieAcceptPolicy = policy }
        var request = Request(url: try URLRecord(origin.url()))
        request.mainDocumentURL = try document.map { try URLRecord($0) }
        _ = try await session.data(for: request)
        #expect(try await storage.cookies().isEmpty == !isTaken)
    }

    // COK-6, URL-9
    @Test func `a main document that is redirected goes on as the main document`() async throws {
        let target = try Self.origin(["/b": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let origin = try Self.origin(["/a": "302 Found\r\nLocation: http://localhost:\(target.port)/b\r\n"])
        let (session, storage) = Self.session()
        let url = try URLRecord(origin.url("/a"))
        _ = try await session.data(for: Request(url: url, mainDocumentURL: url))
        #expect(try await storage.cookies().map(\.domain) == ["localhost"])
    }

    // COK-8
    @Test func `a changed policy holds for tasks under way`() async throws {
        let gate = Gate()
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            arrival.finish()
            try gate.wait()
            try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n")
        }
        let (session, storage) = Self.session()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        async let response = task.response(bufferingUpTo: 10)
        for await _ in arrivals {}
        await storage.setCookieAcceptPolicy(.never)
        gate.open()
        _ = try await response
        #expect(task.cookieVerdicts == [.rejected(name: "a", .neverAccepted)])
        #expect(try await storage.cookies().isEmpty)
    }

    // BEY-20, COK-10
    @Test func `a task may have a storage of its own, and sessions may share one`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let request = Request(url: try URLRecord(origin.url()))
        let (session, storage) = Self.session()
        var configuration = session.configuration
        configuration.httpCookieStorage = MemoryCookieStorage()
        _ = try await session.data(for: request, configuration: configuration)
        #expect(try await storage.cookies().isEmpty)
        _ = try await session.data(for: request)
        _ = try await Session(configuration: session.configuration).data(for: request)
        #expect(Self.cookies(at: origin) == ["", "", "a=1"])
    }

    // COK-12
    @Test func `a field of the caller's comes first and wins by name`() async throws {
        let origin = try Self.origin([:])
        let (session, storage) = Self.session { configuration in
            configuration.httpAdditionalHeaders[.cookie] = "c=session"
        }
        for name in ["a", "b", "c"] {
            await storage.setCookie(try Cookie(name: name, value: "jar", domain: "127.0.0.1"), at: .now)
        }
        var request = Request(url: try URLRecord(origin.url()))
        _ = try await session.data(for: request)
        request.headerFields[.cookie] = "b=mine; x=1"
        _ = try await session.data(for: request)
        #expect(Self.cookies(at: origin) == ["c=session; a=jar; b=jar", "b=mine; x=1; a=jar; c=jar"])
    }

    // RED-11, COK-12, FN-43
    @Test func `nothing of one host's cookies reaches another on a redirect`() async throws {
        let target = try Self.origin([
            "/b": "302 Found\r\nLocation: /c\r\nSet-Cookie: theirs=1\r\n", "/c": "200 OK\r\n",
        ])
        let origin = try Self.origin([
            "/a": "302 Found\r\nLocation: http://localhost:\(target.port)/b\r\nSet-Cookie: ours=1\r\n"
        ])
        let (session, _) = Self.session()
        var request = Request(url: try URLRecord(origin.url("/a")))
        request.headerFields[.cookie] = "mine=1"
        _ = try await session.data(for: request)
        #expect(Self.cookies(at: origin) == ["mine=1"])
        #expect(Self.cookies(at: target) == ["", "theirs=1"])
    }

    // COK-2
    @Test func `bytes that are not UTF-8 come back as they were`() async throws {
        let value: [UInt8] = [0x61, 0x3D, 0xE9, 0x22, 0x20, 0xFF]
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    Array("HTTP/1.1 200 OK\r\nSet-Cookie: ".utf8) + value + Array("\r\nContent-Length: 0\r\n\r\n".utf8))
            }
        }
        let (session, _) = Self.session()
        let request = Request(url: try URLRecord(origin.url()))
        for _ in 0..<2 { _ = try await session.data(for: request) }
        let expected = Array("Cookie: ".utf8) + value + Array("\r\n".utf8)
        #expect(origin.connections.first?.received.firstRange(of: expected) != nil)
    }

    // SES-3
    @Test func `the cookies of an ephemeral session end with it, and others stay`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
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

    // BEY-21
    @Test func `resetting a session forgets its cookies`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let (session, storage) = Self.session()
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        try await session.reset()
        #expect(try await storage.cookies().isEmpty)
    }

    // COK-5
    @Test func `a storage that fails fails the load`() async throws {
        let origin = try Self.origin(["/": "200 OK\r\nSet-Cookie: a=1\r\n"])
        let (session, _) = Self.session { $0.httpCookieStorage = BrokenCookieStorage() }
        await expect(.resourceUnavailable) {
            try await session.data(for: Request(url: try URLRecord(origin.url())))
        }
        #expect(origin.connections.isEmpty)
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
private final class BrokenCookieStorage: CookieStorage {
    private static let failure = LoadError(.resourceUnavailable, "The cookies cannot be had.")

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
    func cookiesChanged() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    func cookieAcceptPolicyChanged() -> AsyncStream<CookieAcceptPolicy> { AsyncStream { $0.finish() } }
}

extension StringProtocol {
    fileprivate func components(separatedBy separator: String) -> [SubSequence] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
