import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

@Suite(.timeLimit(.minutes(1))) struct DownloadTaskTests {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"

    // Proves: LIF-12, LIF-10, DLD-6, DLD-7, FN-51, BKG-12.
    @Test func `a delegate gets the file in order, and the temporary file is gone afterwards`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        var options = DownloadOptions()
        options.temporaryDirectory = directory.path
        let log = DownloadLog()
        let task = Session().downloadTask(
            with: Request(url: try URLRecord(origin.url("/a/x.txt"))), options: options, delegate: log)
        await task.run()
        #expect(
            log.events == [
                "response 200", "destination for x.txt", "wrote 5 5 5", "finished 5", "metrics", "complete well",
            ])
        #expect(try directory.names() == [])
        #expect(task.state == .completed)
    }

    // Proves: LIF-12.
    @Test func `a file that the delegate moves stays`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        var answers = DownloadLog.Answers()
        answers.keepsAt = DownloadDestination(path: directory.file("kept"))
        await Session().downloadTask(
            with: Request(url: try URLRecord(origin.url())), delegate: DownloadLog(answers)
        ).run()
        #expect(directory.text(of: "kept") == "hello")
        #expect(try directory.names() == ["kept"])
    }

    // Proves: DLD-1, DLD-5, DLD-9, BEY-9, SES-25, DLG-8.
    @Test func `a fixed destination needs no delegate`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        let options = DownloadOptions(destination: DownloadDestination(path: directory.file("a.txt")))
        let request = Request(url: try URLRecord(origin.url()))
        for name in ["a.txt", "a-1.txt", "a-2.txt"] {
            let file = try await Session().download(for: request, options: options)
            #expect(file.path == directory.file(name))
            #expect(!file.isTemporary && file.byteCount == 5 && file.response.status.code == 200)
        }
        #expect(try directory.names() == ["a-1.txt", "a-2.txt", "a.txt"])
        #expect(directory.text(of: "a-2.txt") == "hello")
    }

    // Proves: DLD-3, DLD-4, DLD-5.
    @Test func `the delegate decides on the destination, and hears the name before any data`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"../n.txt\"\r\n"
                + "Content-Length: 5\r\n\r\nhello")
        let directory = try TemporaryDirectory()
        try directory.write("old", to: "n.txt")
        var answers = DownloadLog.Answers()
        answers.destination = DownloadDestination(path: directory.file("n.txt"))
        let log = DownloadLog(answers)
        await Session().downloadTask(with: Request(url: try URLRecord(origin.url())), delegate: log).run()
        #expect(
            log.events == [
                "response 200", "destination for n.txt", "created n-1.txt", "wrote 5 5 5", "finished 5", "metrics",
                "complete well",
            ])
        #expect(directory.text(of: "n.txt") == "old")
        #expect(directory.text(of: "n-1.txt") == "hello")
    }

    // Proves: ERR-2.
    @Test func `an answer that refuses, and an empty one, are files too`() async throws {
        for answer in ["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"] {
            let origin = try WireOrigin(playing: answer)
            let log = DownloadLog()
            let request = Request(url: try URLRecord(origin.url("/x")))
            await Session().downloadTask(with: request, delegate: log).run()
            #expect(log.events.dropFirst() == ["destination for x", "finished 0", "metrics", "complete well"])
            #expect(try await Session().download(for: request).byteCount == 0)
        }
    }

    // Proves: DLD-17.
    @Test func `a download can send a body`() async throws {
        let origin = try WireOrigin { connection in
            let head = try connection.receiveHead() ?? ""
            let body = try connection.receive(3)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\(head.prefix(5))")
            try connection.send(body)
        }
        let request = Request(url: try URLRecord(origin.url()), method: .post, body: .bytes(Array("abc".utf8)))
        let file = try await Session().download(for: request)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "POST abc")
    }

    // Proves: DLD-10, DLD-11.
    @Test(arguments: [nil, true, false] as [Bool?])
    func `a failed download to a destination leaves nothing unless it is told to keep its file`(
        deletes: Bool?
    ) async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\nhello")
        }
        let directory = try TemporaryDirectory()
        var options = DownloadOptions(destination: DownloadDestination(path: directory.file("a")))
        options.deletesFileUponFailure = deletes
        let error = await failure { try await Session().download(for: Request(origin.url()), options: options) }
        #expect(error?.code == .networkConnectionLost)
        if deletes == false {
            let data = try #require(error?.resumeData)
            #expect(data.byteCount == 5 && data.totalCount == 9 && data.validator == .entityTag("\"a\""))
            #expect(try directory.names().map { directory.text(of: $0) } == ["hello"])
            #expect(try directory.names().first?.hasSuffix(".part") == true)
        } else {
            #expect(error?.resumeData == nil)
            #expect(try directory.names() == [])
        }
    }

    // Proves: DLD-18.
    @Test func `a destination that cannot be made fails the task cleanly`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        for (path, code) in [
            (directory.file("no/a"), LoadError.Code.cannotCreateFile), (directory.path, .fileIsDirectory),
        ] {
            let log = DownloadLog()
            let options = DownloadOptions(destination: DownloadDestination(path: path))
            await Session().downloadTask(with: try Request(origin.url()), options: options, delegate: log).run()
            #expect(log.events == ["response 200", "metrics", "complete \(code.name)"])
        }
        #expect(try directory.names() == [])
    }

    // Proves: LIF-6, LIF-7, FN-30, TSK-1.
    @Test func `a data task becomes a download in the same transfer`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        var answers = DownloadLog.Answers()
        answers.response = .becomeDownload
        answers.keepsAt = DownloadDestination(path: directory.file("kept"))
        let log = DownloadLog(answers)
        await Session().dataTask(with: try Request(origin.url("/f.txt")), delegate: log).run()
        #expect(
            log.events == [
                "response 200", "became download running", "destination for f.txt", "wrote 5 5 5", "finished 5",
                "metrics", "complete well",
            ])
        #expect(directory.text(of: "kept") == "hello")
        #expect(origin.received().components(separatedBy: "GET ").count == 2)
    }

    // A caller that awaits a task may turn it into a download too, with or without a delegate's answer.
    // Proves: LIF-7.
    @Test(arguments: [ResponseDisposition.becomeDownload, .allow])
    func `an awaited data task becomes a download in the same transfer`(answer: ResponseDisposition) async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        var answers = DownloadLog.Answers()
        answers.response = answer
        let session = Session()
        let data = session.dataTask(with: try Request(origin.url("/f.txt")), delegate: DownloadLog(answers))
        // Without the delegate's answer the body is not waited for whole.
        _ = try await data.response(bufferingUpTo: answer.isDownload ? 100 : 1)
        #expect(data.completeBody == nil)
        let task = data.becomeDownload(options: DownloadOptions(destination: .init(path: directory.file("kept"))))
        let file = try await task.result()
        #expect(file.byteCount == 5 && directory.text(of: "kept") == "hello")
        #expect(data.state == .completed && session.allTasks.isEmpty)
        #expect(origin.received().components(separatedBy: "GET ").count == 2)
    }

    // Proves: TSK-11.
    @Test func `a completion handler gets the file`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = Session().downloadTask(with: try Request(origin.url())) { result in
            let file = try? result.get()
            #expect(file?.byteCount == 5)
            #expect(file.flatMap { try? String(contentsOfFile: $0.path, encoding: .utf8) } == "hello")
        }
        await task.run()
        #expect(task.state == .completed)
    }

    // Proves: BEY-26.
    @Test(arguments: ["Repr-Digest", "Content-Digest"]) func `what the server says of its content is checked`(
        name: String
    ) async throws {
        for (text, isRight) in [("hello", true), ("hellp", false)] {
            let digest = Data(ContentDigest.sha256.digest(of: text.utf8)).base64EncodedString()
            let origin = try WireOrigin(
                playing: "HTTP/1.1 200 OK\r\n\(name): sha-256=:\(digest):\r\nContent-Length: 5\r\n\r\nhello")
            let error = await failure { try await Session().download(for: Request(origin.url())) }
            #expect(error?.code == (isRight ? nil : .contentDigestMismatch))
        }
    }

    // Proves: DLD-8.
    @Test func `a download may come from the cache, and nothing of it is stored there`() async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                count.add(1)
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
        let session = Session.caching()
        let request = try Request(origin.url())
        for _ in 0..<2 { _ = try await session.download(for: request) }
        #expect(count.value == 2)
        _ = try await session.data(for: request)
        #expect(count.value == 3)
        let file = try await session.download(for: request)
        #expect(count.value == 3)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "hello")
        #expect(file.response.source == .cache)
    }

    @Test func `the hash of a file is known when it is asked for`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        var options = DownloadOptions()
        #expect(try await Session().download(for: Request(origin.url()), options: options).sha256 == nil)
        options.hashesFile = true
        let file = try await Session().download(for: Request(origin.url()), options: options)
        #expect(file.sha256 == ContentDigest.sha256.digest(of: "hello".utf8))
        for algorithm in [ContentDigest.sha256, .sha512] {
            options.expectedDigest = ExpectedDigest(algorithm, algorithm.digest(of: "hello".utf8))
            let checked = try await Session().download(for: Request(origin.url()), options: options)
            #expect(checked.sha256 == file.sha256)
        }
    }

    // Proves: BEY-26.
    @Test func `a flipped byte fails a download with a digest`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let directory = try TemporaryDirectory()
        var options = DownloadOptions(destination: DownloadDestination(path: directory.file("a")))
        options.expectedDigest = ExpectedDigest(.sha256, ContentDigest.sha256.digest(of: "hellp".utf8))
        await expect(.contentDigestMismatch) {
            try await Session().download(for: Request(origin.url()), options: options)
        }
        #expect(try directory.names() == [])
        options.expectedDigest = ExpectedDigest(.sha512, ContentDigest.sha512.digest(of: "hello".utf8))
        _ = try await Session().download(for: Request(origin.url()), options: options)
        #expect(directory.text(of: "a") == "hello")
    }
}

/// The error that a load fails with.
func failure<Result>(_ load: () async throws -> Result) async -> LoadError? {
    do {
        _ = try await load()
        return nil
    } catch {
        return error as? LoadError
    }
}

extension ResponseDisposition {
    fileprivate var isDownload: Bool { if case .becomeDownload = self { true } else { false } }
}
