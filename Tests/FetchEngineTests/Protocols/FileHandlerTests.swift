import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// The files below the root, and the paths that `file:` URLs may and may not reach.
@Suite struct FileHandlerTests {
    /// A folder with a root in it, and things inside and outside of that root.
    final class Tree: Sendable {
        let path: String
        var root: String { path + "/root" }

        init() throws {
            var template = Array("/tmp/fetchd-tree-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            for folder in ["root", "root/folder", "root2", "outside"] { mkdir("\(path)/\(folder)", 0o755) }
            for (name, text) in [
                ("root/a.txt", "hello"), ("root/empty", ""), ("root/folder/b.html", "<p>"), ("root/a b%c.json", "{}"),
                ("root/é", "é"), ("root2/c", "c"), ("outside/secret", "secret"),
            ] {
                try Self.write(text, to: "\(path)/\(name)")
            }
            for (target, name) in [
                ("../outside/secret", "root/link"), ("../outside", "root/linkedFolder"), ("a.txt", "root/inside"),
            ] {
                symlink(target, "\(path)/\(name)")
            }
            mkfifo("\(path)/root/fifo", 0o644)
        }

        deinit {
            for name in [
                "root/a.txt", "root/empty", "root/folder/b.html", "root/a b%c.json", "root/é", "root2/c",
                "outside/secret", "root/link", "root/linkedFolder", "root/inside", "root/fifo",
            ] {
                unlink("\(path)/\(name)")
            }
            for folder in ["root/folder", "root", "root2", "outside", ""] { rmdir("\(path)/\(folder)") }
        }

        private static func write(_ text: String, to path: String) throws {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            let bytes = Array(text.utf8)
            #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        }
    }

    private func load(
        _ path: String, in tree: Tree, method: HTTPRequest.Method = .get, range: String? = nil
    ) async throws -> RecordingClient.Record {
        let handler = FileHandler(roots: [try #require(FileRoot(tree.root))])
        var request = Request(url: try URLRecord("file://" + tree.path + path), method: method)
        request.headerFields[.range] = range
        let client = RecordingClient()
        try await handler.load(request, client: client)
        return client.record
    }

    // Proves: NET-3.
    @Test(arguments: [
        ("/root/a.txt", "hello", "text/plain"), ("/root/folder/b.html", "<p>", "text/html"),
        ("/root/a%20b%25c.json", "{}", "application/json"), ("/root/empty", "", "application/octet-stream"),
        ("/root/%C3%A9", "é", "application/octet-stream"), ("/root//a.txt", "hello", "text/plain"),
        ("/root/folder/../a.txt", "hello", "text/plain"),
    ])
    func `a file below the root is served with the type its extension says`(
        _ path: String, _ text: String, _ type: String
    ) async throws {
        let record = try await load(path, in: try Tree())
        #expect(String(decoding: record.body, as: UTF8.self) == text)
        #expect(record.response?.mimeType == type)
        #expect(record.response?.expectedContentLength == Int64(text.utf8.count))
        #expect(record.response?.status == .ok)
    }

    // Proves: NET-3.
    @Test(arguments: [
        ("/root/missing", LoadError.Code.fileDoesNotExist), ("/root/a.txt/b", .fileDoesNotExist),
        ("/root/a.txt/", .fileDoesNotExist), ("/root", .fileIsDirectory), ("/root/", .fileIsDirectory),
        ("/root/folder", .fileIsDirectory), ("/root/folder/", .fileIsDirectory),
        ("/root/link", .noPermissionsToReadFile), ("/root/inside", .noPermissionsToReadFile),
        ("/root/fifo", .noPermissionsToReadFile), ("/outside/secret", .noPermissionsToReadFile),
        ("/root/../outside/secret", .noPermissionsToReadFile),
        ("/root/%2e%2e/outside/secret", .noPermissionsToReadFile),
        ("/root2/c", .noPermissionsToReadFile), ("/root/..%2Foutside%2Fsecret", .badURL),
        ("/root/folder%2Fb.html", .badURL), ("/root/a.txt%00.html", .badURL),
    ])
    func `what is no file below the root is refused with its code`(_ path: String, _ code: LoadError.Code) async throws
    {
        let tree = try Tree()
        await expect(code) { try await load(path, in: tree) }
    }

    // A link as a folder is no folder: files behind it do not exist.
    // Proves: NET-3.
    @Test func `nothing behind a linked folder is reached`() async throws {
        let tree = try Tree()
        await expect(.fileDoesNotExist) { try await load("/root/linkedFolder/secret", in: tree) }
    }

    @Test func `a name of 300 bytes does not exist`() async throws {
        let tree = try Tree()
        await expect(.fileDoesNotExist) { try await load("/root/" + String(repeating: "x", count: 300), in: tree) }
    }

    // Proves: NET-3.
    @Test(arguments: [
        ("bytes=1-3", 206, "ell", "bytes 1-3/5"), ("bytes=3-", 206, "lo", "bytes 3-4/5"),
        ("bytes=-2", 206, "lo", "bytes 3-4/5"), ("bytes=-9", 206, "hello", "bytes 0-4/5"),
        ("bytes=0-99", 206, "hello", "bytes 0-4/5"), ("bytes=5-", 416, "", "bytes */5"),
        ("bytes=-0", 416, "", "bytes */5"), ("bytes=3-1", 200, "hello", nil), ("bytes=0-1,3-4", 200, "hello", nil),
        ("lines=0-1", 200, "hello", nil), ("bytes=a-b", 200, "hello", nil),
    ])
    func `a range is served as a server would`(
        _ range: String, _ status: Int, _ text: String, _ contentRange: String?
    ) async throws {
        let record = try await load("/root/a.txt", in: try Tree(), range: range)
        #expect(record.response?.status.code == status)
        #expect(record.response?.headerFields[.contentRange] == contentRange)
        #expect(record.response?.expectedContentLength == Int64(text.utf8.count))
        #expect(String(decoding: record.body, as: UTF8.self) == text)
    }

    @Test func `HEAD tells about the file and sends none of it`() async throws {
        let record = try await load("/root/a.txt", in: try Tree(), method: .head)
        #expect(record.response?.expectedContentLength == 5)
        #expect(record.events == ["response 200"])
    }

    // Proves: NET-3.
    @Test func `a host other than localhost is refused`() async throws {
        let tree = try Tree()
        let handler = FileHandler(roots: [try #require(FileRoot(tree.root))])
        for (host, code) in [("localhost", nil), ("other", LoadError.Code.badURL), ("127.0.0.1", .badURL)] {
            let request = Request(url: try URLRecord("file://\(host)\(tree.root)/a.txt"))
            guard let code else {
                try await handler.load(request, client: RecordingClient())
                continue
            }
            await expect(code) { try await handler.load(request, client: RecordingClient()) }
        }
    }

    @Test func `without a root no file URL is handled, and a relative root is none`() throws {
        #expect(FileRoot("relative") == nil)
        #expect(FileRoot("/a/../b") == nil)
        #expect(!FileHandler(roots: []).canHandle(Request(url: try URLRecord("file:///etc/hostname"))))
    }

    @Test func `a large file comes in blocks and stops when the load is over`() async throws {
        let file = try TemporaryFile(pattern(200_000))
        let handler = FileHandler(roots: [try #require(FileRoot("/tmp"))])
        let request = Request(url: try URLRecord("file://" + file.path))
        let client = RecordingClient()
        try await handler.load(request, client: client)
        #expect(client.record.body == pattern(200_000))
        #expect(client.record.events.count == 5)
        await expect(.cancelled) { try await handler.load(request, client: RecordingClient(limit: 3)) }
    }
}
