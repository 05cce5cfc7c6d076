import FetchEngine
import FetchdClient
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Tasks of a service, beside tasks of the engine: their delegates hear the same in the same order.
@Suite(.timeLimit(.minutes(3))) struct RemoteURLSessionTests {
    /// What an origin is asked for, and what the delegate answers and hears.
    struct Script: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var kind = Job.Kind.data
        var path: String
        /// Called for each of the two.
        var body: @Sendable () -> RequestBody = { .bytes(Array("content".utf8)) }
        var answers = ScriptedDelegate.Answers()
        let calls: [String]
    }

    private static let login = Challenge.Disposition.useCredential(Credential(user: "aladdin", password: "sesame"))

    private static let scripts: [Script] = [
        Script(
            testDescription: "a redirect that is followed", path: "/first",
            calls: ["created", "redirect 302 /second", "response 200", "data", "metrics 2", "complete well"]),
        Script(
            testDescription: "a redirect that is refused", path: "/first",
            answers: .init(redirect: { _ in nil }),
            calls: ["created", "redirect 302 /second", "response 302", "metrics 1", "complete well"]),
        Script(
            testDescription: "a redirect to another place than the server's", path: "/first",
            answers: .init(redirect: { request in
                var other = request
                other.url = (try? request.url.resolve("/third")) ?? request.url
                return other
            }),
            calls: ["created", "redirect 302 /second", "response 200", "data", "metrics 2", "complete well"]),
        Script(
            testDescription: "a challenge that is answered with a credential", path: "/secret",
            answers: .init(challenge: login),
            calls: ["created", "challenge httpBasic 0", "response 200", "data", "metrics 2", "complete well"]),
        Script(
            testDescription: "a challenge that is answered with cancel", path: "/secret",
            answers: .init(challenge: .cancelAuthenticationChallenge),
            calls: ["created", "challenge httpBasic 0", "metrics 1", "complete userCancelledAuthentication"]),
        Script(
            testDescription: "a response that is answered with cancel", path: "/a",
            answers: .init(response: .cancel),
            calls: ["created", "response 200", "metrics 1", "complete cancelled"]),
        Script(
            testDescription: "a download", kind: .download, path: "/first",
            calls: ["created", "redirect 302 /second", "response 200", "file 5", "metrics 2", "complete well"]),
        Script(
            testDescription: "an upload", kind: .upload, path: "/up",
            calls: ["created", "response 200", "data", "metrics 1", "complete well"]),
        Script(
            testDescription: "an upload of a stream", kind: .upload, path: "/up",
            body: { .stream(length: 7, OneStream(bytes: Array("content".utf8))) },
            calls: ["created", "response 200", "data", "metrics 1", "complete well"]),
        Script(
            testDescription: "a load that fails", path: "/broken",
            calls: ["created", "metrics 1", "complete networkConnectionLost"]),
    ]

    private static func origin() throws -> WireOrigin {
        let body = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        return try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                switch head.split(separator: " ").dropFirst().first {
                case "/first":
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                case "/secret" where !head.contains("Basic YWxhZGRpbjpzZXNhbWU="):
                    let field = "WWW-Authenticate: Basic realm=\"cave\""
                    try connection.send("HTTP/1.1 401 Unauthorized\r\n\(field)\r\nContent-Length: 0\r\n\r\n")
                case "/broken": return
                case "/up":
                    #expect(try connection.receive(7) == Array("content".utf8))
                    try connection.send(body)
                default: try connection.send(body)
                }
            }
        }
    }

    private func request(_ script: Script, _ origin: WireOrigin) throws -> Request {
        var request = try Request(origin.url(script.path))
        if script.kind == .upload { request.method = .post }
        return request
    }

    private func callsOfEngine(_ script: Script, _ origin: WireOrigin) async throws -> [String] {
        let log = ScriptedDelegate(script.answers)
        let session = Session(delegate: log)
        let request = try request(script, origin)
        switch script.kind {
        case .data: session.dataTask(with: request).resume()
        case .download: session.downloadTask(with: request).resume()
        case .upload: session.uploadTask(with: request, from: script.body()).resume()
        }
        session.finishTasksAndInvalidate()
        try await log.happened("invalid")
        return log.calls
    }

    private func callsOfClient(
        _ script: Script, _ origin: WireOrigin, _ service: FetchdService
    ) async throws -> [String] {
        let log = ScriptedDelegate(script.answers)
        let session = RemoteURLSession(service, delegate: log)
        let request = try request(script, origin)
        let task =
            switch script.kind {
            case .data: session.dataTask(with: request)
            case .download: session.downloadTask(with: request)
            case .upload: session.uploadTask(with: request, from: script.body())
            }
        #expect(task.state == .suspended)
        task.resume()
        session.finishTasksAndInvalidate()
        try await log.happened("invalid")
        #expect(task.state == .completed)
        return log.calls
    }

    @Test(arguments: scripts)
    func `a delegate hears the same of a service as of the engine`(_ script: Script) async throws {
        let origin = try Self.origin()
        #expect(try await callsOfEngine(script, origin) == script.calls + ["invalid"])
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let calls = try await callsOfClient(script, origin, service.client)
            #expect(calls == script.calls + ["invalid"])
        }
    }

    @Test(arguments: [(true, "complete well"), (false, "complete serverCertificateHasUnknownRoot")])
    func `a chain that nobody vouches for is judged by the delegate of either`(
        _ accepts: Bool, _ end: String
    ) async throws {
        let origin = try TLSOrigin()
        let rule = "127.0.0.1:\(origin.port)"
        let request = try Request("https://\(rule)/")
        let log = ScriptedDelegate(.init(acceptsChain: accepts))
        let session = Session(delegate: log)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        try await log.happened("invalid")
        #expect(log.calls.contains(end), "\(log.calls)")
        try await ServiceProcess.with(allowing: [rule]) { service in
            let remote = ScriptedDelegate(.init(acceptsChain: accepts))
            let session = RemoteURLSession(service.client, delegate: remote)
            session.dataTask(with: request).resume()
            session.finishTasksAndInvalidate()
            try await remote.happened("invalid")
            #expect(remote.calls == log.calls)
        }
    }

    @Test func `a data task whose response becomes a download gives a file`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let log = ScriptedDelegate(.init(response: .becomeDownload))
            let session = RemoteURLSession(service.client, delegate: log)
            let task = session.dataTask(with: try Request(origin.url("/a")))
            task.resume()
            try await log.happened("complete")
            #expect(log.calls == ["created", "response 200", "file 5", "metrics 1", "complete well"])
            #expect(task.kind == .download && log.file == Array("hello".utf8))
        }
    }

    @Test func `an answer that the service refuses ends the task, which tells the rule`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let elsewhere = try URLRecord("http://10.0.0.1/")
            let log = ScriptedDelegate(.init(redirect: { _ in Request(url: elsewhere) }))
            let session = RemoteURLSession(service.client, delegate: log)
            let task = session.dataTask(with: try Request(origin.url("/first")))
            task.resume()
            try await log.happened("complete")
            #expect(log.calls.last == "complete cancelled")
            #expect(task.error?.message.hasPrefix("The service has refused the answer of the delegate: ") == true)
        }
    }

    @Test func `a task that is cancelled while it loads ends once, as cancelled`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try gate.wait() }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let log = ScriptedDelegate()
            let session = RemoteURLSession(service.client, delegate: log)
            let task = session.dataTask(with: try Request(origin.url()))
            task.resume()
            try await until { origin.received().contains("GET /") }
            task.cancel()
            task.cancel()
            try await log.happened("complete")
            #expect(log.calls.first == "created" && log.calls.last == "complete cancelled")
            #expect(task.error?.code == .cancelled && task.state == .completed)
            gate.open()
        }
    }

    @Test func `a task that was never begun is cancelled without the service`() async throws {
        let log = ScriptedDelegate()
        let session = RemoteURLSession(FetchdService(url: "http://127.0.0.1:1", key: APIKey("fk_x")), delegate: log)
        session.dataTask(with: try Request("http://a.example/")).cancel()
        try await log.happened("complete")
        #expect(log.calls == ["created", "metrics 0", "complete cancelled"])
    }

    @Test func `a session that was invalidated takes no tasks`() async throws {
        let session = RemoteURLSession(FetchdService(url: "http://127.0.0.1:1", key: APIKey("fk_x")))
        session.finishTasksAndInvalidate()
        let task = session.dataTask(with: try Request("http://a.example/"))
        task.resume()
        try await until { task.state == .completed }
        #expect(task.error?.code == .sessionInvalidated)
    }

    @Test func `what the service refuses is the error of the task`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let log = ScriptedDelegate()
            let session = RemoteURLSession(service.client, delegate: log)
            var request = try Request("http://a.example/")
            request.method = .trace
            session.dataTask(with: request).resume()
            try await log.happened("complete")
            #expect(log.calls == ["created", "metrics 0", "complete invalidInput"])
        }
    }

    @Test func `a job that is held stands still until it is resumed`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let log = ScriptedDelegate(.init(holdsAt: "response"))
            let session = RemoteURLSession(service.client, delegate: log)
            let task = session.dataTask(with: try Request(origin.url("/a")))
            task.resume()
            try await log.happened("response")
            task.suspend()
            #expect(task.state == .suspended)
            let id = try #require(task.jobID)
            try await until { try await service.client.jobs.get(id).state == .suspended }
            task.resume()
            log.letGo()
            try await log.happened("complete")
            #expect(log.calls.last == "complete well")
        }
    }
}
