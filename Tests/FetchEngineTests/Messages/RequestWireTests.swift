import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The bytes of a request on the wire.
@Suite struct RequestWireTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: URL-1.
    @Test func `a bare URL and a request send the same bytes`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let url = try URLRecord(origin.url("/a?b#c"))
        _ = try await Session().dataTask(with: url).data()
        _ = try await Session().dataTask(with: Request(url: url)).data()
        #expect(origin.received(on: 0) == origin.received(on: 1))
        #expect(origin.received(on: 0).hasPrefix("GET /a?b HTTP/1.1\r\n"))
    }

    // Proves: URL-7.
    @Test func `a change to the request after the task was made changes nothing`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        var request = Request(url: try URLRecord(origin.url("/first")))
        let task = Session().dataTask(with: request)
        request.url = try URLRecord(origin.url("/second"))
        request.headerFields[.userAgent] = "late"
        _ = try await task.data()
        let fields = "Host: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n\(offeredCodings)"
        #expect(origin.received() == "GET /first HTTP/1.1\r\n\(fields)\r\n")
        #expect(task.originalRequest.url.path == "/first")
    }

    /// An origin that answers when it has the body too.
    private static func origin(receiving count: Int) throws -> WireOrigin {
        try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(count)
            try connection.send(ok)
        }
    }

    // Proves: URL-3.
    @Test func `fields keep their order, repeats and bytes, and names have no case`() async throws {
        let origin = try Self.origin(receiving: 2)
        var request = Request(url: try URLRecord(origin.url()), method: .post, body: .bytes([0x61, 0x62]))
        let name = try #require(HTTPField.Name("X-Tag"))
        request.headerFields.append(HTTPField(name: name, value: "1"))
        request.headerFields.append(HTTPField(name: .contentType, value: "text/plain"))
        request.headerFields.append(HTTPField(name: name, lenientValue: [0xE9]))
        #expect(request.headerFields[values: try #require(HTTPField.Name("x-tag"))].count == 2)
        _ = try await Session().data(for: request)
        let sent = try #require(origin.connections.first).received
        let expected =
            Array("X-Tag: 1\r\nContent-Type: text/plain\r\nX-Tag: ".utf8) + [0xE9]
            + Array("\r\nContent-Length: 2\r\n\r\nab".utf8)
        #expect(Array(sent.suffix(expected.count)) == expected)
    }

    // Proves: URL-3.
    @Test func `fields are read, set and added by names without case`() async throws {
        let origin = try Self.origin(receiving: 0)
        var request = Request(url: try URLRecord(origin.url()))
        try request.addValue("1", forHTTPHeaderField: "X-Tag")
        try request.addValue("b", forHTTPHeaderField: "X-Other")
        try request.addValue("2\té", forHTTPHeaderField: "x-tag")
        #expect(request.value(forHTTPHeaderField: "X-TAG") == "1, 2\té")
        #expect(request.value(forHTTPHeaderField: "X-Missing") == nil)
        #expect(request.value(forHTTPHeaderField: "no name") == nil)
        try request.setValue("c", forHTTPHeaderField: "x-other")
        try request.setValue("d", forHTTPHeaderField: "X-Gone")
        try request.setValue(nil, forHTTPHeaderField: "x-gone")
        _ = try await Session().data(for: request)
        let lines = origin.received().split(separator: "\r\n").filter { $0.lowercased().hasPrefix("x-") }
        #expect(lines.sorted() == ["X-Tag: 1", "x-other: c", "x-tag: 2\té"])
        #expect(lines.filter { $0.lowercased().hasPrefix("x-tag") } == ["X-Tag: 1", "x-tag: 2\té"])
    }

    // By its number: the name of a test must have no NUL in it.
    // Proves: URL-3.
    @Test(arguments: [0x0D, 0x0A, 0x00, 0x01, 0x7F]) func `CR, LF, NUL and their like are refused in a value`(
        _ code: UInt8
    ) async throws {
        var request = Request(url: try URLRecord("http://127.0.0.1:1/"))
        for value in ["", "a", "a b"].map({ $0 + String(UnicodeScalar(code)) + "X-Second: b" }) {
            #expect(throws: LoadError.self) { try request.setValue(value, forHTTPHeaderField: "X-First") }
            #expect { try request.addValue(value, forHTTPHeaderField: "X-First") } throws: {
                ($0 as? LoadError)?.code == .headerInvalid
            }
            #expect(throws: LoadError.self) { try request.setValue("a", forHTTPHeaderField: value) }
        }
        #expect(request.headerFields.isEmpty)
        // A field that is made otherwise cannot hold the first three, and is refused with the others.
        let name = try #require(HTTPField.Name("X-First"))
        let field = HTTPField(name: name, lenientValue: [0x61, code, 0x62])
        let (origin, isHeld) = (try Self.origin(receiving: 0), ![0x0D, 0x0A, 0x00].contains(code))
        #expect(field.withUnsafeBytesOfValue { $0.contains(code) } == isHeld)
        request.url = try URLRecord(origin.url())
        request.headerFields.append(field)
        if isHeld {
            await expect(.headerInvalid) { try await Session().data(for: request) }
            #expect(origin.connections.isEmpty)
        } else {
            _ = try await Session().data(for: request)
            #expect(origin.received().contains("\r\nX-First: a b\r\n"))
        }
    }

    // Proves: URL-6, URL-5.
    @Test func `a request's own interval goes before the session's`() async throws {
        let origin = try WireOrigin { try $0.receiveToEnd() }
        var configuration = SessionConfiguration()
        #expect(configuration.timeoutIntervalForRequest == .seconds(60))
        configuration.timeoutIntervalForRequest = .milliseconds(50)
        let session = Session(configuration: configuration)
        await expect(.timedOut) { try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        let slow = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(Self.ok)
        }
        var request = Request(url: try URLRecord(slow.url()), timeoutInterval: .seconds(30))
        #expect(try await session.data(for: request).0 == Array("hi".utf8))
        request.timeoutInterval = .milliseconds(50)
        request.url = try URLRecord(origin.url())
        await expect(.timedOut) { try await Session().data(for: request) }
    }

    // Proves: URL-11.
    @Test(arguments: ["HTTP://EXAMPLE.test:80", "http://example.test/.", "http://example.test/a/.."])
    func `URLs are brought into one form`(_ text: String) throws {
        #expect("\(try URLRecord(text))" == "http://example.test/")
    }

    // Proves: ENC-5, CON-13.
    @Test func `a form arrives as its bytes with its type`() async throws {
        let origin = try Self.origin(receiving: 24)
        var request = Request(url: try URLRecord(origin.url()), method: .post)
        request.setForm([QueryItem("q", "x&admin=1"), QueryItem("r", "é")])
        _ = try await Session().data(for: request)
        #expect(
            origin.received()
                == """
                POST / HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r
                \(offeredCodings)Content-Type: application/x-www-form-urlencoded\r
                Content-Length: 24\r\n\r\nq=x%26admin%3D1&r=%C3%A9
                """)
    }
}
