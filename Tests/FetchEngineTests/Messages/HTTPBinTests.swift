import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Requests and responses against httpbin, a server that reports the requests as it has read them.
@Suite(.enabled(if: LoopbackServer.python("gunicorn") != nil, "httpbin is in the Python environment of `make test`"))
struct HTTPBinTests {
    /// The request as httpbin's `/anything` and `/post` describe it.
    private struct Echo: Decodable {
        let method: String?
        let args: [String: String]
        let form: [String: String]
        let files: [String: String]
        let headers: [String: String]
        let data: String
    }

    private func echo(_ request: Request) async throws -> Echo {
        let (body, _) = try await Session().data(for: request)
        return try JSONDecoder().decode(Echo.self, from: Data(body))
    }

    private func url(_ path: String, at server: LoopbackServer) throws -> URLRecord {
        try URLRecord("http://127.0.0.1:\(server.port)\(path)")
    }

    // Proves: ENC-2, ENC-3, ENC-4.
    @Test func `values arrive as they were, whatever they contain`() async throws {
        let server = try await LoopbackServer.httpbin()
        let base = try url("/anything", at: server)
        let reserved = ":/?#[]@!$&'()*+,;=% \"<>\\^`{|}~é€"
        let echo = try await echo(
            Request(url: base.replacingQuery(with: [QueryItem("q", reserved), QueryItem("x&admin", "y&admin=1")])))
        #expect(echo.args == ["q": reserved, "x&admin": "y&admin=1"])
    }

    // Proves: ENC-5, CON-13.
    @Test func `a form arrives with its fields`() async throws {
        let server = try await LoopbackServer.httpbin()
        var request = Request(url: try url("/post", at: server), method: .post)
        request.setForm([QueryItem("name", "Ada & Co"), QueryItem("note", "a=b+c\r\né")])
        let echo = try await echo(request)
        #expect(echo.form == ["name": "Ada & Co", "note": "a=b+c\r\né"])
        #expect(echo.data == "")
    }

    // Proves: BEY-29.
    @Test func `a form with files arrives with both`() async throws {
        let server = try await LoopbackServer.httpbin()
        let file = try TemporaryFile(Array("file content".utf8))
        var form = MultipartForm()
        form.append("title", "Ünïcode \"quoted\"")
        form.append("file", file: file.path, filename: "né \"me.txt")
        var request = Request(url: try url("/post", at: server), method: .post)
        request.setForm(form)
        let echo = try await echo(request)
        #expect(echo.form == ["title": "Ünïcode \"quoted\""])
        #expect(echo.files == ["file": "file content"])
    }

    // Proves: URL-1, URL-3.
    @Test func `method, fields and body are the caller's`() async throws {
        let server = try await LoopbackServer.httpbin()
        var request = Request(url: try url("/anything", at: server), method: .put, body: .bytes(Array("hello".utf8)))
        request.headerFields[try #require(HTTPField.Name("X-Own"))] = "1"
        request.headerFields[.contentType] = "text/plain"
        let echo = try await echo(request)
        #expect(echo.method == "PUT")
        #expect(echo.data == "hello")
        #expect(echo.headers["X-Own"] == "1")
        #expect(echo.headers["Content-Length"] == "5")
    }

    // Proves: ERR-2.
    @Test(arguments: [400, 404, 418, 500, 503])
    func `a failure of the server is an answer`(_ status: Int) async throws {
        let server = try await LoopbackServer.httpbin()
        let (_, response) = try await Session().data(for: Request(url: try url("/status/\(status)", at: server)))
        #expect(response.status.code == status)
    }

    // Proves: RSP-2, RSP-5, RED-14.
    @Test func `a chunked answer has no length, and the URL is the last one`() async throws {
        let server = try await LoopbackServer.httpbin()
        let task = Session().dataTask(with: Request(url: try url("/redirect-to?url=/stream/3", at: server)))
        let (body, response) = try await task.data()
        #expect(response.expectedContentLength == nil)
        #expect(response.mimeType == "application/json")
        #expect(response.url.path == "/stream/3")
        #expect(body.split(separator: 0x0A).count == 3)
    }

    // Proves: URL-5.
    @Test func `an answer that drips is not idle`() async throws {
        let server = try await LoopbackServer.httpbin()
        var request = Request(url: try url("/drip?duration=3&numbytes=5&code=200&delay=0", at: server))
        request.timeoutInterval = .seconds(2)
        #expect(try await Session().data(for: request).0.count == 5)
        request.timeoutInterval = .milliseconds(100)
        await expect(.timedOut) { try await Session().data(for: request) }
    }
}
