import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ContentCodingTests {
    static let text = Array(String(repeating: "The quick brown fox. ", count: 90).utf8)

    // Proves: DCD-7, RSP-5, BEY-31.
    @Test(arguments: ["br", "zstd", "gzip", "X-GZIP"])
    func `content is asked for in a coding and given without it`(coding: String) async throws {
        let coded =
            switch coding {
            case "br": ContentDecoderTests.brotli
            case "zstd": ContentDecoderTests.zstd
            default: ContentDecoderTests.storedGzip(Self.text)
            }
        let origin = try WireOrigin(coding: coding, coded)
        let (body, response) = try await Session().data(for: Request(url: try URLRecord(origin.url())))
        #expect(body == Self.text)
        #expect(response.expectedContentLength == nil)
        #expect(response.headerFields[.contentEncoding] == coding)
        #expect(origin.received().contains(offeredCodings))
    }

    // Proves: DCD-7, BEY-32.
    @Test(arguments: [HTTPField.Name.acceptEncoding, .range])
    func `a request with its own coding or a range gets the bytes as they come`(name: HTTPField.Name) async throws {
        let coded = ContentDecoderTests.storedGzip(Self.text)
        let origin = try WireOrigin(coding: "gzip", coded)
        var request = Request(url: try URLRecord(origin.url()))
        request.headerFields[name] = name == .range ? "bytes=0-" : "gzip"
        let (body, response) = try await Session().data(for: request)
        #expect(body == coded)
        #expect(response.expectedContentLength == Int64(coded.count))
        #expect(!origin.received().contains("br, zstd"))
    }

    // Proves: DCD-7.
    @Test func `a session that wants no decoding offers nothing`() async throws {
        let coded = ContentDecoderTests.storedGzip(Self.text)
        let origin = try WireOrigin(coding: "gzip", coded)
        var configuration = SessionConfiguration()
        configuration.automaticallyDecodesContent = false
        let session = Session(configuration: configuration)
        let (body, _) = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(body == coded)
        #expect(!origin.received().contains("Accept-Encoding"))
    }

    // RFC 9110 §8.4: its reader may know it.
    @Test(arguments: ["compress", "gzip, other", "aws-chunked"])
    func `content in a coding that is not known is given as it is`(coding: String) async throws {
        let origin = try WireOrigin(coding: coding, Self.text)
        let (body, response) = try await Session().data(for: Request(url: try URLRecord(origin.url())))
        #expect(body == Self.text && response.headerFields[.contentEncoding] == coding)
        #expect(response.expectedContentLength == Int64(Self.text.count))
    }

    // Proves: ERR-5, SEC-25.
    @Test func `a truncated coding fails although its length is right`() async throws {
        let coded = ContentDecoderTests.storedGzip(Self.text)
        for count in [1, 9, 20, coded.count - 1] {
            let origin = try WireOrigin(coding: "gzip", Array(coded[..<count]))
            await expect(.cannotDecodeContentData) {
                try await Session().data(for: Request(url: try URLRecord(origin.url())))
            }
        }
    }

    // Proves: ERR-5.
    @Test func `a coding that is too deep fails`() async throws {
        let origin = try WireOrigin(coding: "gzip, gzip, gzip, gzip", Self.text)
        await expect(.cannotDecodeContentData) {
            try await Session().data(for: Request(url: try URLRecord(origin.url())))
        }
    }

    // Proves: DCD-7.
    @Test func `a coding without content, and identity, are no errors`() async throws {
        let empty = try WireOrigin(coding: "gzip", [])
        #expect(try await Session().data(for: Request(url: try URLRecord(empty.url()))).0.isEmpty)
        let head = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n")
        let request = Request(url: try URLRecord(head.url()), method: .head)
        #expect(try await Session().data(for: request).1.expectedContentLength == 9)
        let plain = try WireOrigin(coding: "Identity", Self.text)
        let (body, response) = try await Session().data(for: Request(url: try URLRecord(plain.url())))
        #expect(body == Self.text && response.expectedContentLength == Int64(Self.text.count))
    }

    // Proves: BEY-31, SEC-25.
    @Test func `a bomb ends at its limit`() async throws {
        let bomb = try #require(try GzipVector.file().gzip.first { $0.name == "bomb-1000x" }).bytes
        let origin = try WireOrigin(coding: "gzip", bomb)
        var configuration = SessionConfiguration()
        configuration.decodingLimits = DecodingLimits(maximumBytes: 1 << 20)
        let session = Session(configuration: configuration)
        await expect(.dataLengthExceedsMaximum) {
            try await session.data(for: Request(url: try URLRecord(origin.url())))
        }
    }

    // The buffer before the wish for a whole body is known is as large as that body may be.
    // Proves: TSK-2.
    @Test(arguments: [524_287, 524_288, 524_289, 700_000]) func `a body about as large as the buffer comes whole`(
        count: Int
    ) async throws {
        let body = pattern(count)
        for coding in ["identity", "gzip"] {
            let coded = coding == "gzip" ? Self.gzip(body) : body
            let origin = try WireOrigin(coding: coding, coded)
            let (found, _) = try await Session().data(for: Request(url: try URLRecord(origin.url())))
            #expect(found == body)
        }
    }

    /// Several members with stored blocks, which are one file.
    private static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: 60_000).flatMap { start in
            ContentDecoderTests.storedGzip(Array(bytes[start..<min(start + 60_000, bytes.count)]))
        }
    }

    // Proves: DCD-7, TSK-15.
    @Test func `what is decoded waits for a slow reader`() async throws {
        let bomb = try #require(try GzipVector.file().gzip.first { $0.name == "bomb-1000x" }).bytes
        let origin = try WireOrigin(coding: "gzip", bomb)
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response()
        var count = 0
        for try await chunk in task.body {
            #expect(chunk.count < 700_000)
            count += chunk.count
        }
        #expect(count == 8_388_608)
        #expect(task.countOfBytesReceived == 8_388_608)
    }
}

extension WireOrigin {
    /// An origin that answers with a body in a content coding.
    convenience init(coding: String, _ body: [UInt8]) throws {
        try self.init { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(body)
            }
        }
    }
}
