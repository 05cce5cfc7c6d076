import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Answers by a closure, at once or later, and remembers its questions.
private final class Adviser: LoadAdviser {
    let kinds: LoadQuestion.Kinds
    private let isSlow: Bool
    private let reply: @Sendable (LoadQuestion) -> LoadAnswer
    private let asked = Mutex<[String]>([])

    init(
        _ kinds: LoadQuestion.Kinds, isSlow: Bool = false, _ reply: @escaping @Sendable (LoadQuestion) -> LoadAnswer
    ) {
        (self.kinds, self.isSlow, self.reply) = (kinds, isSlow, reply)
    }

    var questions: [String] { asked.withLock { $0 } }

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? {
        guard !isSlow else { return nil }
        note(question)
        return reply(question)
    }

    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer {
        note(question)
        return reply(question)
    }

    private func note(_ question: LoadQuestion) {
        let name = "\(question)".prefix { $0 != "(" }
        asked.withLock { $0.append(String(name)) }
    }
}

/// Allows every response, after something else.
private struct PatientAdviser: LoadAdviser {
    let kinds: LoadQuestion.Kinds = .response
    let wait: @Sendable () async -> Void

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? { nil }

    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer {
        await wait()
        return .response(.allow)
    }
}

@Suite struct LoadAdviserTests {
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                switch head.split(separator: " ")[1] {
                case "/a":
                    try connection.send(
                        "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 4\r\n\r\ngone")
                default:
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nhi")
                }
            }
        }
    }

    private func task(
        _ url: String, _ adviser: Adviser, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> DataTask {
        var configuration = SessionConfiguration()
        change(&configuration)
        let task = Session(configuration: configuration).dataTask(with: Request(url: try URLRecord(url)))
        task.adviser = adviser
        return task
    }

    @Test func `a large body stays with its origin while the response is decided about, and comes then`() async throws {
        let size = 1 << 20
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let body = String(repeating: "x", count: size)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n\(body)")
            }
        }
        let session = Session(configuration: SessionConfiguration())
        let request = Request(url: try URLRecord(origin.url("/")))
        let task = session.dataTask(with: request)
        let received = Mutex<Int64>(0)
        task.adviser = PatientAdviser { [weak task] in
            // By the time that another body has come whole, this one would have too.
            _ = try? await session.dataTask(with: request).response(bufferingUpTo: 2 * size)
            received.withLock { $0 = task?.countOfBytesReceived ?? 0 }
        }
        _ = try await task.response(bufferingUpTo: 2 * size)
        #expect((1...128 * 1024).contains(received.withLock { $0 }))
        #expect(task.completeBody?.count == size)
    }

    @Test func `of kinds that it does not name nothing is asked`() async throws {
        let origin = try Self.origin()
        let adviser = Adviser(.caching) { _ in .performDefaultHandling }
        let response = try await task(origin.url("/a"), adviser).response(bufferingUpTo: 100)
        #expect(response.url.path == "/b" && adviser.questions.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a redirect is followed, left or cancelled as it says, at once or later`(isSlow: Bool) async throws {
        let origin = try Self.origin()
        let leave = Adviser(.redirection, isSlow: isSlow) { _ in .redirect(.returnResponse) }
        let left = try task(origin.url("/a"), leave)
        #expect(try await left.response(bufferingUpTo: 100).status == .found)
        #expect(left.completeBody == Array("gone".utf8))
        let cancel = Adviser(.redirection, isSlow: isSlow) { _ in .redirect(.cancel) }
        await expect(.cancelled) { try await task(origin.url("/a"), cancel).response() }
        #expect(leave.questions == ["redirection"] && cancel.questions == ["redirection"])
        #expect(!origin.received().contains("GET /b"))
    }

    @Test(arguments: [RedirectConfiguration.Policy.return, .fail])
    func `it is asked whatever the policy, which holds where it has no answer`(
        policy: RedirectConfiguration.Policy
    ) async throws {
        let origin = try Self.origin()
        let follow = Adviser(.redirection) { question in
            guard case .redirection(_, _, let proposed, _) = question else { return .performDefaultHandling }
            return .redirect(.follow(proposed))
        }
        let followed = try task(origin.url("/a"), follow) { $0.redirects.policy = policy }
        #expect(try await followed.response(bufferingUpTo: 9).url.path == "/b")
        let silent = Adviser(.redirection) { _ in .performDefaultHandling }
        let task = try task(origin.url("/a"), silent) { $0.redirects.policy = policy }
        if policy == .return {
            #expect(try await task.response(bufferingUpTo: 9).status == .found)
        } else {
            await expect(.redirectRefused) { try await task.response() }
        }
        #expect(silent.questions == ["redirection"])
    }

    @Test(arguments: ["file:///etc/passwd", "data:,x", "ftp://127.0.0.1/", "http://other.example/"])
    func `a request in place of the proposed one has to pass what a redirect has to`(target: String) async throws {
        let origin = try Self.origin()
        let other = Request(url: try URLRecord(target))
        let adviser = Adviser(.redirection) { _ in .redirect(.follow(other)) }
        let task = try task(origin.url("/a"), adviser) { $0.redirects.allowedHosts = ["127.0.0.1"] }
        await expect(.redirectTargetForbidden) { try await task.response() }
    }

    @Test func `more redirects than the maximum are not asked about`() async throws {
        let origin = try Self.origin()
        let adviser = Adviser(.redirection) { _ in .redirect(.returnResponse) }
        let task = try task(origin.url("/a"), adviser) { $0.redirects.maximum = 0 }
        await expect(.httpTooManyRedirects) { try await task.response() }
        #expect(adviser.questions.isEmpty)
    }

    @Test func `the response is decided about before its body has come`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh")
            try gate.wait()
        }
        defer { gate.open() }
        let adviser = Adviser(.response) { _ in .response(.cancel) }
        await expect(.cancelled) { try await task(origin.url(), adviser).response(bufferingUpTo: 100) }
        #expect(adviser.questions == ["response"])
    }

    @Test func `a body that was decided about comes whole as any other`() async throws {
        let origin = try Self.origin()
        let adviser = Adviser(.response) { _ in .response(.allow) }
        let task = try task(origin.url(), adviser)
        #expect(try await task.response(bufferingUpTo: 100).status == .ok)
        #expect(task.completeBody == Array("hi".utf8))
    }

    @Test func `what is stored is as it says`() async throws {
        let origin = try Self.origin()
        let cache = MemoryResponseCache()
        func load(_ answer: CachingAnswer) async throws -> CachedResponse? {
            await cache.removeAllCachedResponses()
            let adviser = Adviser(.caching) { _ in .caching(answer) }
            _ = try await task(origin.url(), adviser) { $0.urlCache = cache }.response(bufferingUpTo: 100)
            #expect(adviser.questions == ["caching"])
            return await cache.cachedResponse(for: Request(url: try URLRecord(origin.url())))
        }
        #expect(try await load(.doNotStore) == nil)
        let plain = try await load(.store(userInfo: nil, policy: nil, data: nil))
        #expect(plain?.data == Array("hi".utf8) && plain?.storagePolicy == .allowed)
        let changed = try await load(
            .store(userInfo: ["a": "b"], policy: .allowedInMemoryOnly, data: Array("other".utf8)))
        #expect(changed?.data == Array("other".utf8) && changed?.userInfo == ["a": "b"])
        #expect(changed?.storagePolicy == .allowedInMemoryOnly)
    }
}
