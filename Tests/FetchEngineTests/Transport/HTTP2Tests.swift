import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// HTTP/2 by nginx, over TLS: many streams of a connection without TLS are more than libcurl 7.88.1 can do.
@Suite struct HTTP2Tests {
    // Proves: NET-1, SES-13, FN-5.
    @Test func `redirects of many loads at once go over one connection`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: [
                "location /from { return 302 /to$request_uri; }",
                "location /to { return 200 \"$connection $server_protocol $request_uri\"; }",
            ])
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        let session = Session(configuration: configuration)
        let base = "https://localhost:\(server.port)"
        // The first load makes the connection that the others then share.
        _ = try await session.data(for: Request(url: try URLRecord(base + "/")))
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<50 {
                let request = Request(url: try URLRecord("\(base)/from/\(number)"))
                group.addTask {
                    let (body, response) = try await session.data(for: request)
                    #expect(response.httpVersion == "h2")
                    return String(decoding: body, as: UTF8.self)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let words = answers.map { $0.split(separator: " ") }
        #expect(Set(words.map { $0[0] }).count == 1)
        #expect(Set(words.map { $0[1] }) == ["HTTP/2.0"])
        #expect(Set(words.map { $0[2] }).count == 50)
    }

    // Chunks would be in the file: HTTP/2 has frames in their place (RFC 9113 §8.1).
    // Proves: UPL-4.
    @Test(arguments: [nil, 3_000_000] as [Int64?])
    func `a stream goes in plain frames, and says its length where it is known`(_ length: Int64?) async throws {
        let authority = try await TestAuthority()
        let fields = "\"[$http_content_length] [$http_transfer_encoding] $server_protocol\""
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: [
                "location /put/ { root www; dav_methods PUT; create_full_put_path on; client_max_body_size 0; "
                    + "add_header Seen \(fields); }"
            ])
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        let session = Session(configuration: configuration)
        let pipe = BodyPipe(capacity: 10_000)
        let request = Request(
            url: try URLRecord("https://localhost:\(server.port)/put/file"), method: .put,
            body: .stream(length: length, pipe))
        async let answer = session.data(for: request)
        let bytes = pattern(3_000_000)
        for start in stride(from: 0, to: bytes.count, by: 7001) {
            try await pipe.write(Array(bytes[start..<min(start + 7001, bytes.count)]))
        }
        pipe.finish()
        let response = try await answer.1
        let seen = try #require(HTTPField.Name("Seen"))
        #expect(response.status == .created)
        #expect(response.headerFields[seen] == "[\(length.map { "\($0)" } ?? "")] [] HTTP/2.0")
        // Compared outside of the macro, which would print megabytes.
        let isWhole = server.directory.contents(of: "www/put/file") == bytes
        #expect(isWhole)
    }

    // RFC 9113 §6.8: a server that is about to close says which streams it has not looked at.
    @Test func `loads that a server sends away go on on other connections, all of them`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: ["keepalive_requests 20", "location /n/ { return 200 $connection; }"])
        var configuration = SessionConfiguration()
        configuration.tls.anchors = .pem(authority.certificate)
        let session = Session(configuration: configuration)
        let base = "https://localhost:\(server.port)"
        _ = try await session.data(for: Request(url: try URLRecord(base + "/")))
        let connections = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<40 {
                // Not only methods that may be repeated in any case.
                let method: HTTPRequest.Method = number.isMultiple(of: 2) ? .get : .post
                let request = Request(url: try URLRecord("\(base)/n/\(number)"), method: method)
                group.addTask { String(decoding: try await session.data(for: request).0, as: UTF8.self) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(connections.count >= 2)
    }
}
