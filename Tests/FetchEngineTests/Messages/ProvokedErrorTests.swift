import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Codes that other suites do not provoke.
@Suite struct ProvokedErrorTests {
    private func load(_ url: String, _ change: (inout SessionConfiguration) -> Void = { _ in }) async throws -> [UInt8]
    {
        var configuration = SessionConfiguration()
        change(&configuration)
        return try await Session(configuration: configuration).data(for: Request(url: try URLRecord(url))).0
    }

    private func origin(playing answer: [UInt8]) throws -> WireOrigin {
        try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(answer)
        }
    }

    // Proves: ERR-4.
    @Test func `content that was announced and did not come at all is a zero byte resource`() async throws {
        let origin = try origin(playing: Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8))
        await expect(.zeroByteResource) { try await load(origin.url()) }
    }

    // Proves: ERR-4, RED-10.
    @Test(arguments: ["https://h:99999/", "http://a b/", "//[::1", "http://"])
    func `a redirect to what is no URL leads nowhere`(_ location: String) async throws {
        let origin = try origin(
            playing: Array("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n".utf8))
        await expect(.redirectToNonExistentLocation) { try await load(origin.url()) }
    }

    // Proves: RED-12.
    @Test(arguments: ["ftp://other.example/", "mailto:a@b", "javascript:alert(1)", "x:y"])
    func `a redirect to another scheme is forbidden`(_ location: String) async throws {
        let origin = try origin(
            playing: Array("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n".utf8))
        await expect(.redirectTargetForbidden) { try await load(origin.url()) }
    }

    /// HTTP/2 frames: length, type, flags, stream, payload.
    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    // libcurl tells a reset stream apart; of frames that break the protocol it says only that no answer came.
    // Proves: ERR-4, ERR-7.
    @Test(arguments: [
        ("RST_STREAM", frame(3, 0, 1, [0, 0, 0, 2]), LoadError.Code.badServerResponse),
        ("DATA on no stream", frame(0, 0, 0, [1]), .networkConnectionLost),
        ("a short frame", frame(3, 0, 1, [0]), .networkConnectionLost),
        ("HTTP/1.1", Array("HTTP/1.1 400 Bad\r\n\r\n".utf8), .networkConnectionLost),
    ])
    func `a broken HTTP/2 exchange has its code`(
        _ name: String, _ frames: [UInt8], _ code: LoadError.Code
    ) async throws {
        let origin = try WireOrigin { connection in
            try connection.receive(24)
            try connection.send(Self.frame(4, 0, 0) + frames)
            try connection.receiveToEnd()
        }
        await expect(code) { try await load(origin.url()) { $0.httpVersion = .http2 } }
    }

    // Proves: ERR-4.
    @Test func `more header than allowed is too much data`() async throws {
        let field = "X: " + String(repeating: "y", count: 1000) + "\r\n"
        let head = "HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 100) + "Content-Length: 0\r\n\r\n"
        let origin = try origin(playing: Array(head.utf8))
        await expect(.dataLengthExceedsMaximum) { try await load(origin.url()) { $0.maximumHeaderBytes = 10_000 } }
    }

    // Proves: ERR-4.
    @Test func `a reset before the answer loses the connection`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            connection.reset()
        }
        await expect(.networkConnectionLost) { try await load(origin.url()) }
    }

    // Proves: ERR-4.
    @Test func `a body file that is missing, a folder, or not to be opened has its code`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let request = Request(url: try URLRecord(origin.url()), method: .put)
        for (path, code) in [
            ("/tmp/no-such-file", LoadError.Code.fileDoesNotExist), ("/tmp", .fileIsDirectory),
            ("/dev/null", .cannotOpenFile),
        ] {
            await expect(code) { try await Session().upload(for: request, from: .file(path: path)) }
        }
    }

    // Proves: ERR-4, URL-3, SEC-27.
    @Test func `a header field or method that must not be sent has its code`() async throws {
        let url = try URLRecord("http://127.0.0.1:9/")
        var request = Request(url: url)
        request.headerFields[.connection] = "close"
        await expect(.headerForbidden) { try await Session().data(for: request) }
        let trace = Request(url: url, method: .trace)
        await expect(.methodInvalid) { try await Session().data(for: trace) }
    }

    // Proves: FN-11.
    @Test func `a task of an invalidated session fails, it does not trap`() async throws {
        let session = Session()
        session.invalidateAndCancel()
        let request = Request(url: try URLRecord("data:,x"))
        await expect(.sessionInvalidated) { try await session.data(for: request) }
    }
}
