import FetchEngine
import HTTPTypes
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct FileUploadTests {
    private static let ok = "HTTP/1.1 204 No Content\r\n\r\n"

    // Proves: UPL-3, FN-54.
    @Test(arguments: [("a.json", "application/json"), ("a.b.TXT", "text/plain"), ("a", "application/octet-stream")])
    func `a file is sent with the type that its name tells`(name: String, type: String) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("{}", to: name)
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(2)
            try connection.send(Self.ok)
        }
        let request = Request(url: try URLRecord(origin.url()), method: .post)
        _ = try await Session().upload(for: request, from: .file(path: path))
        #expect(origin.received().contains("\r\nContent-Type: \(type)\r\n"))
        #expect(origin.received().contains("\r\nContent-Length: 2\r\n"))
    }

    // Proves: UPL-2, UPL-3.
    @Test func `the caller's type is kept, and for data none is invented`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("{}", to: "a.json")
        for body in [RequestBody.file(path: path), .bytes([1, 2])] {
            let origin = try WireOrigin { connection in
                try connection.receiveHead()
                try connection.receive(2)
                try connection.send(Self.ok)
            }
            var request = Request(url: try URLRecord(origin.url()), method: .post)
            if case .file = body { request.headerFields[.contentType] = "x/y" }
            _ = try await Session().upload(for: request, from: body)
            let types = origin.received().split(separator: "\r\n").filter { $0.hasPrefix("Content-Type") }
            #expect(types == (request.headerFields[.contentType] == nil ? [] : ["Content-Type: x/y"]))
        }
    }

    // Proves: UPL-3.
    @Test func `a file that changes while it is sent fails the load`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write([UInt8](repeating: 1, count: 4_000_000), to: "a.bin")
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(1)
            // The connection holds only part of it by now: nothing is taken until the file has changed.
            try directory.write([UInt8](repeating: 2, count: 4_000_001), to: "a.bin")
            try connection.receiveToEnd()
        }
        let request = Request(url: try URLRecord(origin.url()), method: .put)
        let error = await #expect(throws: LoadError.self) {
            try await Session().upload(for: request, from: .file(path: path))
        }
        #expect(error?.code == .noPermissionsToReadFile)
    }
}
