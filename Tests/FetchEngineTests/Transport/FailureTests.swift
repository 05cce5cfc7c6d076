import FetchEngine
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Failures on the wire, and their codes.
@Suite struct FailureTests {
    /// Bytes a server sends after the request head before it closes, and the code of the error.
    static let answers: [(String, LoadError.Code)] = [
        ("", .networkConnectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .networkConnectionLost),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", .networkConnectionLost),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", .cannotParseResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nabcde", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabcde", .badServerResponse),
        ("nonsense\r\n\r\n", .cannotParseResponse),
        ("HTTP/1.1 200 OK\r\nX: y", .networkConnectionLost),
    ]

    // Proves: ERR-4, ERR-5, SEC-26.
    @Test(arguments: answers)
    func `a broken answer has its code`(_ answer: String, _ code: LoadError.Code) async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(answer)
        }
        await expect(code) { try await Session().data(for: Request(url: try URLRecord(origin.url()))) }
    }

    // Apart from the table: the name of a test must have no NUL in it.
    // Proves: SEC-26.
    @Test func `a NUL in a header field is refused`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n")
        await expect(.badServerResponse) { try await Session().data(for: Request(url: try URLRecord(origin.url()))) }
    }

    // Proves: ERR-4, ERR-1.
    @Test func `a port where nobody listens cannot be connected to`() async throws {
        let port = try WireOrigin(playing: "").port
        await expect(.cannotConnectToHost) {
            try await Session().data(for: Request(url: try URLRecord("http://127.0.0.1:\(port)/")))
        }
    }

    // Proves: ERR-4, ERR-1.
    @Test func `a name that does not exist cannot be found`() async throws {
        await expect(.cannotFindHost) {
            try await Session().data(for: Request(url: try URLRecord("http://no-such-host.invalid/")))
        }
    }

    @Test func `plain text where TLS is expected fails the secure connection`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receive(5)
            try connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        await expect(.secureConnectionFailed) {
            try await Session().data(for: Request(url: try URLRecord("https://127.0.0.1:\(origin.port)/")))
        }
    }

    // Proves: CON-11, ERR-3, LIF-14.
    @Test func `the error tells the URL that failed and what libcurl said`() async throws {
        let origin = try WireOrigin { try $0.receiveHead() }
        let request = Request(url: try URLRecord(origin.url("/x?secret=1")))
        do throws(LoadError) {
            _ = try await Session().data(for: request)
            Issue.record("it did not fail")
        } catch {
            #expect(error.failingURL?.path == "/x")
            #expect(error.underlying?.domain == "libcurl")
            #expect(error.underlying?.number == 52)
            #expect(error.isTransient)
            #expect(!error.description.contains("secret"))
        }
    }

    // Proves: URL-5.
    @Test func `no byte for the idle interval times out`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
            try connection.receiveToEnd()
        }
        var request = Request(url: try URLRecord(origin.url()))
        request.timeoutInterval = .milliseconds(50)
        await expect(.timedOut) { try await Session().data(for: request) }
        try await origin.ended()
    }

    // Proves: SES-9, FN-26.
    @Test func `a resource that takes too long times out`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receiveToEnd()
        }
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForResource = .milliseconds(50)
        let session = Session(configuration: configuration)
        await expect(.timedOut) { try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        try await origin.ended()
    }

    // Proves: SES-9.
    @Test(.timeLimit(.minutes(1))) func `a resource whose bytes never pause times out too`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while true {
                try connection.send("1\r\nx\r\n")
                usleep(2_000)
            }
        }
        #expect(SessionConfiguration().timeoutIntervalForResource == .seconds(7 * 24 * 60 * 60))
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForResource = .milliseconds(300)
        let session = Session(configuration: configuration)
        await expect(.timedOut) { try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        try await origin.ended()
    }

    // Each of the three answers comes in time, and so would any two of them.
    // Proves: SES-9.
    @Test(.timeLimit(.minutes(1)))
    func `the time of a resource spans its redirects and challenges`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                usleep(250_000)
                if head.hasPrefix("GET /first ") {
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                } else if !head.contains("Authorization:") {
                    try connection.send(
                        "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n")
                } else {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                }
            }
        }
        let delegate = ChallengeAnswerer { _ in .useCredential(Credential(user: "u", password: "p")) }
        for (limit, isEnough) in [(Duration.milliseconds(600), false), (.seconds(60), true)] {
            var configuration = SessionConfiguration()
            configuration.timeoutIntervalForResource = limit
            let session = Session(configuration: configuration, delegate: delegate)
            let request = Request(url: try URLRecord(origin.url("/first")))
            if isEnough {
                #expect(try await session.data(for: request).0 == Array("hi".utf8))
            } else {
                await expect(.timedOut) { try await session.data(for: request) }
            }
        }
    }

    // Whether the server had acted on the lost request nobody knows.
    // Proves: UPL-12.
    @Test func `a POST lost on a kept connection is not repeated, a GET is`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            try connection.receiveHead()
        }
        for (method, code) in [(HTTPRequest.Method.post, LoadError.Code.networkConnectionLost), (.get, nil)] {
            let session = Session()
            let request = Request(url: try URLRecord(origin.url()), method: .get)
            _ = try await session.data(for: request)
            let second = Request(url: try URLRecord(origin.url()), method: method)
            if let code {
                await expect(code) { try await session.data(for: second) }
            } else {
                _ = try await session.data(for: second)
            }
        }
    }
}
