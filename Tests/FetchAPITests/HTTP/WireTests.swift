import FetchJobs
import Foundation
import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import FetchAPI

/// The responses on the wire when a client does not speak HTTP as it should.
@Suite struct WireTests {
    /// Sends bytes on a new connection and returns the received ones until the server closes it.
    static func exchange(_ request: String, port: Int) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: request))
            var answer = ""
            for try await part in inbound { answer += String(buffer: part) }
            return answer
        }
    }

    private static func answer(
        to request: String,
        connection: ConnectionGuard.Limits = ConnectionGuard.Limits()
    ) async throws -> String {
        let server = try await TestServer()
        return try await server.listen(connection: connection) { port, _ in
            try await exchange(request.replacing("KEY", with: server.authorization), port: port)
        }
    }

    // Proves: SEC-44.
    @Test(arguments: [
        ("nonsense\r\n\r\n", "400 Bad Request", ProblemCode.malformedRequest),
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", "400 Bad Request", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n", "400 Bad Request", .malformedRequest),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n",
            "431 Request Header Fields Too Large", .headersTooLarge
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n"
                + (0..<150).map { "X-\($0): x\r\n" }.joined() + "\r\n",
            "431 Request Header Fields Too Large", .headersTooLarge
        ),
        (
            "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            "400 Bad Request", .malformedRequest
        ),
        (
            "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nContent-Type: application/json\r\n"
                + "Content-Length: 9999999\r\n\r\n{",
            "413 Payload Too Large", .contentTooLarge
        ),
    ])
    func `what is broken is answered with a problem and the connection is closed`(
        request: String,
        status: String,
        code: ProblemCode
    ) async throws {
        let answer = try await Self.answer(to: request)
        #expect(answer.hasPrefix("HTTP/1.1 \(status)\r\n"))
        #expect(answer.contains("application/problem+json"))
        #expect(answer.lowercased().contains("\r\nrequest-id: "))
        #expect(answer.contains("\"code\":\"\(code.rawValue)\""))
        #expect(answer.components(separatedBy: "HTTP/1.1").count == 2, "one answer and no other")
    }

    @Test(arguments: ["a", "a.example:8080", "[::1]", "[::1]:80", "127.0.0.1:", "xn--a_b~%20"])
    func `a host may have any name, an address and a port`(host: String) async throws {
        let request = "GET /healthz HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
        #expect(try await Self.answer(to: request).hasPrefix("HTTP/1.1 200 "))
    }

    // RFC 9112 §9.3: nothing that comes after the first request is read.
    @Test(arguments: ["", "Host: a\r\n"])
    func `a client of HTTP/1.0 is answered, and its connection closed`(field: String) async throws {
        let request = "GET /healthz HTTP/1.0\r\n\(field)\r\n"
        let answer = try await Self.answer(to: request + request)
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.components(separatedBy: "HTTP/1.1 ").count == 2)
    }

    @Test func `a client of HTTP/1.0 may ask to keep its connection`() async throws {
        let answer = try await Self.answer(
            to: "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /readyz HTTP/1.0\r\n\r\n")
        #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 3)
    }

    @Test func `a client that asks before it sends is told to continue`() async throws {
        let body = #"{"request":{"url":"https://origin.example/"}}"#
        let answer = try await Self.answer(
            to: "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nContent-Type: application/json\r\n"
                + "Expect: 100-continue\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        #expect(answer.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n"))
    }

    @Test func `another expectation fails`() async throws {
        let answer = try await Self.answer(
            to: "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: more\r\nConnection: close\r\n\r\n"
        )
        #expect(answer.hasPrefix("HTTP/1.1 417 "))
    }

    @Test func `methods that no resource has are 405 with those it has`() async throws {
        for method in ["TRACE", "DELETE", "PROPFIND", "PATCH"] {
            let answer = try await Self.answer(
                to: "\(method) /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nConnection: close\r\n\r\n"
            )
            #expect(answer.hasPrefix("HTTP/1.1 405 "), "\(method)")
            #expect(answer.contains("\r\nAllow: GET, HEAD, OPTIONS, POST\r\n"))
        }
    }

    // Proves: SEC-44.
    @Test func `a request that does not go on is given up with 408`() async throws {
        var limits = ConnectionGuard.Limits()
        limits.head = .milliseconds(50)
        limits.body = .milliseconds(50)
        let head = try await Self.answer(to: "GET / HT", connection: limits)
        #expect(head.hasPrefix("HTTP/1.1 408 "))
        let body = try await Self.answer(
            to: "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nContent-Type: application/json\r\n"
                + "Content-Length: 10\r\n\r\n{",
            connection: limits
        )
        #expect(body.hasPrefix("HTTP/1.1 408 "))
        #expect(body.contains("\"code\":\"requestTimeout\""))
    }

    // The exchange ends when the server closes the connection, which the client keeps open.
    // Proves: SEC-44.
    @Test func `a connection without a request is closed`() async throws {
        var limits = ConnectionGuard.Limits()
        #expect(limits.idle == .seconds(60))
        limits.idle = .milliseconds(50)
        let answer = try await Self.answer(to: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", connection: limits)
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.matches(of: #/HTTP/1.1 /#).count == 1, "\(answer)")
    }

    @Test func `stopping ends the wait for a job and answers that it goes on`() async throws {
        let (stored, tell) = AsyncStream<Void>.makeStream()
        let jobs = MemoryJobStore { _ in
            tell.yield()
            return nil
        }
        let server = try await TestServer(jobs: jobs)
        let body = #"{"request":{"url":"https://origin.example/"}}"#
        let request =
            "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: \(server.authorization)\r\nPrefer: wait=60\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let answer = try await server.listen { port, stop in
            async let answer = Self.exchange(request, port: port)
            _ = await stored.first { _ in true }
            await stop()
            return try await answer
        }
        #expect(answer.hasPrefix("HTTP/1.1 202 "))
    }

    @Test func `who does not know of resumable uploads is sent one response`() async throws {
        let answer = try await Self.answer(
            to: "POST /v1/blobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nUpload-Complete: ?1\r\n"
                + "Content-Length: 5\r\nConnection: close\r\n\r\nhello")
        #expect(answer.hasPrefix("HTTP/1.1 201 "))
    }

    // Proves: BEY-12.
    @Test func `an upload that may break off is told at once where to go on`() async throws {
        let answer = try await Self.answer(
            to: "POST /v1/blobs HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\nUpload-Complete: ?1\r\n"
                + "Upload-Draft-Interop-Version: 6\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        let answers = answer.components(separatedBy: "HTTP/1.1 ")
        #expect(answers.count == 3)
        #expect(answers[1].hasPrefix("104 Upload Resumption Supported\r\n"))
        #expect(answers[1].lowercased().contains("location: /v1/uploads/upl_"))
        #expect(answers[2].hasPrefix("201 "))
    }
}
