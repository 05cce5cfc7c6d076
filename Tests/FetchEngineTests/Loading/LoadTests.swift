import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite struct LoadTests {
    @Test func `a GET sends exactly its line, Host, Accept and the fields asked for, in order`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        var request = Request(url: try URLRecord(origin.url("/a?b=c#d")))
        request.headerFields.append(HTTPField(name: HTTPField.Name("X-B")!, value: "1"))
        request.headerFields.append(HTTPField(name: HTTPField.Name("X-A")!, value: "2"))
        request.headerFields.append(HTTPField(name: HTTPField.Name("X-B")!, value: ""))
        let (body, response) = try await Session().data(for: request)
        #expect(body == Array("hi".utf8))
        #expect(response.status.code == 200)
        #expect(
            origin.received()
                == "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nAccept: */*\r\n\(offeredCodings)X-B: 1\r\nX-A: 2\r\nX-B:\r\n\r\n"
        )
    }

    // Proves: RSP-2, RSP-4, RSP-5.
    @Test func `the response tells status, fields in order, type, charset and length`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(
                """
                HTTP/1.1 404 Gone Fishing\r\nSet-Cookie: a=1\r\nContent-Type: Text/HTML; x=1; Charset="utf-8"\r
                Set-Cookie:b=2\r\nX-Empty:\r\nContent-Length: 3\r\n\r\nabc
                """)
        }
        let (_, response) = try await Session().data(for: Request(url: try URLRecord(origin.url("/d/name.txt"))))
        #expect(response.status.code == 404)
        #expect(response.status.reasonPhrase == "Gone Fishing")
        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2"])
        #expect(response.headerFields[values: HTTPField.Name("X-Empty")!] == [""])
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 3)
        #expect(response.httpVersion == "http/1.1")
        #expect(response.suggestedFilename == "name.txt")
    }

    // Proves: RSP-7.
    @Test func `informational answers are not the response`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nX: y\r\n\r\n")
        let (body, response) = try await Session().data(for: Request(url: try URLRecord(origin.url())))
        #expect(response.status.code == 204)
        #expect(response.headerFields[HTTPField.Name("Link")!] == nil)
        #expect(body.isEmpty)
    }

    // Proves: URL-3.
    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND", "get"])
    func `the method is sent as it is`(_ method: String) async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 204 No Content\r\n\r\n")
        var request = Request(url: try URLRecord(origin.url()))
        request.method = HTTPRequest.Method(method)!
        _ = try await Session().data(for: request)
        #expect(origin.received().hasPrefix("\(method) / HTTP/1.1\r\n"))
    }

    @Test func `a method that anticipates content says that it has none`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 204 No Content\r\n\r\n")
        _ = try await Session().data(for: Request(url: try URLRecord(origin.url()), method: .post))
        #expect(origin.received().contains("\r\nContent-Length: 0\r\n"))
    }

    @Test func `a chunked body is put together and its trailers are kept`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"
        )
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        let response = try await task.response(bufferingUpTo: 100)
        #expect(task.completeBody == Array("abcde".utf8))
        #expect(response.expectedContentLength == nil)
        #expect(task.trailerFields[HTTPField.Name("X-Sum")!] == "5")
    }

    @Test func `loads one after the other use one connection`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let session = Session()
        for _ in 0..<5 { _ = try await session.data(for: Request(url: try URLRecord(origin.url()))) }
        #expect(origin.connections.count == 1)
    }

    // Proves: SEC-21.
    @Test func `sessions do not share connections`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        for _ in 0..<3 { _ = try await Session().data(for: Request(url: try URLRecord(origin.url()))) }
        #expect(origin.connections.count == 3)
    }

    // Proves: SEC-21, SEC-42.
    @Test func `owners do not share connections, in one session either`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let session = Session()
        for owner in ["one", "another", "one", "another"] {
            var configuration = session.configuration
            configuration.owner = owner
            let url = try URLRecord(origin.url("/\(owner)"))
            let task = session.dataTask(with: Request(url: url), configuration: configuration)
            #expect(try await task.response(bufferingUpTo: 100).status == .ok)
        }
        #expect(origin.connections.count == 2)
        #expect(origin.received(on: 0).contains("GET /one ") && !origin.received(on: 0).contains("/another"))
        #expect(origin.received(on: 1).contains("GET /another ") && !origin.received(on: 1).contains("/one"))
    }

    // Proves: SES-8.
    @Test func `no more connections to a host are used than allowed, and all loads are served`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        var configuration = SessionConfiguration()
        configuration.httpMaximumConnectionsPerHost = 3
        let session = Session(configuration: configuration)
        let request = Request(url: try URLRecord(origin.url()))
        try await withThrowingTaskGroup { group in
            for _ in 0..<200 { group.addTask { _ = try await session.data(for: request) } }
            try await group.waitForAll()
        }
        #expect(origin.connections.count <= 3)
    }

    // Proves: SES-8.
    @Test(.timeLimit(.minutes(1)))
    func `six connections to a host are open at once by default, and another host has its own`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
        let other = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        #expect(SessionConfiguration().httpMaximumConnectionsPerHost == 6)
        let session = Session(delegate: Log())
        let tasks = try (0..<30).map { _ in session.dataTask(with: try URLRecord(origin.url())) }
        for task in tasks { task.resume() }
        try await until { tasks.allSatisfy { $0.state == .running } }
        // The loop has come to all of them by then.
        #expect(try await session.data(for: Request(url: try URLRecord(other.url()))).0 == Array("hi".utf8))
        try await until { origin.count(of: "GET ") == 6 }
        #expect(origin.connections.count == 6 && other.connections.count == 1)
        gate.open()
        try await until { tasks.allSatisfy { $0.state == .completed } }
        #expect(tasks.allSatisfy { $0.error == nil } && origin.connections.count == 6)
    }

    // Proves: BEY-21.
    @Test(.timeLimit(.minutes(1)))
    func `flushing a session gives up the connections that are idle, and no others`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.hasPrefix("GET /slow ") { try gate.wait() }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
        let session = Session()
        let request = Request(url: try URLRecord(origin.url()))
        async let slow = session.data(for: Request(url: try URLRecord(origin.url("/slow"))))
        try await until { origin.count(of: "GET /slow ") == 1 }
        for _ in 0..<2 { _ = try await session.data(for: request) }
        #expect(origin.connections.count == 2)
        session.flush()
        try await origin.ended()
        _ = try await session.data(for: request)
        #expect(origin.connections.count == 3)
        gate.open()
        #expect(try await slow.0 == Array("hi".utf8))
        #expect(origin.connections.map(\.isOver).prefix(2) == [false, true])
    }

    // Proves: TSK-5.
    @Test func `a task that is not driven sends nothing`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 204 No Content\r\n\r\n")
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        #expect(task.state == .suspended)
        #expect(origin.connections.isEmpty)
        _ = try await task.response(bufferingUpTo: 0)
        for try await _ in task.body {}
        #expect(task.state == .completed)
    }

    // Proves: SEC-27.
    @Test(arguments: [
        "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "TE", "Trailer", "Expect",
        "Proxy-Foo", "Proxy-Authorization", "proxy-connection",
    ])
    func `fields that frame the message are refused`(_ name: String) async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 204 No Content\r\n\r\n")
        var request = Request(url: try URLRecord(origin.url()))
        request.headerFields[HTTPField.Name(name)!] = "1"
        await expect(.headerForbidden) { try await Session().data(for: request) }
        #expect(origin.connections.isEmpty)
    }

    // Proves: SEC-27.
    @Test(arguments: ["CONNECT", "TRACE", "track", "123456789012345678901234567890123"])
    func `methods that are no loads are refused`(_ method: String) async throws {
        var request = Request(url: try URLRecord("http://127.0.0.1:1/"))
        request.method = HTTPRequest.Method(method)!
        await expect(.methodInvalid) { try await Session().data(for: request) }
    }
}
