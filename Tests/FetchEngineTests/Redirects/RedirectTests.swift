import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct RedirectTests {
    /// Answers each path with the table's entry for it, on kept connections, reading bodies by their length.
    private static func origin(_ answers: [String: String]) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if let length = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Content-Length: ") }) {
                    try connection.receive(Int(length.dropFirst(16))!)
                }
                if head.contains("Transfer-Encoding: chunked") { try connection.receiveChunked() }
                let path = head.split(separator: " ")[1]
                try connection.send(answers[String(path)] ?? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    private static func redirect(_ code: Int, to location: String, body: String = "gone") -> String {
        "HTTP/1.1 \(code) Moved\r\nLocation: \(location)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: RED-14, TSK-13, RED-13.
    @Test func `redirects are followed on one connection, and every hop is told`() async throws {
        let origin = try Self.origin([
            "/a": Self.redirect(301, to: "/b"), "/b": Self.redirect(302, to: "c", body: ""), "/c": Self.ok,
        ])
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url("/a"))))
        let response = try await task.response(bufferingUpTo: 100)
        #expect(task.completeBody == Array("hi".utf8))
        #expect(response.url.path == "/c")
        #expect(task.originalRequest.url.path == "/a")
        #expect(task.currentRequest.url.path == "/c")
        #expect(task.redirects.map(\.location) == ["/b", "c"])
        #expect(task.redirects.map(\.status.code) == [301, 302])
        #expect(task.metrics.redirectCount == 2)
        #expect(task.metrics.transactions.map(\.status) == [301, 302, 200])
        #expect(task.metrics.transactions.map(\.isReusedConnection) == [false, true, true])
        #expect(origin.connections.count == 1)
    }

    // Proves: RED-6, SEC-30.
    @Test func `twenty redirects are followed and the next fails`() async throws {
        let origin = try Self.origin(["/": Self.redirect(302, to: "/")])
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        await expect(.httpTooManyRedirects) { try await task.response() }
        #expect(origin.received().components(separatedBy: "GET / HTTP/1.1").count - 1 == 21)
    }

    // Proves: RED-4, DLG-8.
    @Test func `a redirect that is not followed is the result, with its body`() async throws {
        let origin = try Self.origin(["/a": Self.redirect(302, to: "/b", body: "look there")])
        var configuration = SessionConfiguration()
        configuration.redirects.policy = .return
        let (body, response) = try await Session(configuration: configuration)
            .data(for: Request(url: try URLRecord(origin.url("/a"))))
        #expect(response.status.code == 302)
        #expect(body == Array("look there".utf8))
    }

    // The wire, not only the table.
    // Proves: RED-9, RED-11, FN-43.
    @Test func `a 303 to another origin is a GET without body, credentials and content fields`() async throws {
        let target = try Self.origin(["/b": Self.ok])
        let origin = try Self.origin(["/a": Self.redirect(303, to: target.url("/b"))])
        var request = Request(url: try URLRecord(origin.url("/a")), method: .post, body: .bytes([1, 2, 3]))
        request.headerFields[.authorization] = "Bearer x"
        request.headerFields[.contentType] = "text/plain"
        _ = try await Session().data(for: request)
        #expect(
            target.received()
                == "GET /b HTTP/1.1\r\nHost: 127.0.0.1:\(target.port)\r\nAccept: */*\r\n\(offeredCodings)\r\n")
    }

    // What a proxy is shown is in its settings: a field of the request would reach servers too.
    // Proves: RED-11, SEC-31.
    @Test func `a Proxy-Authorization of the caller's goes to nobody`() async throws {
        let target = try Self.origin(["/b": Self.ok])
        let origin = try Self.origin(["/a": Self.redirect(302, to: target.url("/b"))])
        let plain = Request(url: try URLRecord(origin.url("/a")))
        var own = plain
        own.headerFields[.proxyAuthorization] = "Basic eDp5"
        await expect(.headerForbidden) { [own] in try await Session().data(for: own) }
        var configuration = SessionConfiguration()
        configuration.httpAdditionalHeaders = [.proxyAuthorization: "Basic eDp5"]
        let session = Session(configuration: configuration)
        await expect(.headerForbidden) { try await session.data(for: plain) }
        #expect(origin.connections.isEmpty)
        let delegate = Answer { request in
            var request = request
            request.headerFields[.proxyAuthorization] = "Basic eDp5"
            return .follow(request)
        }
        await expect(.headerForbidden) { try await Session().data(for: plain, delegate: delegate) }
        #expect(origin.connections.count == 1 && target.connections.isEmpty)
    }

    // Each kind of body, at sizes around the buffers' edges.
    // Proves: RED-9, UPL-11, UPL-7, FN-42, DLG-8.
    @Test(arguments: [307, 308], [0, 1, 16384, 65536, 65537, 1_000_000])
    func `a body is sent again after 307 and 308`(_ code: Int, _ count: Int) async throws {
        let file = try TemporaryFile(pattern(count))
        let bodies: [RequestBody] = [
            .bytes(pattern(count)), .file(path: file.path), .stream(length: Int64(count), PatternStreams(count: count)),
            .stream(PatternStreams(count: count)),
        ]
        for body in bodies {
            let target = try Self.origin(["/b": Self.ok])
            let origin = try Self.origin(["/a": Self.redirect(code, to: target.url("/b"))])
            let request = Request(url: try URLRecord(origin.url("/a")), method: .post, body: body)
            let (answer, _) = try await Session().data(for: request)
            #expect(answer == Array("hi".utf8))
            #expect(content(of: target) == pattern(count))
        }
    }

    @Test func `a stream that can be had once cannot be sent again`() async throws {
        let origin = try Self.origin(["/a": Self.redirect(307, to: "/b")])
        let pipe = BodyPipe()
        try await pipe.write([1, 2, 3])
        pipe.finish()
        let request = Request(url: try URLRecord(origin.url("/a")), method: .post, body: .stream(length: 3, pipe))
        await expect(.requestBodyStreamExhausted) { try await Session().data(for: request) }
    }

    // Proves: RED-1, RED-2, RED-3, RED-4, RED-5.
    @Test func `the delegate may follow, change, stop or cancel`() async throws {
        let origin = try Self.origin([
            "/a": Self.redirect(302, to: "/b", body: "moved"), "/b": Self.ok,
            "/c": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother",
        ])
        let request = Request(url: try URLRecord(origin.url("/a")))
        let other = Request(url: try URLRecord(origin.url("/c")))
        let session = Session()
        let answers: [(Answer, String)] = [
            (Answer { .follow($0) }, "hi"), (Answer { _ in .follow(other) }, "other"),
            (Answer { _ in .returnResponse }, "moved"), (Answer { _ in .performDefaultHandling }, "hi"),
        ]
        for (delegate, body) in answers {
            #expect(try await session.data(for: request, delegate: delegate).0 == Array(body.utf8))
        }
        await expect(.cancelled) { try await session.data(for: request, delegate: Answer { _ in .cancel }) }
    }
}

/// A delegate that answers redirects.
private struct Answer: TaskDelegate {
    let answer: @Sendable (Request) -> RedirectDisposition

    init(_ answer: @escaping @Sendable (Request) -> RedirectDisposition) { self.answer = answer }

    func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition { answer(newRequest) }
}

/// Gives any number of streams of a pattern that is small enough to be written ahead.
private struct PatternStreams: BodyStreamProvider {
    let count: Int

    func makeStream() async -> BodyPipe? {
        let pipe = BodyPipe(capacity: count + 1)
        guard (try? await pipe.write(pattern(count))) != nil else { return nil }
        pipe.finish()
        return pipe
    }
}

/// The content of the last request on the first connection, with chunked coding undone.
private func content(of origin: WireOrigin) -> [UInt8] {
    let bytes = origin.connections.first?.received ?? []
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return [] }
    let isChunked = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).contains("chunked")
    var rest = bytes[end.upperBound...]
    guard isChunked else { return Array(rest) }
    var content: [UInt8] = []
    while let line = rest.firstRange(of: Array("\r\n".utf8)),
        let count = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16), count > 0
    {
        content += rest[line.upperBound..<line.upperBound + count]
        rest = rest[(line.upperBound + count + 2)...]
    }
    return content
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [Substring] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
