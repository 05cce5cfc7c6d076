import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The order of the delegate's calls as an event log shows it.
@Suite(.timeLimit(.minutes(1))) struct LifeCycleTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    private func run(
        _ log: DelegateLog, _ request: Request, configuration: SessionConfiguration = .default
    ) async throws -> [String] {
        let session = Session(configuration: configuration, delegate: log)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        try await log.happened("invalid")
        return log.events
    }

    // Proves: LIF-4, LIF-6, LIF-10, LIF-13, LIF-17, LIF-18, BEY-1, BEY-10, SES-22, RSP-7, TSK-13, FN-21, FN-22.
    @Test func `a delegate hears everything once and in order, the session's end last`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /first ")
                        ? "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n" : Self.ok)
            }
        }
        let events = try await run(DelegateLog(), Request(url: try URLRecord(origin.url("/first"))))
        #expect(
            events == [
                "created", "redirect 302 /second", "response 200", "data", "metrics 2", "complete well", "invalid",
            ])
    }

    // Proves: BEY-11, FN-52, FN-22.
    @Test func `informational answers are told, and not as the response`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + Self.ok)
        let events = try await run(DelegateLog(), Request(url: try URLRecord(origin.url())))
        #expect(
            events == ["created", "informational 103", "response 200", "data", "metrics 1", "complete well", "invalid"])
    }

    // Proves: LIF-13, ERR-1, RSP-7, FN-12.
    @Test func `a failure completes the task once, with metrics before`() async throws {
        let origin = try WireOrigin { _ in }
        let events = try await run(DelegateLog(), Request(url: try URLRecord(origin.url())))
        #expect(events == ["created", "metrics 1", "complete networkConnectionLost", "invalid"])
    }

    // Proves: RED-7, RED-8.
    @Test func `the standard form of a URL is told before the first byte, as a redirect without a response`()
        async throws
    {
        let origin = try WireOrigin(playing: Self.ok)
        var answers = DelegateLog.Answers()
        answers.redirect = { response, request in response == nil ? .follow(request) : .returnResponse }
        let log = DelegateLog(answers)
        let events = try await run(log, try Request("http://127.0.0.1:\(origin.port)"))
        #expect(events.prefix(3) == ["created", "redirect canonical /", "response 200"])
    }

    // Without a delegate, and with one that leaves it to the configuration; its own answer goes before that.
    // Proves: DLG-8.
    @Test func `the configuration decides about standard forms beforehand`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        var configuration = SessionConfiguration()
        configuration.redirects.formPolicy = .fail
        let (written, standard) = ("http://127.0.0.1:\(origin.port)", "http://127.0.0.1:\(origin.port)/")
        for log in [nil, DelegateLog()] {
            let session = Session(configuration: configuration, delegate: log)
            await expect(.redirectRefused) { try await session.data(for: Request(written)) }
        }
        #expect(origin.connections.isEmpty)
        var answers = DelegateLog.Answers()
        answers.redirect = { _, request in .follow(request) }
        let asking = Session(configuration: configuration, delegate: DelegateLog(answers))
        #expect(try await asking.data(for: Request(written)).1.url.description == standard)
        let session = Session(configuration: configuration)
        #expect(try await session.data(for: Request(standard)).1.status.code == 200)
    }

    // Proves: RED-7.
    @Test func `a URL that was written otherwise is among the steps of its task`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = Session().dataTask(with: try Request("http://127.0.0.1:\(origin.port)"))
        _ = try await task.response()
        guard case .canonicalized(let written, let url)? = task.steps.first else {
            Issue.record("\(task.steps)")
            return
        }
        #expect(written == "http://127.0.0.1:\(origin.port)" && url.description == "\(written)/")
        #expect(task.steps.count == 1 && task.redirects.isEmpty)
    }

    // Proves: RED-1, RED-2, RED-3, FN-33.
    @Test func `a delegate may send another request in place of the proposed one`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
            try connection.receiveHead()
            try connection.send(Self.ok)
        }
        var answers = DelegateLog.Answers()
        let other = Request(url: try URLRecord(origin.url("/elsewhere")))
        answers.redirect = { _, _ in .follow(other) }
        _ = try await run(DelegateLog(answers), Request(url: try URLRecord(origin.url())))
        #expect(origin.received().contains("GET /elsewhere HTTP/1.1"))
        #expect(!origin.received().contains("GET /there"))
    }

    // Proves: RED-4.
    @Test func `a redirect that is not followed is the response, with its body`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 4\r\n\r\nbody")
        var answers = DelegateLog.Answers()
        answers.redirect = { _, _ in .returnResponse }
        let session = Session(delegate: DelegateLog(answers))
        let (body, response) = try await session.data(for: Request(url: try URLRecord(origin.url())))
        #expect(response.status.code == 302)
        #expect(body == Array("body".utf8))
    }

    // Proves: RED-5.
    @Test func `a redirect answered with cancel ends the load and reaches nothing`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
        var answers = DelegateLog.Answers()
        answers.redirect = { _, _ in .cancel }
        let events = try await run(DelegateLog(answers), Request(url: try URLRecord(origin.url())))
        #expect(events.suffix(3) == ["metrics 1", "complete cancelled", "invalid"])
        #expect(!origin.received().contains("/b"))
    }

    // Proves: LIF-6, FN-30.
    @Test func `a response answered with cancel brings no data`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
            let chunk = String(repeating: "x", count: 65536)
            while true { try connection.send(chunk) }
        }
        var answers = DelegateLog.Answers()
        answers.response = { _ in .cancel }
        let events = try await run(DelegateLog(answers), Request(url: try URLRecord(origin.url())))
        #expect(events == ["created", "response 200", "metrics 1", "complete cancelled", "invalid"])
        try await origin.ended()
    }

    // Proves: FN-33, BEY-8.
    @Test func `a task's own delegate hears in the session's place, with or without one there`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let (own, sessions) = (DelegateLog(), DelegateLog())
        for session in [Session(delegate: sessions), Session()] {
            session.dataTask(with: Request(url: try URLRecord(origin.url())), delegate: own).resume()
            session.finishTasksAndInvalidate()
        }
        try await sessions.happened("invalid")
        try await own.happened("complete")
        #expect(sessions.events == ["created", "invalid"])
        #expect(own.events.contains("response 200") && own.events.contains("complete well"))
    }

    // Proves: TSK-8, AUT-32.
    @Test func `cancelling ends a task whose delegate never answers`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
        var answers = DelegateLog.Answers()
        let (silence, end) = AsyncStream.makeStream(of: Never.self)
        answers.redirect = { _, _ in
            for await _ in silence {}
            return .performDefaultHandling
        }
        let log = DelegateLog(answers)
        let session = Session(delegate: log)
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        task.resume()
        try await log.happened("redirect")
        task.cancel()
        try await log.happened("complete cancelled")
        end.finish()
        #expect(task.state == .completed)
    }

    /// Which question a delegate answers late; `session` is a challenge at session level.
    private enum Late: CaseIterable { case redirect, space, session, challenge, stream }

    private static func answer(leadingTo question: Late) -> String {
        switch question {
        case .redirect: "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
        case .session: "HTTP/1.1 401 No\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n"
        case .space, .challenge:
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n"
        case .stream: ok
        }
    }

    /// Answers as though there were no delegate, when `wait` has returned.
    private static func answers(after wait: @escaping @Sendable (Late) async -> Void) -> DelegateLog.Answers {
        var answers = DelegateLog.Answers()
        answers.redirect = { _, _ in
            await wait(.redirect)
            return .performDefaultHandling
        }
        answers.space = { _ in
            await wait(.space)
            return true
        }
        answers.challenge = { _ in
            await wait(.challenge)
            return .performDefaultHandling
        }
        answers.stream = {
            await wait(.stream)
            return nil
        }
        return answers
    }

    // Proves: TSK-8, LIF-13.
    @Test(arguments: Late.allCases)
    private func `a delegate that answers after the end of its task has no other one asked`(
        _ question: Late
    ) async throws {
        let origin = try WireOrigin(playing: Self.answer(leadingTo: question))
        let (waiting, askedOfSession) = (Progress(), Progress())
        let (silence, end) = AsyncStream.makeStream(of: Never.self)
        // A task of its own, which is not cancelled with the question's.
        let silent = Task { for await _ in silence {} }
        let own = DelegateLog(
            Self.answers { asked in
                guard asked == question else { return }
                waiting.add(1)
                await silent.value
            })
        let sessions = Self.answers { asked in
            askedOfSession.add(1)
            guard question == .session, asked == .challenge else { return }
            waiting.add(1)
            await silent.value
        }
        let session = Session(delegate: DelegateLog(sessions))
        weak var task: SessionTask?
        do {
            let request = Request(url: try URLRecord(origin.url()), method: question == .stream ? .put : .get)
            let started =
                question == .stream
                ? session.uploadTask(withStreamedRequest: request, length: 4, delegate: own)
                : session.dataTask(with: request, delegate: own)
            started.resume()
            task = started
        }
        try await until { waiting.value == 1 }
        let count = askedOfSession.value
        try #require(task).cancel()
        try await own.happened("complete cancelled")
        end.finish()
        // A question holds its task until the last delegate has answered.
        try await until { task == nil }
        #expect(own.events.last == "complete cancelled")
        #expect(askedOfSession.value == count)
    }

    // Proves: TSK-8.
    @Test func `a task cancelled before it was resumed completes with cancelled`() async throws {
        let log = DelegateLog()
        let session = Session(delegate: log)
        let task = session.dataTask(with: Request(url: try URLRecord("http://127.0.0.1:1/")))
        task.cancel()
        try await log.happened("complete cancelled")
        #expect(task.error?.code == .cancelled)
    }
}
