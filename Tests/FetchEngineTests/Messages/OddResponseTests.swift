import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Answers that are odd and legal, or odd and common, byte for byte.
@Suite struct OddResponseTests {
    private func load(_ answer: [UInt8]) async throws -> ([UInt8], Response) {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(answer)
        }
        return try await Session().data(for: Request(url: try URLRecord(origin.url())))
    }

    private func load(_ answer: String) async throws -> ([UInt8], Response) { try await load(Array(answer.utf8)) }

    // Proves: RSP-4, FN-53.
    @Test(arguments: [
        ("HTTP/1.1 200", ""), ("HTTP/1.1 200 ", ""), ("HTTP/1.1 200 OK", "OK"), ("HTTP/1.0 200 Very Fine", "Very Fine"),
        ("HTTP/1.1 200 \u{C9}t\u{E9}", "Été"),
    ])
    func `a status line may lack its reason or have any`(_ line: String, _ reason: String) async throws {
        let bytes = line.unicodeScalars.map { UInt8($0.value) }
        let (body, response) = try await load(bytes + Array("\r\nContent-Length: 2\r\n\r\nhi".utf8))
        #expect(response.status.code == 200)
        #expect(response.status.reasonPhrase == reason)
        #expect(String(decoding: body, as: UTF8.self) == "hi")
    }

    // Proves: RSP-4, FN-53.
    @Test func `fields need no space, may be empty, and have names of any case`() async throws {
        let (body, response) = try await load(
            "HTTP/1.1 200 OK\r\ncontent-length:2\r\nX-Empty:\r\nX-Blank:   \r\nX-Tabbed:\t a \t\r\nx-LOWER: b\r\n\r\nhi"
        )
        #expect(String(decoding: body, as: UTF8.self) == "hi")
        #expect(response.expectedContentLength == 2)
        #expect(response.headerFields[HTTPField.Name("X-Empty")!] == "")
        #expect(response.headerFields[HTTPField.Name("X-Blank")!] == "")
        #expect(response.headerFields[HTTPField.Name("X-Tabbed")!] == "a")
        #expect(response.headerFields[HTTPField.Name("X-Lower")!] == "b")
    }

    // Proves: RSP-4, FN-53.
    @Test func `Latin-1 bytes of a value come through`() async throws {
        let (_, response) = try await load(
            Array("HTTP/1.1 200 OK\r\nX-Name: caf".utf8) + [0xE9] + Array("\r\nContent-Length: 0\r\n\r\n".utf8))
        let field = try #require(response.headerFields.first { $0.name.canonicalName == "x-name" })
        #expect(field.withUnsafeBytesOfValue { Array($0) } == Array("caf".utf8) + [0xE9])
    }

    // Proves: RSP-4, SEC-28.
    @Test func `a value with more marks in a row than a text has is passed over, as a line that is no field is`()
        async throws
    {
        func marks(_ count: Int) -> String { String(repeating: "\u{315}", count: count) }
        let fields = [
            "X-A: \(marks(31))", "X-B: \(marks(30))", "X-C: \"\(String(repeating: "\\\u{315}", count: 31))\"",
            "X-D: \(marks(30))-\(marks(30))", "Content-Length: 0",
        ]
        let (_, response) = try await load("HTTP/1.1 200 OK\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n")
        #expect(response.headerFields.map(\.name.canonicalName) == ["x-b", "x-d", "content-length"])
    }

    // Proves: RSP-4, BEY-25.
    @Test func `repeated fields stay apart and in order`() async throws {
        let (_, response) = try await load(
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nB: x\r\nset-cookie: b=2, c\r\nContent-Length: 0\r\n\r\n")
        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2, c"])
        #expect(response.headerFields.map(\.name.canonicalName) == ["set-cookie", "b", "set-cookie", "content-length"])
    }

    // Proves: RSP-4.
    @Test func `a folded field is one field`() async throws {
        let (_, response) = try await load(
            "HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\n\tthree\r\nContent-Length: 0\r\n\r\n")
        let value = try #require(response.headerFields[HTTPField.Name("X-Long")!])
        #expect(value.split { $0 == " " || $0 == "\t" } == ["one", "two", "three"])
        #expect(response.headerFields.count == 2)
    }

    // Proves: RSP-4.
    @Test func `fields whose name is no token are skipped`() async throws {
        let (body, response) = try await load(
            "HTTP/1.1 200 OK\r\nbad name: x\r\nb@d: y\r\nContent-Length: 2\r\n\r\nhi")
        #expect(String(decoding: body, as: UTF8.self) == "hi")
        #expect(response.headerFields.map(\.name.canonicalName) == ["content-length"])
    }

    // Proves: ERR-5.
    @Test func `a line without a colon breaks the protocol`() async throws {
        await expect(.badServerResponse) { try await load("HTTP/1.1 200 OK\r\nno colon\r\n\r\nhi") }
    }

    // Proves: RSP-4.
    @Test func `lines may end in a bare line feed`() async throws {
        let (body, response) = try await load("HTTP/1.1 200 OK\nContent-Length: 2\nX: y\n\nhi")
        #expect(String(decoding: body, as: UTF8.self) == "hi")
        #expect(response.headerFields[HTTPField.Name("X")!] == "y")
    }

    // Proves: RSP-7, FN-52.
    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 199 Odd\r\n\r\n",
    ])
    func `an informational answer is never the response`(_ informational: String) async throws {
        let (body, response) = try await load(informational + "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
        #expect(response.status.code == 404)
        #expect(response.headerFields.map(\.name.canonicalName) == ["content-length"])
        #expect(String(decoding: body, as: UTF8.self) == "no")
    }

    // Proves: RSP-5.
    @Test func `an unknown length is nil, not zero`() async throws {
        let chunked = try await load("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
        #expect(chunked.1.expectedContentLength == nil)
        #expect(String(decoding: chunked.0, as: UTF8.self) == "hi")
        let unframed = try await load("HTTP/1.1 200 OK\r\n\r\nhello")
        #expect(unframed.1.expectedContentLength == nil)
        #expect(String(decoding: unframed.0, as: UTF8.self) == "hello")
        let empty = try await load("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(empty.1.expectedContentLength == 0)
    }

    // Proves: RSP-1, RSP-7.
    @Test func `the response is there before the body ends`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n")
            try gate.wait()
            try connection.send("hi")
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        let response = try await task.response()
        #expect(response.mimeType == "text/plain")
        gate.open()
        var body: [UInt8] = []
        for try await chunk in task.body { body += chunk }
        #expect(String(decoding: body, as: UTF8.self) == "hi")
    }

    // Proves: ERR-2.
    @Test(arguments: [404, 500, 503, 999])
    func `an answer is no error whatever its status`(_ code: Int) async throws {
        let (body, response) = try await load("HTTP/1.1 \(code) Some Reason\r\nContent-Length: 2\r\n\r\nno")
        #expect(response.status.code == code)
        #expect(String(decoding: body, as: UTF8.self) == "no")
    }

    // Proves: BEY-25.
    @Test func `trailers come with the end of the body`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\n\r\n"
        )
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response(bufferingUpTo: 100)
        #expect(task.trailerFields[values: HTTPField.Name("X-Sum")!] == ["1", "2"])
    }
}
