import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Metrics have the header fields that a server has received, and those of its responses.
@Suite struct SentFieldsTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    private static let session: Session = {
        var configuration = SessionConfiguration()
        configuration.recordsHeaderFields = true
        return Session(configuration: configuration)
    }()

    /// The fields of each head that a server has received.
    private static func lines(_ received: String) -> [[String]] {
        received.components(separatedBy: "\r\n\r\n").filter { $0.contains(" HTTP/1.1\r\n") }.map { head in
            head.components(separatedBy: "\r\n").dropFirst().map { $0 }
        }
    }

    private static func lines(_ transaction: TransactionMetrics) -> [String] {
        (transaction.requestHeaderFields ?? [:]).map { "\($0.name.rawName): \($0.value)" }
    }

    @Test func `they are the same, with those that are added`() async throws {
        let origin = try WireOrigin(playing: Self.answer)
        var request = Request(url: try URLRecord(origin.url("/a?b=c")), method: .post, body: .bytes([65, 66]))
        request.headerFields = [.accept: "text/html", .userAgent: "test/1"]
        request.headerFields.append(HTTPField(name: try #require(.init("X-Tag")), value: "1"))
        request.headerFields.append(HTTPField(name: try #require(.init("X-Tag")), value: ""))
        let task = Self.session.dataTask(with: request)
        _ = try await task.response(bufferingUpTo: 100)
        let transaction = try #require(task.metrics.transactions.first)
        let received = try #require(Self.lines(origin.received()).first)
        // A field without a value is sent without the blank that we write behind the colon.
        #expect(Self.lines(transaction) == received.map { $0.hasSuffix(":") ? "\($0) " : $0 })
        for name in ["Host: 127.0.0.1:", "Content-Length: 2", "Accept: text/html", "X-Tag: 1"] {
            #expect(received.contains { $0.hasPrefix(name) }, "\(name)")
        }
        #expect(transaction.responseHeaderFields == [.contentLength: "0"])
        let plain = Session().dataTask(with: request)
        _ = try await plain.response(bufferingUpTo: 100)
        #expect(
            plain.metrics.transactions.allSatisfy { $0.requestHeaderFields == nil && $0.responseHeaderFields == nil })
    }

    @Test func `each request of a load has its own, and no secret has a value`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /a ")
                        ? "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n" : Self.answer)
            }
        }
        var request = Request(url: try URLRecord(origin.url("/a")))
        request.headerFields = [.authorization: "Bearer sesame", .cookie: "a=sesame"]
        let mark = HTTPField(name: try #require(.init("X-Mark")), value: "sesame")
        request.headerFields.append(mark.markedSensitive)
        let task = Self.session.dataTask(with: request)
        _ = try await task.response(bufferingUpTo: 100)
        let transactions = task.metrics.transactions
        #expect(transactions.count == 2 && origin.received().contains("sesame"))
        #expect(transactions.map { $0.responseHeaderFields?[.location] } == ["/b", nil])
        for (transaction, received) in zip(transactions, Self.lines(origin.received())) {
            let names = transaction.requestHeaderFields?.map(\.name.rawName)
            #expect(names == received.map { String($0.prefix { $0 != ":" }) })
            #expect(!Self.lines(transaction).joined().contains("sesame"))
            for name in [HTTPField.Name.authorization, .cookie, mark.name] {
                #expect(transaction.requestHeaderFields?[fields: name].map(\.isSensitive) == [true], "\(name)")
                #expect(transaction.requestHeaderFields?[name]?.isEmpty == true, "\(name)")
            }
        }
    }

    @Test func `more than 8 KiB are not kept`() async throws {
        let origin = try WireOrigin(playing: Self.answer)
        for (count, isKept) in [(7000, true), (9000, false)] {
            var request = Request(url: try URLRecord(origin.url()))
            request.headerFields = [.userAgent: String(repeating: "x", count: count)]
            let task = Self.session.dataTask(with: request)
            _ = try await task.response(bufferingUpTo: 100)
            #expect((task.metrics.transactions.first?.requestHeaderFields != nil) == isKept, "\(count)")
        }
    }

    @Test func `HTTP 2 has them too`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"), directives: ["location /tag { return 200 $http_x_tag; }"])
        var configuration = SessionConfiguration()
        configuration.recordsHeaderFields = true
        configuration.tls.anchors = .pem(authority.certificate)
        let session = Session(configuration: configuration)
        for number in 1...2 {
            var request = Request(url: try URLRecord("https://localhost:\(server.port)/tag"))
            request.headerFields.append(HTTPField(name: try #require(.init("X-Tag")), value: "\(number)"))
            let task = session.dataTask(with: request)
            #expect(try await task.response(bufferingUpTo: 100).httpVersion == "h2")
            let fields = try #require(task.metrics.transactions.first?.requestHeaderFields)
            #expect(fields[try #require(.init("X-Tag"))] == "\(number)")
        }
    }
}
