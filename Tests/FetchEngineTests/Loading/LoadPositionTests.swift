import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// Leaves a load at its first question about some kind, and keeps where it stands.
private final class Leaving: LoadAdviser {
    let kinds: LoadQuestion.Kinds
    private let kept = Mutex<LoadPosition?>(nil)
    private let task = Mutex<SessionTask?>(nil)

    private let skipped: Mutex<Int>

    /// - Parameter count: How many questions the load goes on after, as though nobody were asked.
    init(_ kinds: LoadQuestion.Kinds, skipping count: Int = 0) {
        self.kinds = kinds
        skipped = Mutex(count)
    }

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? {
        skipped.withLock { skipped in
            skipped -= 1
            return skipped < 0 ? nil : .performDefaultHandling
        }
    }

    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer {
        // As a response at hand is whole in a moment.
        while true {
            if let position = await context.position(at: question) {
                kept.withLock { $0 = position }
                break
            }
            await Task.yield()
        }
        task.withLock { $0.take() }?.cancel()
        return .performDefaultHandling
    }

    /// Where a task stands at its question, written down and read again.
    func position(of left: SessionTask, _ load: () async throws -> Void) async throws -> LoadPosition {
        left.adviser = self
        task.withLock { $0 = left }
        await expect(.cancelled) { try await load() }
        let position = try #require(kept.withLock { $0 })
        return try LoadPosition(bytes: try #require(position.bytes))
    }
}

/// Takes where a load stands when it asks, and ends it.
private final class LeavingAtOnce: LoadAdviser {
    let kinds: LoadQuestion.Kinds = .redirection
    private let kept = Mutex<LoadPosition?>(nil)

