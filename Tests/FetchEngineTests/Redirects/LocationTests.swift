import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// The target of a Location, as the request that then leaves.
@Suite struct LocationTests {
    // Proves: RED-10, FN-44.
    @Test(arguments: [
        ("next", "/a/b/next"), ("../up", "/a/up"), ("../../../top", "/top"), ("?q=1", "/a/b/start?q=1"),
        ("/x%2Fy%20z", "/x%2Fy%20z"), ("./%2e%2e/c", "/a/c"), ("", "/a/b/start?old=1"), ("#f", "/a/b/start?old=1"),
        ("/caf\u{E9}?\u{E9}", "/caf%C3%A9?%C3%A9"), ("/a b", "/a%20b"), ("n;p=1?q#f", "/a/b/n;p=1?q"),
    ])
    func `a relative location is resolved as RFC 3986 says, escapes kept`(
        _ location: String, _ target: String
    ) async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url("/a/b/start?old=1#frag"))))
        let (body, response) = try await task.data()
        #expect(String(decoding: body, as: UTF8.self) == "hi")
        #expect(
            origin.received().split(separator: "\r\n").filter { $0.hasPrefix("GET ") }.last == "GET \(target) HTTP/1.1")
        // A fragment is inherited unless the location has one, and never sent.
        let fragment = location.split(separator: "#").count > 1 || location.hasPrefix("#") ? "f" : "frag"
        #expect(task.currentRequest.url.fragment == fragment)
        #expect(response.url.path == target.prefix { $0 != "?" })
    }

    // A server of another age finds its own bytes again.
    // Proves: RED-10.
    @Test func `bytes of a location that are not UTF-8 go on byte for byte`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            let location = Array("/M".utf8) + [0xFC] + Array("nchen?".utf8) + [0xE4, 0x41, 0xFF]
            try connection.send(
                Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ".utf8) + location + Array("\r\n\r\n".utf8))
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let (_, response) = try await Session().data(for: Request(url: try URLRecord(origin.url())))
        #expect(response.url.description == origin.url("/M%FCnchen?%E4A%FF"))
        #expect(origin.received().contains("GET /M%FCnchen?%E4A%FF HTTP/1.1"))
    }
}
