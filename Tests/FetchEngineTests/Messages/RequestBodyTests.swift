import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct RequestBodyTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // R19: sizes at the edges of the buffers on the way.
    // Proves: UPL-1, UPL-2, SES-25.
    @Test(arguments: [0, 1, 16383, 16384, 16385, 65535, 65536, 65537, 262_144, 1_048_577, 5_000_000])
    func `bytes and files of any size arrive whole, with their length`(_ count: Int) async throws {
        let file = try TemporaryFile(pattern(count))
        for body in [RequestBody.bytes(pattern(count)), .file(path: file.path)] {
            let origin = try WireOrigin { connection in
                try connection.receiveHead()
                try connection.receive(count)
                try connection.send(Self.ok)
            }
            let request = Request(url: try URLRecord(origin.url()), method: .put, body: body)
            var configuration = SessionConfiguration()
            configuration.expectContinue = .never
            let task = Session(configuration: configuration).dataTask(with: request)
            _ = try await task.response(bufferingUpTo: 100)
            // The type is that of an unknown extension, and said of files only.
            let type = if case .file = body { "Content-Type: application/octet-stream\r\n" } else { "" }
            let head =
                "PUT / HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n"
                + "\(offeredCodings)\(type)Content-Length: \(count)\r\n\r\n"
            // Compared outside of the macro, which would print megabytes.
            let isWhole = origin.connections.first?.received == Array(head.utf8) + pattern(count)
            #expect(isWhole)
            #expect(task.countOfBytesSent == Int64(count))
        }
    }

    // Proves: UPL-1, UPL-4, UPL-5.
    @Test(arguments: [nil, Int64(3_000_000)] as [Int64?])
    func `a stream slower than the network arrives whole, chunked unless its length is known`(
        _ length: Int64?
    ) async throws {
        let origin = try WireOrigin { connection in
            let head = try connection.receiveHead() ?? ""
            #expect(head.contains("Transfer-Encoding: chunked") == (length == nil))
            let body = try length == nil ? connection.receiveChunked() : connection.receive(3_000_000)
            #expect(body == pattern(3_000_000))
            try connection.send(Self.ok)
        }
        let pipe = BodyPipe(capacity: 10_000)
        let request = Request(
            url: try URLRecord(origin.url()), method: .post, body: .stream(length: length, pipe))
        try await withThrowingTaskGroup { group in
            group.addTask { _ = try await Session().data(for: request) }
            let bytes = pattern(3_000_000)
            for start in stride(from: 0, to: bytes.count, by: 7001) {
                try await pipe.write(Array(bytes[start..<min(start + 7001, bytes.count)]))
            }
            pipe.finish()
            try await group.waitForAll()
        }
    }

    // A server that answers early must not leave the writer waiting for ever.
    @Test func `the writer of a stream is told when the transfer is over`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        }
        let pipe = BodyPipe(capacity: 1000)
        let request = Request(url: try URLRecord(origin.url()), method: .post, body: .stream(pipe))
        await withTaskGroup { group in
            group.addTask { _ = try? await Session().data(for: request) }
            await #expect(throws: BodyPipe.Closed.self) {
                while true { try await pipe.write([UInt8](repeating: 1, count: 1000)) }
            }
        }
    }

    @Test func `a stream that is shorter or longer than its length fails the load`() async throws {
        for bytes in [[UInt8](repeating: 1, count: 2), [UInt8](repeating: 1, count: 4)] {
            let origin = try WireOrigin { try $0.receiveToEnd() }
            let pipe = BodyPipe()
            try await pipe.write(bytes)
            pipe.finish()
            let request = Request(url: try URLRecord(origin.url()), method: .post, body: .stream(length: 3, pipe))
            await expect(.requestBodyStreamExhausted) { try await Session().data(for: request) }
        }
    }

    @Test(arguments: [
        ("/no/such/file", LoadError.Code.fileDoesNotExist), ("/tmp", .fileIsDirectory),
    ])
    func `a file that cannot be sent has its code`(_ path: String, _ code: LoadError.Code) async throws {
        let request = Request(url: try URLRecord("http://127.0.0.1:1/"), method: .put, body: .file(path: path))
        await expect(code) { try await Session().data(for: request) }
    }

    // Proves: FN-59.
    @Test func `a GET may have a body`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(3)
            try connection.send(Self.ok)
        }
        _ = try await Session().data(for: Request(url: try URLRecord(origin.url()), body: .bytes([1, 2, 3])))
        #expect(origin.received().hasPrefix("GET / HTTP/1.1\r\n"))
        #expect(origin.received().contains("Content-Length: 3\r\n"))
    }
}