    var position: LoadPosition? { kept.withLock { $0 } }

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? { nil }

    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer {
        let position = await context.position(at: question)
        kept.withLock { $0 = position }
        return .redirect(.cancel)
    }
}

/// Answers every question the same.
private struct Answering: LoadAdviser {
    let kinds: LoadQuestion.Kinds
    let reply: @Sendable (LoadQuestion) -> LoadAnswer

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? { reply(question) }
    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer { reply(question) }
}

/// A load is left at a question, and another one goes on from there.
@Suite struct LoadPositionTests {
    /// Redirects `/a` to `/b` with a cookie, and asks at `/c` for a password.
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
                _ = try connection.receive(length)
                let answer =
                    switch head.split(separator: " ")[1] {
                    case "/a":
                        "307 Temporary Redirect\r\nLocation: /b\r\nSet-Cookie: a=1\r\nContent-Length: 4\r\n\r\ngone"
                    case "/c" where !head.contains("uthorization"):
                        "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno"
                    default: "200 OK\r\nContent-Length: 2\r\n\r\nhi"
                    }
                try connection.send("HTTP/1.1 \(answer)")
            }
        }
    }

    private func task(_ url: String, _ change: (inout Request) -> Void = { _ in }) throws -> DataTask {
        var request = Request(url: try URLRecord(url))
        change(&request)
        return Session(configuration: .ephemeral).dataTask(with: request)
    }

    // Proves: DLG-6.
    @Test func `a redirect is followed by another load, with the request and the body it was proposed`() async throws {
        let origin = try Self.origin()
        let post: (inout Request) -> Void = { request in
            request.method = .post
            request.body = .bytes(Array("body".utf8))
            request.headerFields[.userAgent] = "mine"
        }
        let left = try task(origin.url("/a"), post)
        let position = try await Leaving(.redirection).position(of: left) { _ = try await left.response() }
        let next = try task(origin.url("/a"), post)
        next.position = position
        next.adviser = Answering(kinds: .redirection) { _ in .performDefaultHandling }
        let response = try await next.response(bufferingUpTo: 100)
        #expect(response.url.path == "/b" && next.completeBody == Array("hi".utf8))
        #expect(next.redirects.map(\.status.code) == [307])
        let transactions = next.metrics.transactions
        #expect(transactions.map(\.url.path) == ["/a", "/b"] && transactions.map(\.status) == [307, 200])
        #expect(transactions[0].countOfRequestBodyBytesSent == 4 && transactions[0].requestStart != nil)
        #expect(transactions[0].remotePort == Int(origin.port))
        #expect(transactions[1].fetchStart >= transactions[0].fetchStart + transactions[0].responseEnd)
        #expect(next.metrics.taskInterval >= transactions[1].fetchStart && next.earlier > .zero)
        #expect(
            origin.count(of: "POST /a") == 1 && origin.count(of: "POST /b") == 1
                && origin.count(of: "User-Agent: mine") == 2)
        #expect(origin.count(of: "\r\n\r\nbody") == 2)
    }

    @Test func `the response to a redirect is delivered by another load, with its body`() async throws {
        let origin = try Self.origin()
        let left = try task(origin.url("/a"))
        let position = try await Leaving(.redirection).position(of: left) { _ = try await left.response() }
        let next = try task(origin.url("/a"))
        next.position = position
        next.adviser = Answering(kinds: .redirection) { _ in .redirect(.returnResponse) }
        #expect(try await next.response(bufferingUpTo: 100).status == .temporaryRedirect)
        #expect(next.completeBody == Array("gone".utf8) && origin.count(of: "GET ") == 1)
    }

    @Test func `redirects before the question count, and are told`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let number = head.firstMatch(of: /GET \/(\d)/).flatMap { Int($0.1) } ?? 0
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /\(number + 1)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.redirects.maximum = 3
        let session = Session(configuration: configuration)
        var position: LoadPosition?
        for hop in 1...3 {
            let left = session.dataTask(with: Request(url: try URLRecord(origin.url("/0"))))
            left.position = position
            // The question at which the last one was left comes first again.
            let adviser = Leaving(.redirection, skipping: hop == 1 ? 0 : 1)
            position = try await adviser.position(of: left) { _ = try await left.response() }
        }
        let last = session.dataTask(with: Request(url: try URLRecord(origin.url("/0"))))
        last.position = position
        last.adviser = Answering(kinds: .redirection) { _ in .performDefaultHandling }
        await expect(.httpTooManyRedirects) { try await last.response() }
        #expect(last.redirects.count == 3 && origin.count(of: "GET /0 ") == 1 && origin.count(of: "GET /3 ") == 1)
    }

    @Test func `a position has room for the last transactions alone`() throws {
        var position = LoadPosition()
        position.start = 1
        for number in 0..<100 {
            let path = String(repeating: "a", count: 1000)
            position.transactions.append(
                TransactionMetrics(url: try URLRecord("http://a.example/\(number)/\(path)")))
        }
        let bytes = try #require(position.bytes)
        let kept = try LoadPosition(bytes: bytes).transactions
        #expect(bytes.count <= 33 * 1024 && kept.count > 20)
        #expect(kept.last?.url == position.transactions.last?.url)
    }

    // As large files are, whose loads wait for no body.
    @Test func `a load that waits for no body is left at a redirect whose body comes later`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 4\r\n\r\n")
                try gate.wait()
                try connection.send("gone")
            }
        }
        let left = try task(origin.url("/a"))
        let adviser = LeavingAtOnce()
        left.adviser = adviser
        async let end: Void = expect(.cancelled) { try await left.response() }
        try await until { left.response != nil || origin.count(of: "GET /a") == 1 }
        gate.open()
        await end
        #expect(adviser.position?.hop?.answer?.body == Array("gone".utf8))
    }

    // Proves: DLG-6.
    @Test func `a challenge is answered by another load`() async throws {
        let origin = try Self.origin()
        let left = try task(origin.url("/c"))
        let position = try await Leaving(.challenge).position(of: left) { _ = try await left.response() }
        let next = try task(origin.url("/c"))
        next.position = position
        next.adviser = Answering(kinds: .challenge) { _ in
            .challenge(.useCredential(Credential(user: "me", password: "pw")))
        }
        #expect(try await next.response().status == .ok)
        #expect(next.challenges.map(\.answer) == [.useCredential] && origin.count(of: "GET /c") == 2)
    }

    @Test func `what failed before the question is proposed, and counts`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let url = origin.url("/").replacing("http://", with: "http://me:wrong@")
        let left = try task(url)
        let position = try await Leaving(.challenge).position(of: left) { _ = try await left.response() }
        let next = try task(url)
        next.position = position
        let asked = Mutex<Challenge?>(nil)
        next.adviser = Answering(kinds: .challenge) { question in
            if case .challenge(let challenge) = question { asked.withLock { $0 = challenge } }
            return .performDefaultHandling
        }
        #expect(try await next.response().status == .unauthorized)
        let challenge = try #require(asked.withLock { $0 })
        #expect(challenge.previousFailureCount == 1 && challenge.proposedCredential?.user == "me")
        #expect(origin.count(of: "GET /") == 2)
    }

    // Proves: DLG-6.
    @Test func `the time of the resource stands still while somebody is asked`() async throws {
        let origin = try Self.origin()
        var configuration = SessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = .milliseconds(300)
        let task = Session(configuration: configuration).dataTask(with: Request(url: try URLRecord(origin.url("/a"))))
        task.adviser = Slow(.milliseconds(500))
        #expect(try await task.response(bufferingUpTo: 9).status == .ok)
    }

    @Test func `damaged bytes and those of another version are refused`() throws {
        let bytes = try #require(LoadPosition().bytes)
        for cut in 0..<bytes.count {
            #expect(throws: LoadError.self) { try LoadPosition(bytes: Array(bytes.prefix(cut))) }
        }
        #expect(throws: LoadError.self) { try LoadPosition(bytes: [9] + bytes.dropFirst()) }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var other = bytes
            for _ in 0..<3 { other[Int.random(in: 0..<other.count, using: &generator)] = .random(in: 0...255) }
            _ = try? LoadPosition(bytes: other)
        }
    }
}

/// Answers after a while.
private struct Slow: LoadAdviser {
    let kinds = LoadQuestion.Kinds.redirection
    let wait: Duration

    init(_ wait: Duration) { self.wait = wait }

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? { nil }

    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer {
        try? await Task.sleep(for: wait)
        return .performDefaultHandling
    }
}
