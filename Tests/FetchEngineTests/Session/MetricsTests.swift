import FetchEngine
import HTTPTypes
import TestSupport
import Testing

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
        let times = [one.connectEnd, one.requestStart, one.responseStart, one.responseEnd].compactMap { $0 }
        #expect(times.count == 4)
        #expect(times == times.sorted())
        #expect(one.responseEnd <= metrics.taskInterval)
        #expect(one.secureConnectionStart == nil)
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
