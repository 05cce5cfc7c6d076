import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// NTLM, played by libcurl on our side and judged by pyspnego.
@Suite(.serialized, .enabled(if: LoopbackServer.python("pyspnego-parse") != nil))
struct NTLMTests {
    private static let aladdin = Credential(user: "CAVE\\aladdin", password: Cave.password)
    private static let jafar = Credential(user: "CAVE\\jafar", password: "sim sala bim")

    private static func lines(_ server: LoopbackServer) -> [String] {
        server.directory.text(of: "log").split(separator: "\n").map(String.init)
    }

    // The delegate that is asked, and the requests that the server sees.
    // Proves: AUT-1, AUT-9, AUT-21, AUT-24, FN-15.
    @Test func `the handshake is played on one connection, and one response is told`() async throws {
        let server = try await LoopbackServer.ntlm()
        let log = ChallengeLog(session: { _ in .useCredential(Self.aladdin) })
        let task = Session(delegate: log).dataTask(with: Request(url: try URLRecord(server.url("/"))))
        let (body, response) = try await task.data()
        #expect(response.status.code == 200)
        #expect(String(decoding: body, as: UTF8.self) == "CAVE\\aladdin 2 0")
        #expect(log.events == ["session ntlm", "response 200", "completed"])
        #expect(Self.lines(server) == ["1 0 401", "2 0 401", "2 0 200"])
    }

    // Of three requests, the last alone has the body.
    // Proves: AUT-24, UPL-6, UPL-7.
    @Test(arguments: [1, 65_537, 1_000_000])
    func `a body is not sent before the handshake ends`(_ count: Int) async throws {
        let server = try await LoopbackServer.ntlm()
        let file = try TemporaryFile(pattern(count))
        let session = Session()
        for body in [RequestBody.bytes(pattern(count)), .file(path: file.path)] {
            let log = ChallengeLog(task: { _ in .useCredential(Self.aladdin) })
            let request = Request(url: try URLRecord(server.url("/")), method: .post, body: body)
            let (answer, _) = try await session.data(for: request, delegate: log)
            #expect(String(decoding: answer, as: UTF8.self).hasSuffix(" \(count)"))
            let last = Self.lines(server).suffix(2).map { $0.split(separator: " ").dropFirst().joined(separator: " ") }
            #expect(last == ["0 401", "\(count) 200"])
        }
    }

    // Proves: AUT-24, UPL-6.
    @Test func `a stream is asked for again, and sent with the last request`() async throws {
        let server = try await LoopbackServer.ntlm()
        let log = ChallengeLog(
            task: { _ in .useCredential(Self.aladdin) },
            stream: {
                let pipe = BodyPipe()
                guard (try? await pipe.write(pattern(1000))) != nil else { return nil }
                pipe.finish()
                return pipe
            })
        let request = Request(url: try URLRecord(server.url("/")), method: .post)
        let task = Session(delegate: log).uploadTask(withStreamedRequest: request)
        let (body, _) = try await task.data()
        #expect(String(decoding: body, as: UTF8.self).hasSuffix(" 1000"))
        #expect(log.events.count { $0 == "stream" } == 2)
    }

    // Proves: AUT-4, AUT-5, AUT-24.
    @Test func `a wrong password is counted and proposed`() async throws {
        let server = try await LoopbackServer.ntlm()
        let wrong = Credential(user: "CAVE\\aladdin", password: "wrong")
        let log = ChallengeLog(task: { challenge in
            .useCredential(challenge.previousFailureCount == 0 ? wrong : Self.aladdin)
        })
        let (_, response) = try await Session(delegate: log).data(for: Request(url: try URLRecord(server.url("/"))))
        #expect(response.status.code == 200)
        #expect(log.challenges.map(\.previousFailureCount) == [0, 1])
        #expect(log.challenges.map(\.proposedCredential) == [nil, wrong])
    }

    // Proves: AUT-24, SEC-21.
    @Test func `a connection serves one task, whoever comes next`() async throws {
        let server = try await LoopbackServer.ntlm()
        let session = Session()
        var connections: [Substring] = []
        for credential in [Self.aladdin, Self.jafar, Self.aladdin] {
            let log = ChallengeLog(task: { _ in .useCredential(credential) })
            let request = Request(url: try URLRecord(server.url("/")))
            let (body, _) = try await session.data(for: request, delegate: log)
            let words = String(decoding: body, as: UTF8.self).split(separator: " ")
            #expect(words.first.map(String.init) == credential.user)
            connections.append(words[1])
        }
        #expect(Set(connections).count == 3)
    }
}

/// NTLM byte by byte: replies that no honest server sends.
@Suite struct NTLMWireTests {
    /// A second message that libcurl accepts: no target, no flags but those it needs.
    private static let secondMessage = "TlRMTVNTUAACAAAAAAAAADAAAAAGggEAESIzRFVmd4gAAAAAAAAAADAAAAAAAAAA"

    private static func load(_ origin: WireOrigin, _ method: HTTPRequest.Method = .get) async throws -> Int {
        let log = ChallengeLog(task: { challenge in
            challenge.previousFailureCount == 0
                ? .useCredential(Credential(user: "u", password: "p")) : .continueWithoutCredential
        })
        let body: RequestBody? = method == .post ? .bytes([1, 2, 3]) : nil
        let request = Request(url: try URLRecord(origin.url()), method: method, body: body)
        return try await Session(delegate: log).data(for: request).1.status.code
    }

    // Proves: AUT-24.
    @Test func `the first message goes alone, and the body with the third`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let message = head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: NTLM ") }
                if head.contains("Content-Length: 3") { try connection.receive(3) }
                switch message?.dropFirst(20).prefix(12) {
                case nil: try connection.send(Self.refusal("NTLM"))
                case "TlRMTVNTUAAB": try connection.send(Self.refusal("NTLM " + Self.secondMessage))
                default: try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
            }
        }
        #expect(try await Self.load(origin, .post) == 200)
        #expect(origin.connections.count == 2)
        let received = origin.received(on: 1)
        #expect(received.split(separator: "POST / HTTP/1.1").count == 2)
        #expect(received.contains("Content-Length: 0\r\n") && received.hasSuffix("\r\n\r\n\u{1}\u{2}\u{3}"))
    }

    // Proves: SEC-28.
    @Test(arguments: [secondMessage, "AAAA", "====", "TlRMTVNTUAACAAAA", "x"])
    func `a server that never ends the handshake is given up`(_ message: String) async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isHandshake = head.contains("Authorization: NTLM ")
                try connection.send(Self.refusal(isHandshake ? "NTLM " + message : "NTLM"))
            }
        }
        let result = try? await Self.load(origin)
        #expect(result == nil || result == 401)
        let count = origin.connections.map { String(decoding: $0.received, as: UTF8.self) }.joined()
            .split(separator: "GET / HTTP/1.1").count
        #expect(count < 10)
    }

    private static func refusal(_ offer: String) -> String {
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: \(offer)\r\nContent-Length: 3\r\n\r\nno!"
    }
}
