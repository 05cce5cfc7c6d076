import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// HTTP/2 by nginx.
@Suite(.enabled(if: LoopbackServer.installed("nginx") != nil, "nginx is not installed"))
struct HTTP2Tests {
    private static func server() async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        let port = try LoopbackServer.freePort()
        try directory.makeDirectory("tmp", mode: 0o777)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.path)/tmp;" }.joined(separator: " ")
        try directory.write(
            """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 256; }
            http {
                access_log off; default_type text/plain; \(temporary)
                server {
                    listen 127.0.0.1:\(port) http2;
                    location / { return 200 "$connection $server_protocol $request_uri"; }
                    location /from { return 302 /to$request_uri; }
                }
            }
            """, to: "nginx.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log",
            [
                LoopbackServer.installed("nginx") ?? "nginx", "-p", directory.path, "-c", "nginx.conf", "-e",
                "error.log",
            ])
    }

    private static func session() -> Session {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2
        return Session(configuration: configuration)
    }

    @Test func `redirects of many loads at once go over one connection (NET-1, SES-13, FN-5)`() async throws {
        let server = try await Self.server()
        let session = Self.session()
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            // The first load makes the connection that the others then share.
            _ = try await session.data(for: Request(url: try URLRecord("http://127.0.0.1:\(server.port)/")))
            for number in 0..<50 {
                let request = Request(url: try URLRecord("http://127.0.0.1:\(server.port)/from/\(number)"))
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
}
