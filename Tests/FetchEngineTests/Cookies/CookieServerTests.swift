import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Cookies with servers that others have written.
@Suite struct CookieServerTests {
    /// The object that httpbin's `/cookies` answers.
    private static func seen(_ body: [UInt8]) throws -> [String: String] {
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: [String: String]]
        return try #require(object?["cookies"])
    }

    // Proves: COK-1, COK-2, COK-3, COK-4, COK-12, RED-15, URL-8, SES-1.
    @Test(.enabled(if: LoopbackServer.python("gunicorn") != nil, "make test prepares httpbin"))
    func `httpbin sets cookies on redirects and answers, sees them again, and deletes them`() async throws {
        let server = try await LoopbackServer.httpbin()
        func request(_ path: String) throws -> Request {
            Request(url: try URLRecord("http://127.0.0.1:\(server.port)\(path)"))
        }
        let storage = MemoryCookieStorage()
        var configuration = SessionConfiguration.ephemeral
        configuration.httpCookieStorage = storage
        let session = Session(configuration: configuration)

        // The answer is a redirect to /cookies, which is asked with the cookies it has set.
        var (body, response) = try await session.data(for: try request("/cookies/set?one=1&two=a%20b"))
        #expect(response.url.path == "/cookies")
        #expect(try Self.seen(body).keys.sorted() == ["one", "two"])
        #expect(try Self.seen(body)["one"] == "1")

        let field = "three%3D3%3B%20Path%3D/cookies%3B%20HttpOnly%3B%20Max-Age%3D60"
        _ = try await session.data(for: try request("/response-headers?Set-Cookie=\(field)"))
        (body, _) = try await session.data(for: try request("/cookies"))
        #expect(try Self.seen(body).keys.sorted() == ["one", "three", "two"])
        let three = try #require(try await storage.cookies().first { $0.name == "three" })
        #expect(three.isHTTPOnly && three.isHostOnly && !three.isSessionOnly && three.path == "/cookies")
        (body, _) = try await session.data(for: try request("/anything"))
        #expect(!String(decoding: body, as: UTF8.self).contains("three="))

        (body, _) = try await session.data(for: try request("/cookies/delete?one"))
        #expect(try Self.seen(body).keys.sorted() == ["three", "two"])

        var plain = try request("/cookies")
        plain.headerFields[.cookie] = "two=mine"
        (body, _) = try await session.data(for: plain)
        #expect(try Self.seen(body) == ["two": "mine", "three": "3"])
        plain.httpShouldHandleCookies = false
        (body, _) = try await session.data(for: plain)
        #expect(try Self.seen(body) == ["two": "mine"])

        // Another session knows nothing of it.
        (body, _) = try await Session(configuration: .ephemeral).data(for: try request("/cookies"))
        #expect(try Self.seen(body) == [:])
    }

    // Proves: COK-3, FN-40.
    @Test(.enabled(if: LoopbackServer.installed("nginx") != nil), arguments: [HTTPVersionPolicy.http1, .http2])
    func `cookies work the same over HTTP/2, where names are in lower case`(_ version: HTTPVersionPolicy) async throws {
        let directory = try TemporaryDirectory()
        let port = try LoopbackServer.freePort()
        let protocols = version == .http2 ? " http2" : ""
        try directory.write(
            """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 64; }
            http {
                access_log off; default_type text/plain;
                client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp;
                scgi_temp_path tmp;
                server {
                    listen 127.0.0.1:\(port)\(protocols);
                    location / {
                        add_header Set-Cookie "a=1, x; Path=/";
                        add_header Set-Cookie "b=2";
                        return 200 "[$http_cookie]";
                    }
                }
            }
            """, to: "nginx.conf")
        let nginx = try #require(LoopbackServer.installed("nginx"))
        let server = try await LoopbackServer(
            in: directory, port: port, log: "error.log", [nginx, "-p", directory.path, "-c", "nginx.conf"])
        var configuration = SessionConfiguration()
        configuration.httpVersion = version
        let request = Request(url: try URLRecord("http://127.0.0.1:\(server.port)/d/"))
        // Two sessions that share the storage: libcurl 7.88 cannot use a cleartext HTTP/2 connection twice.
        let (first, response) = try await Session(configuration: configuration).data(for: request)
        let (second, _) = try await Session(configuration: configuration).data(for: request)
        #expect(response.httpVersion == (version == .http2 ? "h2" : "http/1.1"))
        #expect(String(decoding: first, as: UTF8.self) == "[]")
        #expect(String(decoding: second, as: UTF8.self) == "[b=2; a=1, x]")
    }
}
