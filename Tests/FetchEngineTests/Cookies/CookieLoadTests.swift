import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct CookieLoadTests {
    // Proves: COK-3, FN-40.
    @Test func `a cookie that was set is sent from the next request on, exactly so`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2; Path=/x\r\n"])
        let (session, _) = cookieSession()
        let request = Request(url: try URLRecord(origin.url()))
        for _ in 0..<2 { _ = try await session.data(for: request) }
        let start = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n\(offeredCodings)"
        #expect(origin.received() == "\(start)\r\n\(start)Cookie: a=1\r\n\r\n")
    }

    // R27
    // Proves: RED-15, COK-4.
    @Test func `cookies of a redirect are there for the next hop, and hops are given their own`() async throws {
        let origin = try cookieOrigin([
            "/a/start": "302 Found\r\nLocation: /b/next\r\nSet-Cookie: everywhere=1; Path=/\r\nSet-Cookie: here=1\r\n",
            "/b/next": "303 See Other\r\nLocation: /a/end\r\nSet-Cookie: everywhere=2; Path=/\r\n",
            "/a/end": "200 OK\r\nSet-Cookie: bad=1; Domain=com\r\n",
        ])
        let (session, storage) = cookieSession()
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url("/a/start"))))
        _ = try await task.response(bufferingUpTo: 10)
        #expect(cookies(at: origin) == ["", "everywhere=1", "here=1; everywhere=2"])
        #expect(task.cookieVerdicts.map(\.name) == ["everywhere", "here", "everywhere", "bad"])
        #expect(task.cookieVerdicts.map(\.rejection) == [nil, nil, nil, .domainMismatch])
        #expect(try await storage.cookies().map(\.value) == ["2", "1"])
        #expect(task.currentRequest.headerFields[.cookie] == nil)
    }

    // Proves: COK-4.
    @Test(arguments: [200, 204, 304, 400, 401, 404, 500])
    func `answers of any status may set cookies`(_ code: Int) async throws {
        let origin = try cookieOrigin(["/": "\(code) Such\r\nSet-Cookie: a=1\r\n"])
        let (session, storage) = cookieSession()
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(try await storage.cookies().map(\.name) == ["a"])
    }

    // Proves: COK-4, AUT-21.
    @Test func `a challenge sets cookies that its answer carries`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isAuthorized = head.contains("Authorization: Basic ")
                let answer = isAuthorized ? "200 OK" : "401 Who\r\nWWW-Authenticate: Basic realm=r\r\nSet-Cookie: a=1"
                try connection.send("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let (session, _) = cookieSession()
        let url = try URLRecord("http://user:secret@127.0.0.1:\(origin.port)/")
        let (_, response) = try await session.data(for: Request(url: url))
        #expect(response.status.code == 200)
        #expect(cookies(at: origin) == ["", "a=1"])
    }

    // Proves: COK-4.
    @Test func `informational answers and trailers set none`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 103 Early Hints\r\nSet-Cookie: early=1\r\n\r\nHTTP/1.1 200 OK\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\nSet-Cookie: late=1\r\n\r\n")
        let (session, storage) = cookieSession()
        _ = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(try await storage.cookies().isEmpty)
    }

    // Proves: URL-8, FN-28.
    @Test func `a request that wants no cookies neither sends nor keeps any`() async throws {
        let origin = try cookieOrigin(["/": "200 OK\r\nSet-Cookie: b=2\r\n"])
        let (session, storage) = cookieSession()
        await storage.setCookie(try Cookie(name: "a", value: "1", domain: "127.0.0.1"), at: .now)
        var request = Request(url: try URLRecord(origin.url()))
        request.httpShouldHandleCookies = false
        _ = try await session.data(for: request)
        request.headerFields[.cookie] = "mine=1"
        _ = try await session.data(for: request)
        #expect(cookies(at: origin) == ["", "mine=1"])
        #expect(try await storage.cookies().map(\.name) == ["a"])
    }

    // Proves: COK-12.
    @Test func `a field of the caller's comes first and wins by name`() async throws {
        let origin = try cookieOrigin([:])
        let (session, storage) = cookieSession { configuration in
            configuration.httpAdditionalHeaders[.cookie] = "c=session"
        }
        for name in ["a", "b", "c"] {
            await storage.setCookie(try Cookie(name: name, value: "jar", domain: "127.0.0.1"), at: .now)
        }
        var request = Request(url: try URLRecord(origin.url()))
        _ = try await session.data(for: request)
        request.headerFields[.cookie] = "b=mine; x=1"
        _ = try await session.data(for: request)
        #expect(cookies(at: origin) == ["c=session; a=jar; b=jar", "b=mine; x=1; a=jar; c=jar"])
    }

    // R28
    // Proves: RED-11, COK-12, FN-43, SEC-31.
    @Test func `nothing of one host's cookies reaches another on a redirect`() async throws {
        let target = try cookieOrigin([
            "/b": "302 Found\r\nLocation: /c\r\nSet-Cookie: theirs=1\r\n", "/c": "200 OK\r\n",
        ])
        let origin = try cookieOrigin([
            "/a": "302 Found\r\nLocation: http://localhost:\(target.port)/b\r\nSet-Cookie: ours=1\r\n"
        ])
        let (session, _) = cookieSession()
        var request = Request(url: try URLRecord(origin.url("/a")))
        request.headerFields[.cookie] = "mine=1"
        _ = try await session.data(for: request)
        #expect(cookies(at: origin) == ["mine=1"])
        #expect(cookies(at: target) == ["", "theirs=1"])
    }

    // Proves: COK-2.
    @Test func `bytes that are not UTF-8 come back as they were`() async throws {
        let value: [UInt8] = [0x61, 0x3D, 0xE9, 0x22, 0x20, 0xFF]
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    Array("HTTP/1.1 200 OK\r\nSet-Cookie: ".utf8) + value + Array("\r\nContent-Length: 0\r\n\r\n".utf8))
            }
        }
        let (session, _) = cookieSession()
        let request = Request(url: try URLRecord(origin.url()))
        for _ in 0..<2 { _ = try await session.data(for: request) }
        let expected = Array("Cookie: ".utf8) + value + Array("\r\n".utf8)
        #expect(origin.connections.first?.received.firstRange(of: expected) != nil)
    }
}
