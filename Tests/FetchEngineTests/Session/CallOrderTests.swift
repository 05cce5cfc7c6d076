import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The calls of one task to a delegate that takes its time.
@Suite(.timeLimit(.minutes(1))) struct CallOrderTests {
    private enum Kind: CaseIterable { case data, upload, download }

    static let credential = Credential(user: "aladdin", password: "open sesame")

    /// An origin that redirects from `/first`, wants a password, and answers with a large body that may be kept.
    static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                try connection.receive(length.flatMap { Int($0.dropFirst(16)) } ?? 0)
                if head.hasPrefix("GET /first ") || head.hasPrefix("PUT /first ") {
                    try connection.send("HTTP/1.1 307 Moved\r\nLocation: /second.bin\r\nContent-Length: 0\r\n\r\n")
                } else if !head.contains("Authorization: Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n") {
                    try connection.send(
                        "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=cave\r\nContent-Length: 0\r\n\r\n")
                } else {
                    if head.hasPrefix("GET ") { try connection.send("HTTP/1.1 103 Early Hints\r\n\r\n") }
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60, public\r\nContent-Length: 100000\r\n\r\n")
                    try connection.send(pattern(100_000))
                }
            }
        }
    }

    private static func task(_ kind: Kind, _ session: Session, _ url: URLRecord, _ file: TemporaryFile) -> SessionTask {
        switch kind {
        case .data: session.dataTask(with: Request(url: url), earliestBegin: .now)
        case .upload: session.uploadTask(with: Request(url: url, method: .put), from: .file(path: file.path))
        case .download: session.downloadTask(with: Request(url: url), earliestBegin: .now)
        }
    }

    private static let expected: [Kind: [String]] = [
        .data: [
            "created", "delayed", "redirect /second.bin", "space httpBasic", "challenge httpBasic",
            "informational 103", "response 200", "data", "cache", "metrics 3", "complete well", "invalid",
        ],
        .upload: [
            "created", "sent", "redirect /second.bin", "sent", "space httpBasic", "challenge httpBasic", "sent",
            "response 200", "data", "metrics 3", "complete well", "invalid",
        ],
        .download: [
            "created", "delayed", "redirect /second.bin", "space httpBasic", "challenge httpBasic",
            "informational 103", "response 200", "destination for second.bin", "wrote", "finished 100000",
            "metrics 3", "complete well", "invalid",
        ],
    ]

    // Proves: LIF-18.
    @Test(arguments: Kind.allCases)
    private func `the calls of a task never overlap, however long each takes`(_ kind: Kind) async throws {
        let (origin, file) = (try Self.origin(), try TemporaryFile(pattern(100_000)))
        let log = CallLog(credential: Self.credential)
        var configuration = SessionConfiguration()
        configuration.urlCache = MemoryResponseCache()
        let session = Session(configuration: configuration, delegate: log)
        Self.task(kind, session, try URLRecord(origin.url("/first")), file).resume()
        session.finishTasksAndInvalidate()
        try await until { log.events.last == "invalid" }
        #expect(log.events == Self.expected[kind])
        #expect(log.overlaps.isEmpty)
    }

    // Proves: LIF-3.
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `a connection's challenges come before a redirect, and that before the response`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("self", selfSigned: true),
            directives: [
                "ssl_client_certificate \(authority.certificatePath)", "ssl_verify_client optional",
                "location = /old { return 302 /new; }",
            ])
        var answers = DelegateLog.Answers()
        answers.challenge = { challenge in
            challenge.serverTrust.map { .useCredential(Credential(trust: $0)) } ?? .performDefaultHandling
        }
        let log = DelegateLog(answers)
        let session = Session(delegate: log)
        session.dataTask(with: try URLRecord("https://localhost:\(server.port)/old")).resume()
        try await log.happened("complete")
        let events = log.events
        let redirect = try #require(events.firstIndex(of: "redirect 302 /new"))
        #expect(
            events[..<redirect] == [
                "created", "session challenge serverTrust", "session challenge clientCertificate",
                "challenge clientCertificate 0",
            ])
        #expect(events[redirect...].contains("response 200") && events.last == "complete well")
    }
}
