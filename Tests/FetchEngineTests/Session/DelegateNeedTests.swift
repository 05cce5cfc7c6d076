import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// What takes a delegate of one's own, and what goes without.
@Suite(.timeLimit(.minutes(1))) struct DelegateNeedTests {
    private static let ok = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nhi"

    /// An origin with a page, a redirect to it, and a page with a password; takes bodies.
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.hasPrefix("PUT ") { try connection.receive(4) }
                if head.hasPrefix("GET /old ") {
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n")
                } else if head.hasPrefix("GET /closed "), !head.contains("Authorization:") {
                    try connection.send(
                        "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n")
                } else {
                    try connection.send(Self.ok)
                }
            }
        }
    }

    private static func request(
        _ origin: WireOrigin, _ path: String = "/new", method: HTTPRequest.Method = .get
    ) throws -> Request { Request(url: try URLRecord(origin.url(path)), method: method) }

    /// Gives the answers of the list in place of the default ones.
    private struct Own: SessionDelegate, DownloadDelegate {
        let isDownload: Bool
        let files = TestSupport.Progress()
        let ends = TestSupport.Progress()

        init(isDownload: Bool = false) { self.isDownload = isDownload }

        func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition {
            challenge.serverTrust.map { .useCredential(Credential(trust: $0)) } ?? .performDefaultHandling
        }

        func sessionDidFinishEventsForBackgroundSession(_ session: Session) async { ends.add(1) }

        func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
            .useCredential(Credential(user: "u", password: "p"))
        }

        func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
            isDownload ? .becomeDownload : .allow
        }

        func taskNeedsNewBodyStream(_ task: SessionTask) async -> BodyPipe? {
            await OneStream(bytes: Array("body".utf8)).makeStream()
        }

        func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? { nil }

        func task(
            _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
        ) async -> RedirectDisposition { .returnResponse }

        func task(_ task: DownloadTask, didFinishDownloadingTo file: DownloadedFile) async { files.add(1) }
    }

    // Proves: LIF-1.
    @Test func `a challenge is answered by a delegate, and without one the refusal is the result`() async throws {
        let origin = try Self.origin()
        for (delegate, status) in [(nil, 401), (Own(), 200)] {
            let (_, response) = try await Session(delegate: delegate).data(for: Self.request(origin, "/closed"))
            #expect(response.status.code == status)
        }
    }

    // Proves: LIF-1.
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `a delegate may trust a server, and without one the load fails`() async throws {
        let server = try await LoopbackServer.nginxTLS(
            try await TestAuthority().issue("self", selfSigned: true))
        let request = Request(url: try URLRecord("https://localhost:\(server.port)/"))
        await expect(.serverCertificateHasUnknownRoot) { try await Session().data(for: request) }
        #expect(try await Session(delegate: Own()).data(for: request).1.status == .ok)
    }

    // Proves: LIF-1.
    @Test func `a delegate may have the body in a file, and without one it is data`() async throws {
        let origin = try Self.origin()
        let plain = Session().dataTask(with: try Self.request(origin))
        #expect(try await plain.data().0 == Array("hi".utf8))
        let own = Own(isDownload: true)
        await Session().dataTask(with: try Self.request(origin), delegate: own).run()
        #expect(own.files.value == 1)
    }

    // Proves: LIF-1.
    @Test func `a delegate may give the stream of a body, and without one there is none`() async throws {
        let origin = try Self.origin()
        let request = try Self.request(origin, method: .put)
        await expect(.requestBodyStreamExhausted) {
            try await Session().uploadTask(withStreamedRequest: request, length: 4).data()
        }
        _ = try await Session(delegate: Own()).uploadTask(withStreamedRequest: request, length: 4).data()
        #expect(origin.connections.map { String(decoding: $0.received.suffix(4), as: UTF8.self) } == ["body"])
    }

    // Proves: LIF-1.
    @Test func `a delegate may keep a response out of the cache, and without one it is stored`() async throws {
        for (delegate, source) in [(nil, Response.Source.cache), (Own(), .network)] {
            let origin = try Self.origin()
            var configuration = SessionConfiguration()
            configuration.urlCache = MemoryResponseCache()
            let session = Session(configuration: configuration, delegate: delegate)
            let first = session.dataTask(with: try Self.request(origin))
            _ = try await first.data()
            #expect(try await session.data(for: Self.request(origin)).1.source == source)
        }
    }

    // Proves: LIF-1.
    @Test func `a delegate may not follow a redirect, and without one it is followed`() async throws {
        let origin = try Self.origin()
        for (delegate, status, path) in [(nil, 200, "/new"), (Own(), 302, "/old")] {
            let (_, response) = try await Session(delegate: delegate).data(for: Self.request(origin, "/old"))
            #expect(response.status.code == status && response.url.path == path)
        }
    }

    // Without one it cannot be made at all: the parameter is not optional.
    // Proves: LIF-1.
    @Test func `a background session has a delegate, which hears of the end`() async throws {
        let (origin, own) = (try Self.origin(), Own())
        let session = try Session(background: "tests.need", delegate: own)
        session.downloadTask(with: try Self.request(origin)).resume()
        try await until { own.ends.value == 1 }
        #expect(own.files.value == 1)
    }

    // Proves: LIF-1.
    @Test func `all else goes without a delegate`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.hasPrefix("PUT ") { try connection.receive(4) }
                try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
        let (session, file) = (Session(), try TemporaryFile(Array("body".utf8)))
        let put = try Self.request(origin, method: .put)
        for body in [RequestBody.bytes(Array("body".utf8)), .file(path: file.path)] {
            #expect(try await session.upload(for: put, from: body).0 == Array("hi".utf8))
        }
        let pipe = OneStream(bytes: Array("body".utf8))
        _ = try await session.upload(for: put, from: .stream(length: 4, pipe))
        #expect(try await session.download(for: Self.request(origin)).byteCount == 2)
        #expect(try await session.data(for: Self.request(origin)).0 == Array("hi".utf8))
        #expect(origin.count(of: "\r\n\r\nbody") == 3 && origin.count(of: "\r\nCookie: a=1\r\n") == 4)
        let url = try URLRecord(origin.url())
        let text = await withCheckedContinuation { continuation in
            session.dataTask(with: Request(url: url)) { result in
                continuation.resume(returning: (try? result.get().0).map { String(decoding: $0, as: UTF8.self) })
            }.resume()
        }
        #expect(text == "hi")
        session.finishTasksAndInvalidate()
        await expect(.sessionInvalidated) { try await session.data(for: put) }
    }
}
