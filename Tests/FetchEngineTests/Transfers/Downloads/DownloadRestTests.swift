import Foundation
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// The files that downloads leave behind, also of processes that are gone.
@Suite(.timeLimit(.minutes(5))) struct DownloadRestTests {
    // Proves: DLD-1.
    @Test func `the first destination counts, and nobody is asked for a second`() async throws {
        let directory = try TemporaryDirectory()
        var answers = DownloadLog.Answers()
        answers.destination = DownloadDestination(path: directory.file("second"))
        let log = DownloadLog(answers)
        let options = DownloadOptions(destination: DownloadDestination(path: directory.file("first")))
        let task = Session().downloadTask(
            with: Request(url: try URLRecord("data:,hello")), options: options, delegate: log)
        await task.run()
        #expect(try directory.names() == ["first"])
        #expect(!log.events.contains { $0.hasPrefix("destination") } && log.events.contains("created first"))
    }

    // Proves: LIF-12.
    @Test func `ten thousand downloads leave the disk as it was`() async throws {
        let directory = try TemporaryDirectory()
        var options = DownloadOptions()
        options.temporaryDirectory = directory.path
        let request = Request(url: try URLRecord("data:,hello"))
        let session = Session()
        let seen = Count()
        for _ in 0..<100 {
            await withTaskGroup { group in
                for _ in 0..<100 {
                    group.addTask { [options] in
                        let task = session.downloadTask(with: request, options: options) { result in
                            guard case .success(let file) = result, FileSize.of(file.path) == 5 else { return }
                            seen.number.add(1, ordering: .relaxed)
                        }
                        await task.run()
                    }
                }
            }
        }
        #expect(seen.number.load(ordering: .relaxed) == 10_000)
        try await until { try directory.names().isEmpty }
    }

    // The resume data is all that the next process needs.
    // Proves: DLD-16.
    @Test func `a download goes on after its process was killed`() async throws {
        let content = pattern(3_000_000)
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let start = head.firstMatch(of: /Range: bytes=(\d+)-/).flatMap { Int($0.1) } ?? 0
                let status =
                    start == 0
                    ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes \(start)-2999999/3000000"
                try connection.send(
                    "HTTP/1.1 \(status)\r\nETag: \"a\"\r\nContent-Length: \(3_000_000 - start)\r\n\r\n")
                // The first one never gets the second half.
                try connection.send(Array(content[start..<(start == 0 ? 1_500_000 : 3_000_000)]))
                if start == 0 { try connection.receiveToEnd() }
            }
        }
        let directory = try TemporaryDirectory()
        let (url, path) = (origin.url(), directory.path)
        await #expect(processExitsWith: .signal(SIGKILL)) { [url = url as String, path = path as String] in
            try await DownloadRestTests.downloadAndDie(url, path)
        }
        let data = try ResumeData(bytes: directory.contents(of: "resume"))
        #expect(data.byteCount > 0 && data.byteCount <= 1_500_000)
        let file = try await Session().download(resumeFrom: data)
        #expect(file.byteCount == 3_000_000)
        #expect(hexDigest(Array(try Data(contentsOf: URL(filePath: file.path)))) == hexDigest(content))
        #expect(origin.received(on: 1).contains("\r\nIf-Range: \"a\"\r\n"))
    }

    /// Stops a download in its middle, stores its resume data, and ends the process.
    fileprivate static func downloadAndDie(_ url: String, _ path: String) async throws {
        var options = DownloadOptions()
        options.temporaryDirectory = path
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let watcher = FirstWrite { continuation.yield() }
        let task = Session().downloadTask(with: try Request(url), options: options, delegate: watcher)
        task.resume()
        for await _ in stream { break }
        guard let data = await task.cancelProducingResumeData() else { exit(2) }
        try Data(data.bytes).write(to: URL(filePath: path + "/resume"))
        kill(getpid(), SIGKILL)
    }
}

private final class Count: Sendable {
    let number = Atomic<Int>(0)
}
