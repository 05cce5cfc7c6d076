import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// Downloads from nginx and Apache httpd.
@Suite(.timeLimit(.minutes(2))) struct RealServerDownloadTests {
    enum Server: String, CaseIterable, Sendable {
        case nginx, httpd

        var isInstalled: Bool { (self == .nginx ? LoopbackServer.nginx : LoopbackServer.httpd) != nil }

        /// Serves two mebibytes a second, so that a download can be stopped in its middle.
        func start(in directory: TemporaryDirectory) async throws -> LoopbackServer {
            switch self {
            case .nginx: try await .nginx(in: directory, "limit_rate 2m;")
            case .httpd:
                try await .httpd(
                    in: directory, modules: ["env", "ratelimit"],
                    "<Location />\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 2048\n</Location>")
            }
        }
    }

    static let installed = Server.allCases.filter(\.isInstalled)

    /// Makes a file an hour old: httpd does not vouch for one that was just written.
    private static func age(_ path: String) throws {
        let date = Date(timeIntervalSinceNow: -3600)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }

    /// Stops a download at its first bytes, and gives its resume data.
    private func stopped(_ url: String, in directory: TemporaryDirectory) async throws -> ResumeData {
        var options = DownloadOptions()
        options.temporaryDirectory = directory.path
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let watcher = FirstWrite { continuation.yield() }
        let task = Session().downloadTask(with: try Request(url), options: options, delegate: watcher)
        async let end: Void = task.run()
        for await _ in stream { break }
        let data = await task.cancelProducingResumeData()
        await end
        return try #require(data)
    }

    // Proves: DLD-12, DLD-14, DLD-16, LIF-5.
    @Test(arguments: installed) func `a download that was stopped goes on and has the same digest`(
        server: Server
    ) async throws {
        let directory = try TemporaryDirectory()
        let content = pattern(3_000_000)
        let running = try await server.start(in: directory)
        try Self.age(try directory.write(content, to: "root/file.bin"))
        let url = "http://127.0.0.1:\(running.port)/file.bin"
        let downloads = try TemporaryDirectory()
        let data = try ResumeData(bytes: try await stopped(url, in: downloads).bytes)
        #expect(data.byteCount > 0 && data.byteCount < 3_000_000 && data.totalCount == 3_000_000)
        let log = DownloadLog()
        let file = try await Session().download(resumeFrom: data, delegate: log)
        #expect(
            log.events.prefix(3) == [
                "response 206", "destination for file.bin", "resumed \(data.byteCount) 3000000",
            ])
        #expect(file.byteCount == 3_000_000)
        let found = try Data(contentsOf: URL(filePath: file.path))
        #expect(hexDigest(Array(found)) == hexDigest(content))
    }

    // Proves: DLD-14.
    @Test(arguments: installed) func `a file that changed in between is loaded whole`(server: Server) async throws {
        let directory = try TemporaryDirectory()
        let running = try await server.start(in: directory)
        try Self.age(try directory.write(pattern(3_000_000), to: "root/file.bin"))
        let url = "http://127.0.0.1:\(running.port)/file.bin"
        let downloads = try TemporaryDirectory()
        let data = try await stopped(url, in: downloads)
        try directory.write(Array("new".utf8), to: "root/file.bin")
        let log = DownloadLog()
        let file = try await Session().download(resumeFrom: data, delegate: log)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "new")
        #expect(log.events.first == "response 200")
        #expect(!log.events.contains { $0.hasPrefix("resumed") })
        #expect(try downloads.names() == [])
    }

    // Proves: DLD-14, TSK-10.
    @Test(arguments: FTPServerKind.allCases.filter { $0.path != nil })
    func `a download by FTP goes on, and starts over when the file has changed`(kind: FTPServerKind) async throws {
        let content = pattern(8_000_000)
        let server = try await LoopbackServer.ftp(kind, files: ["file.bin": content])
        try Self.age(server.directory.file("files/file.bin"))
        let user = "\(kind.user):secret@"
        let url = "ftp://\(user)127.0.0.1:\(server.port)/file.bin"
        for changes in [false, true] {
            let downloads = try TemporaryDirectory()
            let data = try await stopped(url, in: downloads)
            #expect(data.byteCount < 8_000_000 && data.totalCount == 8_000_000)
            if changes { try server.directory.write(Array(content.reversed()), to: "files/file.bin") }
            let log = DownloadLog()
            let file = try await Session().downloadTask(
                withResumeData: data, request: Request(url), delegate: log
            ).result()
            let expected = changes ? content.reversed() : content
            #expect(hexDigest(Array(try Data(contentsOf: URL(filePath: file.path)))) == hexDigest(expected))
            #expect(log.events.contains { $0.hasPrefix("resumed") } == !changes)
        }
    }

    // Proves: DLD-4, RSP-3.
    @Test(.enabled(if: LoopbackServer.httpd != nil)) func `httpd's fields name the file`() async throws {
        let directory = try TemporaryDirectory()
        let field = "attachment; filename=a.txt; filename*=UTF-8''%%E2%%82%%AC.txt"
        let server = try await LoopbackServer.httpd(
            in: directory, "<Location /x>\nHeader set Content-Disposition \"\(field)\"\n</Location>")
        try directory.write("x", to: "root/x")
        try directory.write("y", to: "root/y.txt")
        for (path, name) in [("x", "€.txt"), ("y.txt", "y.txt")] {
            let file = try await Session().download(for: Request("http://127.0.0.1:\(server.port)/\(path)"))
            #expect(file.suggestedFilename == name)
        }
    }

    // Proves: MPR-5.
    @Test(.enabled(if: LoopbackServer.httpd != nil)) func `the ranges of httpd come as one body`() async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.httpd(in: directory)
        try directory.write("0123456789", to: "root/x")
        var request = try Request("http://127.0.0.1:\(server.port)/x")
        request.headerFields[.range] = "bytes=0-1,5-6"
        let (body, response) = try await Session().data(for: request)
        #expect(response.status.code == 206 && response.mimeType == "multipart/byteranges")
        #expect(String(decoding: body, as: UTF8.self).contains("bytes 5-6/10"))
    }

    // Proves: MPR-1.
    @Test(.enabled(if: LoopbackServer.httpd != nil)) func `a CGI of httpd sends parts that replace one another`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.httpd(
            in: directory, modules: ["cgi"],
            "<Location /nph-parts>\nSetHandler cgi-script\nOptions +ExecCGI\n</Location>"
        )
        try directory.write(
            """
            #!/bin/sh
            printf 'HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n'
            printf 'Content-Type: multipart/x-mixed-replace; boundary="a b"\\r\\n\\r\\n'
            printf -- '--a b\\r\\nContent-Type: text/plain\\r\\n\\r\\none\\r\\n'
            printf -- '--a b\\r\\nContent-Type: image/jpeg\\r\\nContent-Length: 3\\r\\n\\r\\ntwo\\r\\n--a b--\\r\\n'

            """, to: "root/nph-parts", mode: 0o755)
        let log = DownloadLog()
        await Session().dataTask(
            with: try Request("http://127.0.0.1:\(server.port)/nph-parts"), delegate: log
        ).run()
        #expect(
            log.events == ["response 200", "response 200", "data", "response 200", "data", "metrics", "complete well"])
    }

    // Proves: DCD-1, DCD-2, DCD-6, DCD-8, DLD-5.
    @Test(arguments: ["gzip", "pigz"].filter { LoopbackServer.installed($0) != nil })
    func `what gzip and pigz compressed is decoded, and named by what is inside`(tool: String) async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.nginx(in: directory)
        let content = pattern(3_000_000)
        let path = try directory.write(content, to: "root/inner.tar")
        let program = try Program([try #require(LoopbackServer.installed(tool)), path])
        #expect(program.waitForEnd() == 0)
        try #require(rename(directory.file("root/inner.tar.gz"), directory.file("root/outer.gz")) == 0)
        let url = "http://127.0.0.1:\(server.port)/outer.gz"
        for decodes in [true, false] {
            var answers = DownloadLog.Answers()
            answers.decodes = decodes ? ["application/x-gzip"] : []
            let downloads = try TemporaryDirectory()
            answers.destination = DownloadDestination(path: downloads.file("d"))
            let log = DownloadLog(answers)
            let file = try await Session().download(for: Request(url), delegate: log)
            let name = decodes ? "inner.tar" : "outer.gz"
            #expect(
                log.events.prefix(4) == [
                    "response 200", "decode application/x-gzip", "destination for \(name)", "created d",
                ])
            #expect(file.decodedMediaType == (decodes ? "application/x-gzip" : nil))
            let expected = decodes ? content : directory.contents(of: "root/outer.gz")
            #expect(hexDigest(downloads.contents(of: "d")) == hexDigest(expected))
        }
    }

    // Proves: DCD-7, DCD-8.
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `a gzip file served with the coding gzip is decoded once`() async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.nginx(
            in: directory, "location / { add_header Content-Encoding gzip; types {} default_type application/gzip; }")
        let path = try directory.write(pattern(10_000), to: "root/x.tar")
        #expect(try Program([try #require(LoopbackServer.installed("gzip")), path]).waitForEnd() == 0)
        var options = DownloadOptions()
        options.decodedMediaTypes = ["application/gzip", "application/x-gzip"]
        let request = try Request("http://127.0.0.1:\(server.port)/x.tar.gz")
        let file = try await Session().download(for: request, options: options)
        #expect(file.suggestedFilename == "x.tar")
        #expect(file.decodedMediaType == nil)
        #expect(Array(try Data(contentsOf: URL(filePath: file.path))) == pattern(10_000))
    }

    // Proves: DCD-1, DCD-4, DCD-5, DCD-8, DLD-13, DLG-8.
    @Test(arguments: [("macbinary3.bin", "application/macbinary"), ("macutils.hqx", "application/binhex")])
    func `Macintosh files are decoded to their forks and names`(name: String, type: String) async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.nginx(in: directory)
        try directory.write(MacintoshDecoderTests.file(name), to: "root/\(name)")
        var options = DownloadOptions()
        options.decodedMediaTypes = [type]
        let file = try await Session().download(
            for: Request("http://127.0.0.1:\(server.port)/\(name)"), options: options)
        #expect(file.suggestedFilename == "Test File")
        #expect(
            Array(try Data(contentsOf: URL(filePath: file.path))) == (try MacintoshDecoderTests.file("expected.data")))
        #expect(file.attributes.resourceFork == (try MacintoshDecoderTests.file("expected.rsrc")))
        #expect(!DownloadTask.canResume(decodedWith: type))
    }

    // Proves: TSK-3, SES-25.
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `a large file is downloaded without being held in memory`() async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.nginx(in: directory)
        let path = try directory.write("", to: "root/large")
        let size: Int64 = 512 << 20
        try #require(truncate(path, off_t(size)) == 0)
        let watcher = MemoryWatcher()
        let task = Session().downloadTask(
            with: try Request("http://127.0.0.1:\(server.port)/large"), delegate: watcher)
        let file = try await task.result()
        #expect(file.byteCount == size)
        #expect(watcher.growth < 64 << 20)
    }

    // Proves: DLD-18, FN-2, REL-9.
    @Test(.enabled(if: geteuid() == 0, "only root may mount a small file system"))
    func `a full disk fails the download cleanly and leaves nothing`() async throws {
        let disk = try SmallDisk(bytes: 64 * 1024)
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.nginx(in: directory)
        try directory.write(pattern(1_000_000), to: "root/big")
        try directory.write(pattern(1_000), to: "root/small")
        let log = DownloadLog()
        let options = DownloadOptions(destination: DownloadDestination(path: disk.path + "/file"))
        let url = "http://127.0.0.1:\(server.port)/"
        await Session().downloadTask(with: try Request(url + "big"), options: options, delegate: log).run()
        #expect(log.events.suffix(2) == ["metrics", "complete cannotWriteToFile"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
        #expect(try await Session().download(for: Request(url + "small"), options: options).byteCount == 1_000)
    }
}

/// A file system of a few kilobytes.
private final class SmallDisk: Sendable {
    private let directory: TemporaryDirectory
    var path: String { directory.path }

    init(bytes: Int) throws {
        directory = try TemporaryDirectory()
        guard mount("none", directory.path, "tmpfs", 0, "size=\(bytes)") == 0 else {
            throw TemporaryDirectory.Failure(number: errno)
        }
    }

    deinit { umount2(directory.path, Int32(MNT_DETACH)) }
}

/// Looks at the process's memory at every write.
private final class MemoryWatcher: DownloadDelegate {
    private let start = residentBytes()
    private let most = Mutex(0)

    /// How much more memory there was than at the start.
    var growth: Int { most.withLock { $0 } - start }

    func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async {
        let now = residentBytes()
        most.withLock { $0 = max($0, now) }
    }
}

/// Tells when bytes have been written, and holds the download there until it is stopped.
struct FirstWrite: DownloadDelegate {
    let wrote: @Sendable () -> Void

    func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async {
        wrote()
        // The download waits for this call, so it is still in its middle when it is stopped.
        try? await until { task.state != .running }
    }
}
