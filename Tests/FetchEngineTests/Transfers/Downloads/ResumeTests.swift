import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// Downloads that stop and go on, byte for byte.
@Suite(.timeLimit(.minutes(1))) struct ResumeTests {
    /// Answers the first connection with a head and part of a body, and the next ones as told.
    private func origin(_ head: String, sends part: String, then answers: String...) throws -> WireOrigin {
        let count = Progress()
        return try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let number = count.add(1)
                guard number > 1 else {
                    try connection.send(head + "\r\n" + part)
                    return
                }
                try connection.send(answers[min(number - 2, answers.count - 1)])
            }
        }
    }

    private static let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n"

    private func interrupted(_ origin: WireOrigin, _ directory: TemporaryDirectory) async throws -> ResumeData {
        var options = DownloadOptions()
        options.temporaryDirectory = directory.path
        let error = await failure { try await Session().download(for: Request(origin.url("/f")), options: options) }
        #expect(error?.code == .networkConnectionLost)
        return try #require(error?.resumeData)
    }

    private func text(_ file: DownloadedFile) throws -> String {
        try String(contentsOfFile: file.path, encoding: .utf8)
    }

    // RFC 9110 §15.3.7.3: whatever fields the rest has, the file is the body of one response.
    @Test func `the answer of a file that came in parts is the whole's`() async throws {
        let first =
            "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Type: text/csv\r\nX: 1\r\n"
            + "Content-Disposition: attachment; filename=t.csv\r\nContent-Length: 10\r\n"
        let origin = try origin(
            first, sends: "hello",
            then: "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 5-9/10\r\n"
                + "Content-Type: application/octet-stream\r\nX: 2\r\nContent-Length: 5\r\n\r\nworld")
        let directory = try TemporaryDirectory()
        let data = try ResumeData(bytes: try await interrupted(origin, directory).bytes)
        let file = try await Session().download(resumeFrom: data)
        #expect(try text(file) == "helloworld")
        #expect(file.response.status == .ok && file.response.expectedContentLength == 10)
        #expect(file.response.mimeType == "text/csv" && file.suggestedFilename == "t.csv")
        let fields = file.response.headerFields
        #expect(fields[.contentRange] == nil && fields[.contentLength] == "10" && fields[HTTPField.Name("X")!] == "2")
    }

    @Test func `nobody is asked for the rest of a file of which nothing is missing`() async throws {
        let origin = try origin(Self.head, sends: "hello", then: "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        let directory = try TemporaryDirectory()
        var data = try await interrupted(origin, directory)
        try Data("helloworld".utf8).write(to: URL(filePath: data.path))
        data.byteCount = 10
        let file = try await Session().download(resumeFrom: data)
        #expect(try text(file) == "helloworld" && file.response.status == .ok)
        #expect(origin.connections.count == 1)
    }

    private static func digest(of text: String) -> ExpectedDigest? {
        ExpectedDigest(.sha256, ContentDigest.sha256.digest(of: text.utf8))
    }

    // The digest of the caller, or of the server.
    @Test(arguments: [true, false])
    func `nobody is asked for the rest of a file of unknown length that has its digest`(_ isCallers: Bool) async throws
    {
        let digest = try #require(Self.digest(of: "helloworld"))
        let origin = try origin(
            "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n"
                + (isCallers ? "" : "Repr-Digest: \(digest)\r\n"),
            sends: "5\r\nhello\r\n", then: "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        let directory = try TemporaryDirectory()
        var options = DownloadOptions()
        if isCallers { options.expectedDigest = digest }
        var data = try await interrupted(origin, directory)
        #expect(data.totalCount == nil)
        try Data("helloworld".utf8).write(to: URL(filePath: data.path))
        data.byteCount = 10
        let stored = try ResumeData(bytes: data.bytes)
        let file = try await Session().download(resumeFrom: stored, options: options)
        #expect(try text(file) == "helloworld" && file.response.expectedContentLength == 10)
        #expect(origin.connections.count == 1)
    }

    // The file of the second hop would have the digest.
    @Test func `an earlier file is read for its digest once, however many hops there are`() async throws {
        let directory = try TemporaryDirectory()
        let path = Mutex<String?>(nil)
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if !head.contains("Range:") {
                    return try connection.send(
                        "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
                } else if head.hasPrefix("GET /f ") {
                    try Data("world".utf8).write(to: URL(filePath: try #require(path.withLock { $0 })))
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /g\r\nContent-Length: 0\r\n\r\n")
                } else {
                    try connection.send("HTTP/1.1 200 OK\r\nETag: \"v2\"\r\nContent-Length: 5\r\n\r\nworld")
                }
            }
        }
        let data = try await interrupted(origin, directory)
        path.withLock { $0 = data.path }
        var options = DownloadOptions()
        options.expectedDigest = Self.digest(of: "world")
        let file = try await Session().download(resumeFrom: data, options: options)
        #expect(try text(file) == "world" && file.response.headerFields[.eTag] == "\"v2\"")
        #expect(origin.received(on: 1).contains("GET /g "))
    }

    @Test func `a file of unknown length without its digest is asked for`() async throws {
        let origin = try origin(
            "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n", sends: "5\r\nhello\r\n",
            then: "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 5-9/10\r\n"
                + "Content-Length: 5\r\n\r\nworld")
        let directory = try TemporaryDirectory()
        var options = DownloadOptions()
        options.expectedDigest = Self.digest(of: "helloworld")
        options.hashesFile = true
        let file = try await Session().download(resumeFrom: try await interrupted(origin, directory), options: options)
        #expect(try text(file) == "helloworld" && file.sha256 == nil)
        #expect(origin.connections.count == 2)
    }

    // Proves: DLD-12, DLD-14, DLD-15, LIF-5, LIF-15, TSK-10, FN-14.
    @Test func `a cut download carries resume data, and another task goes on with it`() async throws {
        let origin = try origin(
            Self.head, sends: "hello",
            then: "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 5-9/10\r\n"
                + "Content-Length: 5\r\n\r\nworld")
        let directory = try TemporaryDirectory()
        let data = try ResumeData(bytes: try await interrupted(origin, directory).bytes)
        let log = DownloadLog()
        let destination = DownloadDestination(path: directory.file("done"))
        let task = Session().downloadTask(
            withResumeData: data, options: DownloadOptions(destination: destination), delegate: log)
        await task.run()
        #expect(
            log.events == [
                "response 206", "resumed 5 10", "created done", "wrote 5 10 10", "finished 10", "metrics",
                "complete well",
            ])
        #expect(directory.text(of: "done") == "helloworld")
        #expect(try directory.names() == ["done"])
        let request = origin.received(on: 1)
        #expect(request.contains("Range: bytes=5-\r\nIf-Range: \"v1\"\r\nAccept-Encoding: identity\r\n"))
    }

    // Proves: DLD-14, LIF-5.
    @Test func `a resource that changed is loaded from its beginning, in the same answer`() async throws {
        let origin = try origin(
            Self.head, sends: "hello", then: "HTTP/1.1 200 OK\r\nETag: \"v2\"\r\nContent-Length: 4\r\n\r\nnext")
        let directory = try TemporaryDirectory()
        let data = try await interrupted(origin, directory)
        let log = DownloadLog()
        let file = try await Session().download(resumeFrom: data, delegate: log)
        #expect(try text(file) == "next")
        #expect(!log.events.contains { $0.hasPrefix("resumed") })
        #expect(try directory.names() == [])
    }

    // Proves: DLD-14.
    @Test(arguments: [
        "206 Partial Content\r\nETag: \"v2\"\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\nWORLD",
        "206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\nOWORLD",
        "206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 5-9/11\r\nContent-Length: 5\r\n\r\nWORLD",
        "206 Partial Content\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\nWORLD",
        "412 Precondition Failed\r\nContent-Length: 2\r\n\r\nno",
        "416 Range Not Satisfiable\r\nContent-Range: bytes */4\r\nContent-Length: 2\r\n\r\nno",
    ])
    func `an answer that does not fit makes the task ask once more, for the whole`(answer: String) async throws {
        let origin = try origin(
            Self.head, sends: "hello", then: "HTTP/1.1 \(answer)",
            "HTTP/1.1 200 OK\r\nETag: \"v2\"\r\nContent-Length: 5\r\n\r\nwhole")
        let directory = try TemporaryDirectory()
        let file = try await Session().download(resumeFrom: try await interrupted(origin, directory))
        #expect(try text(file) == "whole")
        #expect(try directory.names() == [])
        let requests = (1..<origin.connections.count).map { origin.received(on: $0) }.joined()
        #expect(requests.components(separatedBy: "GET /f ").count == 3)
        #expect(requests.components(separatedBy: "\r\nRange: ").count == 2)
    }

    // Proves: DLD-14.
    @Test func `a file that is whole already is not loaded again`() async throws {
        let origin = try origin(
            "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n", sends: "hello",
            then: "HTTP/1.1 416 Range Not Satisfiable\r\nETag: \"v1\"\r\nContent-Range: bytes */10\r\n"
                + "Content-Length: 2\r\n\r\nno")
        let directory = try TemporaryDirectory()
        var data = try await interrupted(origin, directory)
        let path = directory.file("whole")
        try directory.write("helloworld", to: "whole")
        data.path = path
        data.byteCount = 10
        let file = try await Session().download(resumeFrom: data)
        #expect(try text(file) == "helloworld")
    }

    // Proves: DLD-14.
    @Test func `a partial file that is gone or too short starts from the beginning`() async throws {
        let origin = try origin(Self.head, sends: "hello", then: Self.head + "\r\n0123456789")
        let directory = try TemporaryDirectory()
        var data = try await interrupted(origin, directory)
        data.byteCount = 6
        let file = try await Session().download(resumeFrom: data)
        #expect(try text(file) == "0123456789")
        #expect(!origin.received(on: 1).contains("Range"))
    }

    // Proves: DLD-14, LIF-2.
    @Test func `cancelling with resume data keeps what has come, plain cancelling does not`() async throws {
        for produces in [true, false] {
            let gate = Gate()
            let origin = try WireOrigin { connection in
                try connection.receiveHead()
                try connection.send(Self.head + "\r\nhello")
                try gate.wait()
            }
            let directory = try TemporaryDirectory()
            var options = DownloadOptions()
            options.temporaryDirectory = directory.path
            let session = Session()
            let stream = AsyncStream<Void>.makeStream()
            let watcher = WriteWatcher { stream.continuation.yield() }
            let task = session.downloadTask(with: try Request(origin.url()), options: options, delegate: watcher)
            async let end: Void = task.run()
            for await _ in stream.stream { break }
            let data = produces ? await task.cancelProducingResumeData() : nil
            task.cancel()
            await end
            #expect(task.error?.code == .cancelled)
            #expect(task.error?.resumeData == data)
            #expect(data?.byteCount == (produces ? 5 : nil))
            #expect(try directory.names().count == (produces ? 1 : 0))
            gate.open()
        }
    }

    // Proves: DLD-13, DLD-14.
    @Test(arguments: [
        "ETag: W/\"v1\"\r\n", "", "ETag: \"v1\"\r\nAccept-Ranges: none\r\n", "Last-Modified: yesterday\r\n",
    ])
    func `a download without a strong validator leaves no resume data and no file`(fields: String) async throws {
        let origin = try origin("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10\r\n", sends: "hello", then: "")
        let directory = try TemporaryDirectory()
        var options = DownloadOptions()
        options.temporaryDirectory = directory.path
        let error = await failure { try await Session().download(for: Request(origin.url()), options: options) }
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.resumeData == nil)
        #expect(try directory.names() == [])
    }

    // Proves: DLD-14.
    @Test func `a request for something else does not go on with the file`() async throws {
        let origin = try origin(Self.head, sends: "hello", then: Self.head + "\r\n0123456789")
        let directory = try TemporaryDirectory()
        let data = try await interrupted(origin, directory)
        var request = try Request(origin.url("/f"))
        request.headerFields[.acceptLanguage] = "de"
        let file = try await Session().downloadTask(withResumeData: data, request: request).result()
        #expect(try text(file) == "0123456789")
        #expect(!origin.received(on: 1).contains("Range"))
    }

    // Proves: DLD-14.
    @Test func `a failure before the answer leaves the resume data as they were`() async throws {
        let origin = try origin(Self.head, sends: "hello", then: "")
        let directory = try TemporaryDirectory()
        var data = try await interrupted(origin, directory)
        data.url = try URLRecord("http://127.0.0.1:1/f")
        let error = await failure { try await Session().download(resumeFrom: data) }
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.resumeData == data)
        #expect(try directory.names().count == 1)
    }
}

/// Tells when bytes have been written.
private struct WriteWatcher: DownloadDelegate {
    let wrote: @Sendable () -> Void

    func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async { wrote() }
}
