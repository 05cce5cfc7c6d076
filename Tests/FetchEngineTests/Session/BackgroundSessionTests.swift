import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The rules of background sessions, and the calls of their delegates.
@Suite(.timeLimit(.minutes(1))) struct BackgroundSessionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: BKG-2, BKG-1, BKG-3, SES-18.
    @Test func `of a background session's name there is one at a time`() async throws {
        let log = DelegateLog()
        let first = try Session(background: "tests.one", delegate: log)
        #expect(throws: LoadError.self) { try Session(background: "tests.one", delegate: log) }
        first.finishTasksAndInvalidate()
        try await log.happened("invalid")
        _ = try Session(background: "tests.one", delegate: log)
    }

    // Proves: BKG-4.
    @Test func `a background session has no data tasks, and sends files alone`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let session = try Session(background: "tests.two", delegate: DelegateLog())
        let request = Request(url: try URLRecord(origin.url()), method: .put)
        await expect(.unsupportedURL) { try await session.data(for: Request(url: request.url)) }
        let file = try TemporaryFile(Array("body".utf8))
        let bodies: [RequestBody] = [
            .bytes(Array("body".utf8)), .stream(length: 4, OneStream(bytes: Array("body".utf8))),
            .segments([.file(path: file.path), .bytes(Array("body".utf8))]),
        ]
        for body in bodies {
            await expect(.unsupportedURL) { try await session.upload(for: request, from: body) }
            var request = request
            request.body = body
            await expect(.unsupportedURL) { try await session.download(for: request) }
        }
        await expect(.unsupportedURL) { try await session.uploadTask(withStreamedRequest: request).data() }
        #expect(origin.connections.isEmpty)
        // The same session sends files and downloads.
        let segments = RequestBody.segments([.file(path: file.path), .file(path: file.path)])
        for (body, content) in [(RequestBody.file(path: file.path), "body"), (segments, "bodybody")] {
            let receiver = try WireOrigin { connection in
                try connection.receiveHead()
                try connection.receive(content.utf8.count)
                try connection.send(Self.ok)
            }
            let url = try URLRecord(receiver.url())
            _ = try await session.upload(for: Request(url: url, method: .put), from: body)
            #expect(receiver.received().hasSuffix("\r\n\r\n\(content)"))
        }
        #expect(try await session.download(for: Request(url: request.url)).byteCount == 2)
    }

    // Proves: BKG-4.
    @Test(arguments: ["ftp", "ftps"])
    func `a background session has no scheme but http and https`(_ scheme: String) async throws {
        let origin = try WireOrigin { try $0.send("220 here\r\n") }
        let url = try URLRecord("\(scheme)://127.0.0.1:\(origin.port)/file")
        let log = DelegateLog()
        let session = try Session(background: "tests.\(scheme)", delegate: log)
        await expect(.unsupportedURL) { try await session.download(for: Request(url: url)) }
        let file = try TemporaryFile([1])
        await expect(.unsupportedURL) {
            try await session.upload(for: Request(url: url, method: .put), from: .file(path: file.path))
        }
        #expect(origin.connections.isEmpty)
        // Another session does connect, and finds no such server.
        _ = try? await Session().download(for: Request(url: url))
        try await until { !origin.connections.isEmpty }
    }

    // Proves: BKG-5, BKG-10, BKG-15, RED-16, FN-13, SES-4.
    @Test func `a background session follows without asking and says when all is told`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.receive(2)
                try connection.send(
                    head.hasPrefix("PUT /first ")
                        ? "HTTP/1.1 307 Moved\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n" : Self.ok)
            }
        }
        var answers = DelegateLog.Answers()
        answers.redirect = { _, _ in .cancel }
        let log = DelegateLog(answers)
        let session = try Session(background: "tests.three", delegate: log)
        let request = Request(url: try URLRecord(origin.url("/first")), method: .put)
        let file = try TemporaryFile([1, 2])
        session.uploadTask(with: request, from: .file(path: file.path)).resume()
        try await log.happened("events finished")
        #expect(
            log.events == ["created", "sent", "response 200", "data", "metrics 2", "complete well", "events finished"])
    }

    // Proves: BKG-15.
    @Test(arguments: [true, false])
    func `uploads and downloads are told as in another session`(_ isUpload: Bool) async throws {
        let (origin, file) = (try CallOrderTests.origin(), try TemporaryFile(pattern(100_000)))
        let url = try URLRecord(origin.url("/second.bin"))
        let (ordinary, background) = (
            CallLog(credential: CallOrderTests.credential), CallLog(credential: CallOrderTests.credential)
        )
        let sessions = [
            Session(delegate: ordinary), try Session(background: "tests.told.\(isUpload)", delegate: background),
        ]
        for session in sessions {
            let task: SessionTask =
                isUpload
                ? session.uploadTask(with: Request(url: url, method: .put), from: .file(path: file.path))
                : session.downloadTask(with: Request(url: url))
            task.resume()
            session.finishTasksAndInvalidate()
        }
        try await until { ordinary.events.last == "invalid" && background.events.last == "invalid" }
        #expect(background.events.filter { $0 != "events finished" } == ordinary.events)
        #expect(background.events.contains("events finished") && !ordinary.events.contains("events finished"))
        #expect(ordinary.events.contains(isUpload ? "sent" : "wrote") && ordinary.events.contains("complete well"))
    }

    // Proves: BKG-13.
    @Test(arguments: ["NTLM", "Negotiate", "Basic realm=\"r\""], ["", "session", "task", "session task"])
    func `challenges reach the level that they reach in another session`(
        _ offer: String, _ methods: String
    ) async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 401 No\r\nWWW-Authenticate: \(offer)\r\nContent-Length: 0\r\n\r\n")
        let request = Request(url: try URLRecord(origin.url()))
        let (hasSession, hasTask) = (methods.contains("session"), methods.contains("task"))
        let stop: ChallengeLog.Rule = { _ in .continueWithoutCredential }
        let logs = (0..<2).map { _ in
            ChallengeLog(session: hasSession ? stop : nil, task: hasTask ? stop : nil)
        }
        let session = try Session(background: "tests.level.\(offer).\(methods)", delegate: logs[0])
        _ = try await session.download(for: request)
        _ = try await Session(delegate: logs[1]).download(for: request)
        let isSessionLevel = !offer.hasPrefix("Basic")
        let asked = logs[0].events.first { !$0.hasPrefix("response") }?.split(separator: " ").first
        #expect(asked == (isSessionLevel && hasSession ? "session" : hasTask ? "task" : "completed"))
        #expect(logs[0].events == logs[1].events)
    }

    // Proves: BKG-13.
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `trust in a server and a client's certificate are asked about at session level first`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("self", selfSigned: true),
            directives: ["ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client on"])
        let request = Request(url: try URLRecord("https://localhost:\(server.port)/"))
        let leaf = try await authority.issue("client")
        let identity = try ClientIdentity(certificateChain: leaf.certificate, privateKey: leaf.key)
        let answer: ChallengeLog.Rule = { challenge in
            .useCredential(challenge.serverTrust.map { Credential(trust: $0) } ?? Credential(identity: identity))
        }
        for level in ["session", "task"] {
            let log = ChallengeLog(session: level == "session" ? answer : nil, task: answer)
            let session = try Session(background: "tests.trust.\(level)", delegate: log)
            let file = try await session.download(for: request)
            #expect(file.response.status == .ok)
            #expect(
                log.events.filter { $0.hasPrefix("session ") || $0.hasPrefix("task ") } == [
                    "\(level) serverTrust", "\(level) clientCertificate",
                ])
        }
    }
}
