import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct ResponseBodyTests {
    /// An origin whose body is so many bytes of a known pattern.
    private static func origin(of count: Int) throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
                try connection.send(pattern(count))
            }
        }
    }

    // R19: a size at, below and above each buffer's edge.
    // Proves: TSK-2, CON-10.
    @Test(arguments: [0, 1, 16383, 16384, 16385, 65535, 65536, 65537, 524_287, 524_288, 524_289, 3_000_000])
    func `a body of any size arrives whole, buffered or not`(_ count: Int) async throws {
        let origin = try Self.origin(of: count)
        let session = Session()
        let request = Request(url: try URLRecord(origin.url()))
        let (body, _) = try await session.data(for: request)
        #expect(body == pattern(count))
        for limit in [0, 16384, 65536, 4_000_000] {
            let task = session.dataTask(with: request)
            _ = try await task.response(bufferingUpTo: limit)
            #expect((task.completeBody != nil) == (count <= limit) || limit == 0 && count == 0)
            var streamed: [UInt8] = []
            for try await chunk in task.body { streamed += chunk }
            #expect(streamed == pattern(count))
            #expect(task.state == .completed)
            #expect(task.countOfBytesReceived == Int64(count))
        }
    }

    // Proves: TSK-2, TSK-6.
    @Test func `the response comes before the body does`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            try gate.wait()
            try connection.send("hi")
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        let response = try await task.response()
        #expect(response.expectedContentLength == 2)
        #expect(task.state == .running)
        gate.open()
        var body: [UInt8] = []
        for try await chunk in task.body { body += chunk }
        #expect(body == Array("hi".utf8))
    }

    // A reader that does not read holds the server up instead of filling memory.
    // Proves: TSK-15, FN-50.
    @Test func `a body that nobody reads is not taken from the server`() async throws {
        let sent = Progress()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\n\r\n")
            let chunk = pattern(65536)
            while sent.add(chunk.count) <= 268_435_456 { try connection.send(chunk) }
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response(bufferingUpTo: 100_000)
        var iterator = task.body.makeAsyncIterator()
        _ = try await iterator.next()
        #expect(task.countOfBytesReceived < 4_000_000)
        task.cancel()
        try await origin.ended()
        #expect(sent.value < 64_000_000)
    }

    // Proves: ERR-5.
    @Test func `a body that breaks off throws after the bytes that came`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response()
        var body: [UInt8] = []
        await expect(.networkConnectionLost) { for try await chunk in task.body { body += chunk } }
        #expect(body == Array("abc".utf8))
    }

    // Proves: SEC-24.
    @Test(arguments: [
        "Content-Length: 11\r\n\r\n01234567890", "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n",
    ])
    func `a body larger than the limit fails`(_ rest: String) async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\n" + rest)
        var configuration = SessionConfiguration()
        configuration.maximumResponseBytes = 10
        let session = Session(configuration: configuration)
        await expect(.dataLengthExceedsMaximum) {
            try await session.data(for: Request(url: try URLRecord(origin.url())))
        }
    }

    // Proves: SEC-24.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n", "X-Filler: 0123456789\r\n"),
        ("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Filler: 0123456789\r\n"),
    ])
    func `endless heads, informational answers and trailers end at the limit`(
        _ start: String, _ again: String
    ) async throws {
        let sent = Progress()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(start)
            let filler = Array(String(repeating: again, count: 100).utf8)
            while sent.add(filler.count) < 100_000_000 { try connection.send(filler) }
        }
        await expect(.dataLengthExceedsMaximum) {
            try await Session().data(for: Request(url: try URLRecord(origin.url())))
        }
        try await origin.ended()
        #expect(sent.value < 20_000_000)
    }

    // libcurl drops the bytes of an extension, so that none of them counts as progress.
    // Proves: SEC-24.
    @Test func `an endless chunk extension ends with the idle interval`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=")
            let filler = [UInt8](repeating: 0x61, count: 1000)
            // Until the client has closed the connection.
            while true { try connection.send(filler) }
        }
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForRequest = .milliseconds(500)
        await expect(.timedOut) {
            try await Session(configuration: configuration).data(for: Request(url: try URLRecord(origin.url())))
        }
        try await origin.ended()
    }
}
