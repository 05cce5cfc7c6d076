import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

@Suite struct MetricsTests {
    // Proves: FN-21, BEY-1, BEY-6.
    @Test func `a transaction tells its times, addresses and bytes`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(5)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        }
        let request = Request(url: try URLRecord(origin.url("/x?y")), method: .post, body: .bytes([1, 2, 3, 4, 5]))
        let task = Session().dataTask(with: request)
        _ = try await task.response(bufferingUpTo: 10)
        let metrics = task.metrics
        let one = try #require(metrics.transactions.first)
        #expect(metrics.transactions.count == 1)
        #expect(one.status == 200)
        #expect(one.networkProtocolName == "http/1.1")
        #expect(one.remoteAddress == "127.0.0.1")
        #expect(one.remotePort == Int(origin.port))
        #expect(one.localAddress == "127.0.0.1")
        #expect(!one.isReusedConnection)
        #expect(one.countOfRequestBodyBytesSent == 5)
        #expect(one.countOfRequestHeaderBytesSent == Int64(origin.received().utf8.count - 5))
        #expect(one.countOfResponseHeaderBytesReceived == 38)
        #expect(one.countOfResponseBodyBytesReceived == 2)
        // Without a coding they are the same.
        #expect(one.countOfRequestBodyBytesBeforeEncoding == 5 && one.countOfResponseBodyBytesAfterDecoding == 2)
        let times = [one.connectEnd, one.requestStart, one.responseStart, one.responseEnd].compactMap { $0 }
        #expect(times.count == 4)
        #expect(times == times.sorted())
        #expect(one.responseEnd <= metrics.taskInterval)
        #expect(one.secureConnectionStart == nil)
    }

    // More than is decoded at once: the last bytes are decoded when the connection is done.
    // Proves: BEY-1.
    @Test(arguments: [1000, 8_000_000])
    func `bytes are counted before and after their coding, both ways`(_ size: Int) async throws {
        let text = [UInt8](repeating: 0x61, count: size)
        let coded = try #require(Self.gzip(text))
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            let sent = try connection.receiveChunked()
            let head =
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-Sent: \(sent.count)\r\n"
                + "Content-Length: \(coded.count)\r\n\r\n"
            try connection.send(Array(head.utf8) + coded)
        }
        var request = Request(url: try URLRecord(origin.url()), method: .put)
        request.bodyCoding = .gzip
        let task = Session().uploadTask(with: request, from: .bytes(text))
        let (body, response) = try await task.data()
        let isWhole = body == text
        #expect(isWhole)
        let one = try #require(task.metrics.transactions.first)
        #expect(one.countOfRequestBodyBytesBeforeEncoding == Int64(size))
        #expect(one.countOfRequestBodyBytesSent < Int64(size))
        // libcurl counts the chunks' frames as well.
        let sent = Int64(response.headerFields[try #require(HTTPField.Name("X-Sent"))] ?? "") ?? 0
        #expect(sent > 0 && (sent...(sent + sent / 8 + 64)).contains(one.countOfRequestBodyBytesSent))
        #expect(one.countOfResponseBodyBytesReceived == Int64(coded.count))
        #expect(one.countOfResponseBodyBytesAfterDecoding == Int64(size))
    }

    /// One gzip member (RFC 1952).
    private static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        let encoder = BodyCoding.gzip.makeEncoder()
        var output: [UInt8] = []
        return bytes.withUnsafeBytes { encoder.encode($0, isLast: true, into: &output) } ? output : nil
    }

    @Test func `a load that fails has its transaction too`() async throws {
        let origin = try WireOrigin { try $0.receiveHead() }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        await expect(.networkConnectionLost) { try await task.response() }
        #expect(task.metrics.transactions.count == 1)
        #expect(task.metrics.transactions.first?.status == nil)
        #expect(task.metrics.transactions.first?.responseStart == nil)
    }
}
