import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// Answers that are no HTTP: each has a code that says so.
@Suite struct BrokenAnswerTests {
    private func load(_ answer: String) async throws -> (body: [UInt8], response: Response) {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(answer)
        }
        let session = Session()
        defer { session.invalidateAndCancel() }
        return try await session.data(for: Request(url: try URLRecord(origin.url())))
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"

    private static let empty = "Content-Length: 0\r\n\r\n"
    private static let long = String(repeating: "a", count: 120_000)
    private static let broken: [(String, LoadError.Code)] = [
        ("HTTP/3.7 200 OK\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 1000 X\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 099 X\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 20 X\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 abc X\r\n\(empty)", .badServerResponse),
        ("HTTP/A.B 200 OK\r\n\(empty)", .badServerResponse),
        ("http/1.1 200 OK\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", .badServerResponse),
        ("HTTP/1.1 200 OK\r\n A: b\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\(empty)", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: other\r\n\r\nx", .cannotDecodeContentData),
        ("\(chunked)\r\nzz\r\nx\r\n0\r\n\r\n", .cannotParseResponse),
        ("\(chunked)\r\n-1\r\nx\r\n0\r\n\r\n", .cannotParseResponse),
        ("\(chunked)\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n", .cannotParseResponse),
        ("\(chunked)\r\n1\r\nxyz\r\n0\r\n\r\n", .cannotParseResponse),
        ("\(chunked)\r\n1\r\nx\r\n0\r\nA: b\0c\r\n\r\n", .badServerResponse),
        ("\(chunked)\r\n1\r\nx\r\n0\r\nA: \(long)\r\n\r\n", .dataLengthExceedsMaximum),
        ("HTTP/1.1 200 OK\r\nA: \(long)\r\n\r\n", .dataLengthExceedsMaximum),
    ]

    // RFC 9112 §4, §5, §6.1, §7.1
    // Proves: ERR-4.
    @Test(arguments: broken)
    func `what is no answer has its own code`(_ answer: String, _ code: LoadError.Code) async throws {
        await expect(code) { try await load(answer).body }
    }

    private static let brokenTunnels: [(String, LoadError.Code)] = [
        ("HTTP/1.1 200 OK\r\nno field\r\n\r\n", .badProxyResponse),
        ("HTTP/1.1 200 OK\r\n A: b\r\n\r\n", .badProxyResponse),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", .badProxyResponse),
        ("HTTP/1.1 200 OK\r\nA: \(long)\r\n\r\n", .networkConnectionLost),
        ("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .proxyAuthenticationRequired),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .proxyRefusedConnection),
        ("HTTP/9.9 200 OK\r\n\r\n", .cannotConnectToProxy), ("nonsense\r\n\r\n", .cannotConnectToProxy),
    ]

    // Before there is any request to the server.
    // Proves: ERR-4.
    @Test(arguments: brokenTunnels)
    func `what is no answer to CONNECT has its own code`(_ answer: String, _ code: LoadError.Code) async throws {
        let proxy = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(answer)
        }
        var configuration = SessionConfiguration()
        configuration.proxies = ProxyConfiguration(https: Proxy(.http, host: "127.0.0.1", port: proxy.port))
        let session = Session(configuration: configuration)
        defer { session.invalidateAndCancel() }
        await expect(code) { try await session.data(for: Request(url: try URLRecord("https://origin.example/"))) }
    }
}
