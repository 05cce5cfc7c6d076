import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Loads through handlers of a program's own, from the session's side.
@Suite struct HandlerLoadTests {
    /// A handler made of closures; takes one scheme, or http for one host that does not exist.
    struct Scripted: ProtocolHandler {
        var scheme = "script"
        var canonical: @Sendable (Request) -> Request = { $0 }
        let script: @Sendable (Request, any ProtocolClient) async throws(LoadError) -> Void

        func canHandle(_ request: Request) -> Bool {
            request.url.scheme == scheme && (!request.url.isHTTP || request.url.host == "handled.example")
        }

        func canonicalRequest(for request: Request) -> Request { canonical(request) }

        func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
            try await script(request, client)
        }

        /// Answers every request with a text.
        static func answering(_ text: String, scheme: String = "script") -> Scripted {
            Scripted(scheme: scheme) { request, client throws(LoadError) in
                try await client.received(response(to: request), storagePolicy: .notAllowed)
                try await client.received(Array(text.utf8))
            }
        }
    }

    private static func response(to request: Request, status: HTTPResponse.Status = .ok) -> Response {
        Response(url: request.url, status: status, httpVersion: "script")
    }

    private static func session(
        _ handlers: any ProtocolHandler..., change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.protocolHandlers = handlers
        change(&configuration)
        return Session(configuration: configuration)
    }

    private func text(_ url: String, in session: Session, delegate: (any TaskDelegate)? = nil) async throws -> String {
        let (body, _) = try await session.data(for: Request(url: try URLRecord(url)), delegate: delegate)
        return String(decoding: body, as: UTF8.self)
    }

    // MARK: Choice of the handler

    // Proves: FN-3.
    @Test func `what a handler gives can be downloaded`() async throws {
        let session = Self.session(Scripted.answering("hello"))
        let file = try await session.download(for: Request(url: try URLRecord("script:a")))
        #expect(file.byteCount == 5)
        #expect(file.response.httpVersion == "script")
    }

    // Proves: PRT-1.
    @Test func `a handler serves its scheme end to end`() async throws {
        let session = Self.session(Scripted.answering("hello"))
        let task = session.dataTask(with: Request(url: try URLRecord("script:a")))
        let (body, response) = try await task.data()
        #expect(String(decoding: body, as: UTF8.self) == "hello")
        #expect(response.httpVersion == "script")
        #expect(task.state == .completed)
        #expect(task.countOfBytesReceived == 5)
        #expect(task.metrics.transactions.map(\.networkProtocolName) == ["script"])
        #expect(task.metrics.transactions.map(\.countOfResponseBodyBytesReceived) == [5])
    }

    // Proves: PRT-2, FN-56.
    @Test func `a handler may take http before the transport does`() async throws {
        let session = Self.session(Scripted.answering("mine", scheme: "http"))
        #expect(try await text("http://handled.example/", in: session) == "mine")
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        #expect(try await text(origin.url(), in: session) == "hi")
    }

    // Proves: PRT-3, SES-6.
    @Test func `a session's handlers are its own and asked first`() async throws {
        let first = Self.session(Scripted.answering("first"), Scripted.answering("hidden"))
        let second = Self.session(Scripted.answering("second"))
        #expect(try await text("script:a", in: first) == "first")
        #expect(try await text("script:a", in: second) == "second")
        await expect(.unsupportedURL) { try await text("script:a", in: Session()) }
    }

    // Proves: PRT-1, PRT-2, PRT-3.
    @Test func `registered handlers serve every session, after the session's own`() async throws {
        /// A type of its own, because a type is unregistered.
        struct Registered: ProtocolHandler {
            let text: String

            func canHandle(_ request: Request) -> Bool { request.url.scheme == "registered" }
            func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
                try await client.received(HandlerLoadTests.response(to: request), storagePolicy: .notAllowed)
                try await client.received(Array(text.utf8))
            }
        }
        ProtocolRegistry.shared.register(Registered(text: "old"))
        ProtocolRegistry.shared.register(Registered(text: "new"))
        #expect(try await text("registered:a", in: Session()) == "new")
        let own = Self.session(Scripted.answering("own", scheme: "registered"))
        #expect(try await text("registered:a", in: own) == "own")
        ProtocolRegistry.shared.unregister(Registered.self)
        await expect(.unsupportedURL) { try await text("registered:a", in: Session()) }
    }

    // Proves: PRT-10, BKG-4.
    @Test func `a background session asks no handler`() async throws {
        let session = Self.session(Scripted.answering("hello")) { $0.kind = .background }
        let request = Request(url: try URLRecord("script:a"))
        await expect(.unsupportedURL) { try await session.download(for: request) }
    }

    // Proves: URL-12, CON-8.
    @Test func `what nobody serves fails before anything is sent`() async throws {
        for url in ["nobody:a", "file:///etc/hostname", "mailto:a@b", "gopher://h/"] {
            await expect(.unsupportedURL) { try await text(url, in: Session()) }
        }
    }

    // MARK: Requests

    // Proves: PRT-6, URL-2.
    @Test func `properties reach the handler and come back with the response`() async throws {
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                var properties = Properties()
                properties[.answer] = request[.question].map { "\($0)!" }
                let response = Response(url: request.url, status: .ok, properties: properties)
                try await client.received(response, storagePolicy: .notAllowed)
            })
        var request = Request(url: try URLRecord("script:a"))
        request[.question] = 42
        let (_, response) = try await session.data(for: request)
        #expect(response[.answer] == "42!")
    }

    // Proves: PRT-10, TSK-1.
    @Test func `a handler reads any kind of body`() async throws {
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                let content = try await request.body?.content(upTo: 1_000_000) ?? []
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                try await client.received(content)
            })
        let content = pattern(300_000)
        let file = try TemporaryFile(content)
        let pipe = BodyPipe()
        async let writing: Void = {
            try await pipe.write(Array(content[..<100_000]))
            try await pipe.write(Array(content[100_000...]))
            pipe.finish()
        }()
        let request = Request(url: try URLRecord("script:a"), method: .put)
        for body in [RequestBody.bytes(content), .file(path: file.path), .stream(pipe)] {
            #expect(try await session.upload(for: request, from: body).0 == content)
        }
        try await writing
        let large = Request(url: request.url, method: .put, body: .bytes(pattern(1_000_001)))
        await expect(.dataLengthExceedsMaximum) { try await session.data(for: large) }
    }

    // Proves: PRT-5, RED-7, URL-11.
    @Test func `the standard form is announced, used and may be replaced`() async throws {
        let short = try URLRecord("script:b")
        let handler = Scripted(
            canonical: { request in
                guard request.url.path == "A" else { return request }
                return Request(url: short)
            },
            script: { request, client throws(LoadError) in
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                try await client.received(Array(request.url.path.utf8))
            })
        #expect(try await text("script:A", in: Self.session(handler)) == "b")
        let other = Request(url: try URLRecord("script:c"))
        let delegate = Answering { response, proposed in
            #expect(response == nil)
            return proposed.url == short ? .follow(other) : .performDefaultHandling
        }
        #expect(try await text("script:A", in: Self.session(handler), delegate: delegate) == "c")
    }

    // MARK: Redirects

    // Proves: PRT-7, FN-4.
    @Test func `a handler's redirect is followed like a server's`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let target = Request(url: try URLRecord(origin.url("/b")))
        let session = Self.session(Self.redirecting(to: target))
        let task = session.dataTask(with: Request(url: try URLRecord("script:a")))
        #expect(try await task.data().0 == Array("hi".utf8))
        #expect(task.redirects.map(\.target) == [target.url])
        #expect(task.metrics.redirectCount == 1)
        #expect(task.currentRequest.url == target.url)
    }

    // Proves: PRT-7, RED-1, RED-4.
    @Test func `the delegate decides about a handler's redirect`() async throws {
        let session = Self.session(
            Self.redirecting(to: Request(url: try URLRecord("script:b"))), Scripted.answering("unused"))
        #expect(try await text("script:a", in: session, delegate: Answering { _, _ in .returnResponse }) == "moved")
        await expect(.cancelled) {
            try await text("script:a", in: session, delegate: Answering { _, _ in .cancel })
        }
    }

    // Proves: RED-6.
    @Test func `a handler's redirects have the same limit`() async throws {
        let session = Self.session(Self.redirecting(to: Request(url: try URLRecord("script:a"))))
        await expect(.httpTooManyRedirects) { try await text("script:a", in: session) }
    }

    // Proves: RED-12, FN-45.
    @Test(arguments: ["data:,x", "file:///etc/hostname"])
    func `no redirect leads to data or file, of a server or a handler`(_ target: String) async throws {
        let url = try URLRecord(target)
        let handled = Self.session(Self.redirecting(to: Request(url: url))) { $0.fileRoots = ["/etc"] }
        await expect(.redirectTargetForbidden) { try await text("script:a", in: handled) }
        let origin = try WireOrigin(
            playing: "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
        let served = Self.session { $0.fileRoots = ["/etc"] }
        await expect(.redirectTargetForbidden) { try await text(origin.url(), in: served) }
    }

    private static func redirecting(to target: Request) -> Scripted {
        Scripted { request, client throws(LoadError) in
            try await client.received(response(to: request, status: .found), redirectingTo: target)
            try await client.received(Array("moved".utf8))
        }
    }

    // MARK: Challenges

    // Proves: PRT-7, PRT-8, AUT-2.
    @Test func `a handler's challenge is asked and every answer comes back`() async throws {
        let space = ProtectionSpace(host: "h", port: 1, scheme: "script", realm: "r", method: .default)
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                let answer = try await client.received(Challenge(protectionSpace: space))
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                try await client.received(Array(Self.name(of: answer).utf8))
            })
        let credential = Credential(user: "ada", password: "secret")
        let answers: [(Challenge.Disposition, String)] = [
            (.useCredential(credential), "ada"), (.performDefaultHandling, "default"),
            (.rejectProtectionSpace, "reject"), (.continueWithoutCredential, "continue"),
        ]
        for (answer, name) in answers {
            let delegate = Challenged(space: space, answer: answer)
            #expect(try await text("script:a", in: session, delegate: delegate) == name)
        }
        await expect(.userCancelledAuthentication) {
            let delegate = Challenged(space: space, answer: .cancelAuthenticationChallenge)
            return try await text("script:a", in: session, delegate: delegate)
        }
    }

    // Proves: PRT-8.
    @Test func `a challenge of a handler is among those of its task`() async throws {
        let space = ProtectionSpace(host: "h", port: 1, scheme: "script", realm: "r", method: .default)
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                _ = try await client.received(Challenge(protectionSpace: space))
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
            })
        let credential = Credential(user: "ada", password: "secret")
        let task = session.dataTask(
            with: Request(url: try URLRecord("script:a")),
            delegate: Challenged(space: space, answer: .useCredential(credential)))
        _ = try await task.data()
        #expect(task.challenges.map(\.protectionSpace) == [space])
        #expect(task.challenges.map(\.answer) == [.useCredential])
    }

    @Test func `a handler's 401 is its response: it asks by its client`() async throws {
        let space = ProtectionSpace(host: "handled.example", port: 80, scheme: "http", realm: "r", method: .httpBasic)
        let storage = MemoryCredentialStorage()
        storage.setDefault(Credential(user: "ada", password: "secret", persistence: .forSession), for: space)
        let loads = Mutex(0)
        let session = Self.session(
            Scripted(scheme: "http") { request, client throws(LoadError) in
                loads.withLock { $0 += 1 }
                let response = Response(
                    url: request.url, status: .unauthorized,
                    headerFields: [.wwwAuthenticate: #"Basic realm="r""#])
                try await client.received(response, storagePolicy: .notAllowed)
            }
        ) { $0.credentialStorage = storage }
        let (_, response) = try await session.data(for: Request(url: try URLRecord("http://handled.example/")))
        #expect(response.status == .unauthorized)
        #expect(loads.withLock { $0 } == 1)
    }

    private static func name(of answer: Challenge.Disposition) -> String {
        switch answer {
        case .useCredential(let credential): credential.user
        case .performDefaultHandling: "default"
        case .rejectProtectionSpace: "reject"
        case .continueWithoutCredential: "continue"
        case .cancelAuthenticationChallenge: "cancel"
        }
    }

    // MARK: How it ends

    // Proves: PRT-7, ERR-3.
    @Test func `what the handler throws is the error of the load`() async throws {
        let session = Self.session(
            Scripted { _, _ throws(LoadError) in throw LoadError(.init("ownCode", -1), "It failed.") })
        let request = Request(url: try URLRecord("script:a"))
        do throws(LoadError) {
            _ = try await session.data(for: request)
            Issue.record("it did not fail")
        } catch {
            #expect(error.code.name == "ownCode")
            #expect(error.failingURL?.scheme == "script")
        }
    }

    // Proves: PRT-7, CON-3.
    @Test func `a handler that fails after data fails the load`() async throws {
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                try await client.received([1, 2, 3])
                throw LoadError(.networkConnectionLost, "It broke off.")
            })
        await expect(.networkConnectionLost) { try await text("script:a", in: session) }
    }

    // Proves: PRT-7, ERR-7.
    @Test(arguments: ["nothing", "data first", "two responses", "late challenge", "no such cached response"])
    func `a handler that breaks the contract fails its load alone`(_ fault: String) async throws {
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                let response = Self.response(to: request)
                if fault == "data first" { try await client.received([1]) }
                if fault == "no such cached response" { try await client.cachedResponseIsValid() }
                guard fault != "nothing" else { return }
                try await client.received(response, storagePolicy: .notAllowed)
                if fault == "two responses" { try await client.received(response, storagePolicy: .notAllowed) }
                if fault == "late challenge" {
                    let space = ProtectionSpace(host: "h", port: 1, scheme: "script", method: .default)
                    _ = try await client.received(Challenge(protectionSpace: space))
                }
            })
        await expect(.badServerResponse) { try await text("script:a", in: session) }
    }

    // Proves: PRT-4, PRT-5.
    @Test func `cancelling the task stops the handler, and nothing of it stays`() async throws {
        final class State: Sendable {
            let gone: Gate
            init(_ gone: Gate) { self.gone = gone }
            deinit { gone.open() }
        }
        let (begun, gone, stopped) = (Gate(), Gate(), Gate())
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                let state = State(gone)
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                begun.open()
                do throws(LoadError) {
                    while true { try await client.received(pattern(100_000)) }
                } catch {
                    #expect(error.code == .cancelled)
                    #expect(Task.isCancelled)
                    stopped.open()
                    withExtendedLifetime(state) {}
                    throw error
                }
            })
        let task = session.dataTask(with: Request(url: try URLRecord("script:a")))
        _ = try await task.response()
        try await onThread { try begun.wait() }
        task.cancel()
        try await onThread {
            try stopped.wait()
            try gone.wait()
        }
        await expect(.cancelled) { for try await _ in task.body {} }
    }

    // Proves: PRT-7, TSK-15.
    @Test func `a handler gets ahead of its reader by half a mebibyte only`() async throws {
        let sent = Progress()
        let total = 40
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                for _ in 0..<total {
                    sent.add(1)
                    try await client.received(pattern(100_000))
                }
            })
        let task = session.dataTask(with: Request(url: try URLRecord("script:a")))
        _ = try await task.response()
        var count = 0
        for try await chunk in task.body {
            count += chunk.count
            // The bytes read, the half mebibyte that may be held, and the chunks on the way in and out.
            #expect(sent.value * 100_000 <= count + 512 * 1024 + 200_000)
        }
        #expect(count == total * 100_000)
    }

    // Proves: TSK-7.
    @Test func `a suspended load holds its handler, and every byte comes once`() async throws {
        let session = Self.session(
            Scripted { request, client throws(LoadError) in
                try await client.received(Self.response(to: request), storagePolicy: .notAllowed)
                for byte in 0..<UInt8(100) { try await client.received([byte]) }
            })
        let task = session.dataTask(with: Request(url: try URLRecord("script:a")))
        _ = try await task.response()
        var body: [UInt8] = []
        for try await chunk in task.body {
            body += chunk
            task.suspend()
            task.resume()
        }
        #expect(body == Array(0..<100))
    }

    // Proves: URL-5, SES-9.
    @Test func `a handler that gives nothing times out, by idle interval or resource`() async throws {
        let waiting = Scripted { _, client throws(LoadError) in
            await withTaskCancellationHandler {
                let stream = AsyncStream<Void> { _ in }
                for await _ in stream {}
            } onCancel: {
            }
            throw LoadError(.cancelled, "It was stopped.")
        }
        let idle = Self.session(waiting) { $0.timeoutIntervalForRequest = .milliseconds(50) }
        await expect(.timedOut) { try await text("script:a", in: idle) }
        let whole = Self.session(waiting) { $0.timeoutIntervalForResource = .milliseconds(50) }
        await expect(.timedOut) { try await text("script:a", in: whole) }
    }

    // Proves: PRT-7.
    @Test func `a body larger than allowed fails, announced or not`() async throws {
        for length in [Int64?.none, 2_000] {
            let session = Self.session(
                Scripted { request, client throws(LoadError) in
                    let response = Response(url: request.url, status: .ok, expectedContentLength: length)
                    try await client.received(response, storagePolicy: .notAllowed)
                    try await client.received(pattern(2_000))
                }
            ) { $0.maximumResponseBytes = 1_000 }
            await expect(.dataLengthExceedsMaximum) { try await text("script:a", in: session) }
        }
    }

    // Proves: PRT-7, LIF-13, RSP-7.
    @Test func `a delegate hears of a handler's load as of a server's`() async throws {
        let log = EventLog()
        let session = Self.session(Scripted.answering("hello"))
        await session.dataTask(with: Request(url: try URLRecord("script:a")), delegate: log).run()
        #expect(log.all == ["response 200", "data 5", "metrics", "complete"])
    }
}

/// Answers redirects with a closure.
private struct Answering: TaskDelegate {
    let answer: @Sendable (Response?, Request) -> RedirectDisposition

    init(_ answer: @escaping @Sendable (Response?, Request) -> RedirectDisposition) { self.answer = answer }

    func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition { answer(response, newRequest) }
}

/// Answers challenges for one space.
private struct Challenged: TaskDelegate {
    let space: ProtectionSpace
    let answer: Challenge.Disposition

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        #expect(challenge.protectionSpace == space)
        return answer
    }
}

/// Writes down the calls of a task's delegate.
private final class EventLog: TaskDelegate {
    private let events = Mutex<[String]>([])

    var all: [String] { events.withLock { $0 } }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        events.withLock { $0.append("response \(response.status.code)") }
        return .allow
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async {
        events.withLock { $0.append("data \(data.count)") }
    }

    func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {
        events.withLock { $0.append("metrics") }
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        events.withLock { $0.append(error == nil ? "complete" : "failed") }
    }
}

extension PropertyKey<Int> {
    fileprivate static let question = Self("question")
}

extension PropertyKey<String> {
    fileprivate static let answer = Self("answer")
}
