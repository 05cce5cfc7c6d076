import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Forms with files.
@Suite struct MultipartFormTests {
    private func text(of form: MultipartForm) async throws -> String {
        String(decoding: try await form.body.content(upTo: 1_000_000), as: UTF8.self)
    }

    // Proves: BEY-29.
    @Test func `parts stand between boundaries with their names and types`() async throws {
        let file = try TemporaryFile(Array("<p>".utf8))
        var form = MultipartForm(boundary: "xyz")
        form.append("title", "Ada & Co\r\n--xy")
        form.append("note", content: Array("{}".utf8), filename: "a.json")
        form.append("page", file: file.path, filename: "p.html", contentType: "text/html;charset=utf-8")
        #expect(form.contentType == "multipart/form-data; boundary=xyz")
        #expect(
            try await text(of: form) == """
                --xyz\r
                Content-Disposition: form-data; name="title"\r
                \r
                Ada & Co\r
                --xy\r
                --xyz\r
                Content-Disposition: form-data; name="note"; filename="a.json"\r
                Content-Type: application/json\r
                \r
                {}\r
                --xyz\r
                Content-Disposition: form-data; name="page"; filename="p.html"\r
                Content-Type: text/html;charset=utf-8\r
                \r
                <p>\r
                --xyz--\r

                """)
    }

    // Proves: BEY-29.
    @Test func `names cannot break out of their quotes, types not out of their line`() async throws {
        var form = MultipartForm(boundary: "b")
        form.append("a\"\r\nX: y", content: [], filename: "é\".bin", contentType: "text/plain\r\nX: y")
        let text = try await text(of: form)
        #expect(text.contains("name=\"a%22%0D%0AX: y\"; filename=\"é%22.bin\"\r\nContent-Type: text/plainX: y\r\n\r\n"))
    }

    @Test func `an empty form is its closing boundary, and boundaries differ`() async throws {
        #expect(try await text(of: MultipartForm(boundary: "b")) == "--b--\r\n")
        #expect(MultipartForm().boundary != MultipartForm().boundary)
        #expect(MultipartForm(boundary: "a b").boundary != "a b")
        #expect(MultipartForm(boundary: "").boundary.count > 20)
    }

    // Proves: UPL-11, BEY-29.
    @Test func `a form is sent with its length, file included, and again after a redirect`() async throws {
        let file = try TemporaryFile(pattern(300_000))
        var form = MultipartForm(boundary: "b")
        form.append("before", "1")
        form.append("file", file: file.path, filename: "f")
        form.append("after", "2")
        let content = try await form.body.content(upTo: 1_000_000)
        let received = Received()
        let origin = try WireOrigin { connection in
            for answer in [
                "HTTP/1.1 307 Again\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            ] {
                let head = try connection.receiveHead() ?? ""
                #expect(head.contains("Content-Length: \(content.count)\r\n"))
                #expect(head.contains("Content-Type: multipart/form-data; boundary=b\r\n"))
                received.append(try connection.receive(content.count))
                try connection.send(answer)
            }
        }
        var request = Request(url: try URLRecord(origin.url("/a")), method: .post)
        request.setForm(form)
        let task = Session().dataTask(with: request)
        #expect(task.countOfBytesExpectedToSend == Int64(content.count))
        #expect(try await task.data().0 == Array("hi".utf8))
        #expect(received.all == [content, content])
    }

    @Test func `a file of a form that is missing fails the load before it starts`() async throws {
        var form = MultipartForm()
        form.append("file", file: "/tmp/no-such-file")
        var request = Request(url: try URLRecord("http://127.0.0.1:9/"), method: .post)
        request.setForm(form)
        await expect(.fileDoesNotExist) { try await Session().data(for: request) }
    }
}

/// The pieces that an origin has received.
private final class Received: Sendable {
    private let pieces = Mutex<[[UInt8]]>([])

    var all: [[UInt8]] { pieces.withLock { $0 } }

    func append(_ piece: [UInt8]) { pieces.withLock { $0.append(piece) } }
}
