import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Downloads through a running service: to files in the blob store, across crashes and cancellations.
@Suite(.timeLimit(.minutes(3))) struct DownloadTests {
    private func download(
        _ service: ServiceProcess,
        _ url: String,
        destination: String = "",
        more: String = ""
    ) async throws -> [String: Any] {
        try await service.fetch(
            url, more: #", "kind": "download", "configuration": {"destination": {\#(destination)}}\#(more)"#)
    }

    private func content(of job: [String: Any], _ service: ServiceProcess) async throws -> [UInt8] {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self))).body
    }

    // The file has the name that the response suggests.
    // Proves: TSK-3, DLD-4, DLD-5, DLD-9, TSK-1.
    @Test func `a download becomes a file with a name, a digest and a blob of its own`() async throws {
        let bytes = pattern(3_000_000)
        let origin = try await LoopbackServer.nginx(files: ["big.bin": Data(bytes)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let job = try await download(service, origin.url("/big.bin"))
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "file", "filename") == "big.bin")
            #expect(member(job, "body", "digest") == SHA256Digest(of: bytes).field)
            let href = try #require(member(job, "body", "href", as: String.self))
            let body = try await service.request(.get, href)
            #expect(body.body == bytes)
            #expect(body.headers[.contentDisposition] == "attachment; filename=\"big.bin\"")
            let blob = try #require(member(job, "file", "blob", as: String.self))
            #expect(try await service.request(.get, "/v1/blobs/\(blob)").body == bytes)
            #expect(try await service.request(.delete, "/v1/blobs/\(blob)").status == 204)
            #expect(try await service.request(.get, href).status == 404)
        }
    }

    @Test(arguments: ["data", "download"])
    func `a body is there at every moment from its first bytes on, while its job ends too`(kind: String) async throws {
        let bytes = pattern(300_000)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
                try connection.send(bytes)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for number in 0..<10 {
                let job = #"{"kind": "\#(kind)", "request": {"url": "\#(origin.url("/\(number)"))"}}"#
                let answer = try await service.request(.post, "/v1/jobs", body: job)
                let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
                let end = Progress()
                async let statuses = withThrowingTaskGroup(of: Set<Int>.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            var seen: Set<Int> = []
                            while end.value == 0 {
                                seen.insert(try await service.request(.get, "/v1/jobs/\(id)/body").status)
                            }
                            return seen
                        }
                    }
                    return try await group.reduce(into: Set<Int>()) { $0.formUnion($1) }
                }
                _ = try await service.job(id) { member($0, "state") == "succeeded" }
                #expect(try await service.request(.get, "/v1/jobs/\(id)/body").body == bytes)
                end.add(1)
                // Before its first bytes it is not complete, which is a conflict.
                #expect(try await statuses.isSubset(of: [200, 409]))
            }
        }
    }

    // Of many at once each gets a name of its own, and with `allowOverwrite` the last one has it.
    // Proves: DLD-1, DLD-2.
    @Test func `downloads of one name are numbered unless they may overwrite`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["index.html": Data("hello".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let names = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let job = try await download(service, origin.url("/index.html"))
                        return try #require(member(job, "file", "filename", as: String.self))
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(names == Set(["index.html"] + (1..<20).map { "index-\($0).html" }))
            let replacing = #""filename": "index-7.html", "allowOverwrite": true"#
            let job = try await download(service, origin.url("/index.html"), destination: replacing)
            #expect(member(job, "file", "filename") == "index-7.html")
            #expect(try await content(of: job, service) == Array("hello".utf8))
        }
    }

    // Proves: BEY-26, REL-7.
    @Test func `a checksum that does not match fails the job`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a.txt": Data("hello".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let (right, wrong) = (SHA256Digest(of: Array("hello".utf8)), SHA256Digest(of: Array("hellO".utf8)))
            // Of "hello", by md5sum and sha1sum of GNU coreutils.
            for field in [right.field, "md5=:XUFAKrxLKna5cZ2REBfFkg==:", "sha=:qvTGHdzF6KLavt4PO0gs2a6pQ00=:"] {
                let good = try await download(service, origin.url("/a.txt"), destination: #""checksum": "\#(field)""#)
                #expect(member(good, "state") == "succeeded")
            }
            let bad = try await download(service, origin.url("/a.txt"), destination: #""checksum": "\#(wrong.field)""#)
            #expect(member(bad, "state") == "failed")
            #expect(member(bad, "error", "name") == "contentDigestMismatch")
        }
    }

    @Test func `a download asks for no content coding, and takes off one that comes all the same`()
        async throws
    {
        let zipped: [UInt8] = [
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        let (heads, head) = AsyncStream.makeStream(of: String.self)
        let origin = try WireOrigin { connection in
            while let request = try connection.receiveHead() {
                head.yield(request)
                let fields = "Content-Encoding: gzip\r\nContent-Length: \(zipped.count)"
                try connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
                try connection.send(zipped)
            }
        }
        var asked = heads.makeAsyncIterator()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await download(service, origin.url("/a"))
            #expect(await asked.next()?.contains("Accept-Encoding: identity\r\n") == true)
            #expect(try await content(of: job, service) == Array("hello".utf8))
            let own = #", "headers": [{"name": "Accept-Encoding", "value": "gzip"}]"#
            let coded = try await service.fetch(origin.url("/b"), request: own, more: #", "kind": "download""#)
            #expect(await asked.next()?.contains("Accept-Encoding: gzip\r\n") == true)
            #expect(try await content(of: coded, service) == zipped)
            _ = try await service.fetch(origin.url("/c"))
            #expect(await asked.next()?.contains("Accept-Encoding: gzip, ") == true)
        }
    }

    // Proves: DCD-1, DCD-6, DCD-8, DCD-3.
    @Test func `a gzip file is decoded and loses its extension`() async throws {
        let text = String(repeating: "hello\n", count: 1000)
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).txt").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let end = try await onThread {
            let gzip = try Program(["/usr/bin/gzip", "-n", path])
            return gzip.waitForEnd()
        }
        #expect(end == 0)
        let zipped = try Data(contentsOf: URL(filePath: path + ".gz"))
        let origin = try await LoopbackServer.nginx(files: ["notes.txt.gz": zipped])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let job = try await service.fetch(
                origin.url("/notes.txt.gz"),
                more: #", "kind": "download", "configuration": {"response": {"decode": ["gzip"]}}"#)
            #expect(member(job, "file", "filename") == "notes.txt")
            #expect(member(job, "file", "decodedFrom") == "application/x-gzip")
            #expect(try await content(of: job, service) == Array(text.utf8))
        }
    }

    // What a file may become has the limit of a body, and a file that goes beyond it leaves nothing behind.
    // Proves: DCD-6.
    @Test func `a file that becomes larger than it may when it is decoded is no file`() async throws {
        let (directory, size) = (try TemporaryDirectory(), 30 << 20)
        let path = try directory.write([UInt8](repeating: 0, count: size), to: "root/bomb")
        #expect(try await onThread { try Program(["/usr/bin/gzip", "-n", path]).waitForEnd() } == 0)
        let origin = try await LoopbackServer.nginx(in: directory)
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            func fetch(upTo maximum: Int) async throws -> [String: Any] {
                try await service.fetch(
                    origin.url("/bomb.gz"),
                    more: #", "kind": "download", "configuration": {"response": {"decode": ["gzip"], "#
                        + #""maximumBytes": \#(maximum)}}"#)
            }
            // The coded bytes alone are no more than that.
            let bomb = try await fetch(upTo: size - 1)
            #expect(errorName(of: bomb) == "dataLengthExceedsMaximum", "\(bomb)")
            #expect(bomb["file"] == nil && member(bomb, "attempts", as: [Any].self)?.count == 1)
            let files = FileManager.default.enumerator(
                at: URL(filePath: place.directory), includingPropertiesForKeys: [.fileSizeKey])
            let sizes = (files?.compactMap { $0 as? URL } ?? []).map {
                (try? $0.resourceValues(forKeys: [.fileSizeKey]))?.fileSize ?? 0
            }
            #expect(sizes.allSatisfy { $0 < 1 << 20 }, "\(sizes)")
            let whole = try await fetch(upTo: size)
            #expect(member(whole, "body", "bytes") == size, "\(whole)")
            #expect(member(whole, "file", "filename") == "bomb")
            #expect(try await service.stop() == 0)
        }
    }

    // A file stays until its client has done with it, or its time is up; then nothing of it is on the disk.
    // Proves: LIF-12.
    @Test func `a file is there until it is deleted or its time is up`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a.bin": Data(pattern(100_000))])
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            func files() -> [String] {
                let all = FileManager.default.enumerator(
                    at: URL(filePath: place.directory), includingPropertiesForKeys: nil)
                return (all?.compactMap { $0 as? URL } ?? []).filter {
                    (try? $0.resourceValues(forKeys: [.fileSizeKey]))?.fileSize == 100_000
                }.map(\.path)
            }
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let kept = try await download(service, origin.url("/a.bin"))
            let brief = try await download(service, origin.url("/a.bin"), destination: #""expiresAfter": 1"#)
            let deleted = try await download(service, origin.url("/a.bin"))
            #expect(files().count == 3)
            #expect(member(kept, "file", "expiresAt", as: String.self) == nil)
            let expiry = member(brief, "file", "expiresAt", as: String.self)
            let end = try #require(expiry.flatMap { Timestamp(rfc3339: $0) })
            let blob = try #require(member(deleted, "file", "blob", as: String.self))
            #expect(try await service.request(.delete, "/v1/blobs/\(blob)").status == 204)
            #expect(files().count == 2)
            #expect(try await service.stop() == 0)
            // Each start looks at once for expired rows.
            try await until { Timestamp.now > end }
            let restarted = try await ServiceProcess.start(place, key: key)
            try await until { files().count == 1 }
            let gone = try #require(member(brief, "body", "href", as: String.self))
            #expect(try await restarted.request(.get, gone).status == 404)
            #expect(try await content(of: kept, restarted) == pattern(100_000))
            #expect(try await restarted.stop() == 0)
        }
    }

    // Retention.
    @Test func `what is asked of a destination is checked`() async throws {
        try await ServiceProcess.with(allowing: []) { service async throws in
            for destination in [
                #""filename": "../x""#, #""filename": ".x""#, #""checksum": "md5=:AAAA:""#, #""expiresAfter": 0"#,
            ] {
                let body =
                    #"{"kind": "download", "request": {"url": "http://o.example/"}, "configuration": "#
                    + #"{"destination": {\#(destination)}}}"#
                #expect(try await service.request(.post, "/v1/jobs", body: body).status == 422, "\(destination)")
            }
        }
    }

    // MARK: Mirrors

    @Test func `mirrors are tried in turn, and what is secret goes to none of another origin`() async throws {
        let gone = try WireOrigin(playing: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
        let good = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        let rules = [gone, good].map { "127.0.0.1:\($0.port)" } + ["127.0.0.1:9"]
        try await ServiceProcess.with(allowing: rules) { service in
            let mirrors = ["http://10.0.0.1/x", "http://127.0.0.1:9/x", good.url("/file")]
            let list = mirrors.map { "\"\($0)\"" }.joined(separator: ", ")
            let fields =
                #""headers": [{"name": "Authorization", "value": "Bearer secret"}, {"name": "X-A", "value": "1"}]"#
            let job = try await service.fetch(
                gone.url("/file"), request: #", "mirrors": [\#(list)], \#(fields)"#, more: #", "kind": "download""#)
            #expect(member(job, "state") == "succeeded", "\(job)")
            #expect(try await content(of: job, service) == Array("hello".utf8))
            let attempts = try #require(member(job, "attempts", as: [[String: Any]].self))
            #expect(
                attempts.map { $0["error"] as? String } == [
                    "badServerResponse", "addressForbidden", "cannotConnectToHost", nil,
                ])
            #expect(gone.received(on: 0).contains("Authorization: Bearer secret"))
            let request = good.received(on: 0)
            #expect(!request.contains("secret") && request.contains("X-A: 1"), "\(request)")
            #expect(request.contains("Host: 127.0.0.1:\(good.port)"))

            // When none is left the last answer is the job's, as without them.
            let both = #""\#(gone.url("/b"))""#
            let last = try await service.fetch(
                gone.url("/a"), request: #", "mirrors": [\#(both)]"#, more: #", "kind": "download""#)
            #expect(member(last, "state") == "succeeded" && member(last, "response", "status") == 404)
            #expect(member(last, "attempts", as: [Any].self)?.count == 2)
        }
    }

    @Test(arguments: [("\"v1\"", true), ("\"v2\"", false)])
    func `a mirror with the same tag goes on where another broke off, and one with another starts over`(
        _ tag: String, _ goesOn: Bool
    ) async throws {
        let content = pattern(300_000)
        let broken = try WireOrigin { connection in
            guard try connection.receiveHead() != nil else { return }
            try connection.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(content.count)\r\n\r\n")
            try connection.send(Array(content[..<100_000]))
        }
        let gate = Gate()
        gate.open()
        let other = try SlowOrigin(content, holdingAt: content.count, gate, tags: [tag])
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(broken.port)", other.rule]) { service in
            let job = try await service.fetch(
                broken.url("/f.bin"), request: #", "mirrors": ["\#(other.origin.url("/f.bin"))"]"#,
                more: #", "kind": "download""#)
            #expect(member(job, "state") == "succeeded", "\(job)")
            #expect(member(job, "body", "digest") == SHA256Digest(of: content).field)
            #expect(lastTransfer(of: job) == (goesOn ? 206 : 200))
            #expect(other.origin.received(on: 0).contains("If-Range: \"v1\"\r\n"))
        }
    }

    // MARK: Going on

    /// Serves one resource with an entity tag, and so much of each answer until its gate is opened.
    private final class SlowOrigin: Sendable {
        let content: [UInt8]
        let origin: WireOrigin

        init(_ content: [UInt8], holdingAt held: Int, _ gate: Gate, tags: [String] = ["\"v1\""]) throws {
            self.content = content
            let count = Progress()
            origin = try WireOrigin { connection in
                while let head = try connection.receiveHead() {
                    let number = count.add(1)
                    let tag = tags[min(number, tags.count) - 1]
                    let start = head.firstMatch(of: /Range: bytes=(\d+)-\r\nIf-Range: ("[^"]*")/)
                    let offset = start.flatMap { $0.output.2 == tag ? Int($0.output.1) : nil } ?? 0
                    let status = offset > 0 ? "206 Partial Content" : "200 OK"
                    let range =
                        offset > 0 ? "Content-Range: bytes \(offset)-\(content.count - 1)/\(content.count)\r\n" : ""
                    try connection.send(
                        "HTTP/1.1 \(status)\r\nETag: \(tag)\r\n\(range)Content-Length: \(content.count - offset)\r\n\r\n"
                    )
                    let middle = number == 1 ? held : content.count
                    try connection.send(Array(content[offset..<max(offset, middle)]))
                    if number == 1 { try gate.wait() }
                    try connection.send(Array(content[max(offset, middle)...]))
                }
            }
        }

        var rule: String { "127.0.0.1:\(origin.port)" }
    }

    private func submit(_ url: String, _ service: ServiceProcess, more: String = "") async throws -> String {
        let body = #"{"kind": "download", "request": {"url": "\#(url)"}\#(more)}"#
        let answer = try await service.request(.post, "/v1/jobs", body: body)
        return try #require(member(answer.json, "id", as: String.self))
    }

    /// Waits until a download of the place has so many bytes on disk.
    private func waitForBytes(_ count: Int, of job: String, in place: ServiceProcess.Place) async throws {
        let directory = "\(place.directory)/downloads/\(job)"
        try await until {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            guard names.contains("checkpoint") else { return false }
            return names.contains { name in
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
                return (attributes?[.size] as? Int ?? 0) >= count && name.hasSuffix(".part")
            }
        }
    }

    // Bytes that were stored when the node was killed are not loaded again.
    // Proves: DLD-14, DLD-16, TSK-10, REL-7.
    @Test(arguments: [5000, 70_001, 1_999_999])
    func `a killed download goes on from the bytes that are there`(held: Int) async throws {
        let gate = Gate()
        let slow = try SlowOrigin(pattern(2_000_000), holdingAt: held, gate)
        try await ServiceProcess.Place.with(allowing: [slow.rule], settings: ["WORKER_LEASE_SECONDS": "1"]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await submit(slow.origin.url("/f.bin"), first)
            try await waitForBytes(held, of: id, in: place)
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            gate.open()
            let second = try await ServiceProcess.start(place, key: key)
            let job = try await second.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "body", "digest") == SHA256Digest(of: slow.content).field)
            #expect(slow.origin.received(on: 1).contains("Range: bytes=\(held)-\r\nIf-Range: \"v1\"\r\n"))
            #expect(member(job, "file", "filename") == "f.bin")
            #expect(!FileManager.default.fileExists(atPath: "\(place.directory)/downloads/\(id)"))
            #expect(try await second.stop() == 0)
        }
    }

    /// Stands between a program and the disk, and tells of each file that a loss of power leaves with how many bytes.
    private final class SyncLog {
        private let directory: TemporaryDirectory

        private static let source = """
            #define _GNU_SOURCE
            #include <fcntl.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/stat.h>
            #include <sys/syscall.h>
            #include <unistd.h>

            int fsync(int file) {
                struct stat status;
                char link[64], path[4096], line[4200];
                int isKnown = fstat(file, &status) == 0;
                int result = (int)syscall(SYS_fsync, file);
                snprintf(link, sizeof link, "/proc/self/fd/%d", file);
                ssize_t length = readlink(link, path, sizeof path);
                if (result != 0 || !isKnown || length < 0) return result;
                int log = open(getenv("TEST_SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
                int count = snprintf(line, sizeof line, "%ld %.*s\\n", (long)status.st_size, (int)length, path);
                if (write(log, line, count) != count) abort();
                close(log);
                return result;
            }
            """

        init() async throws {
            directory = try TemporaryDirectory()
            try directory.write(Self.source, to: "sync.c")
            try await Program.run([
                "/usr/bin/env", "clang", "-shared", "-fPIC", "-o", directory.file("sync.so"), directory.file("sync.c"),
            ])
        }

        /// The place with this log.
        func applied(to place: ServiceProcess.Place) -> ServiceProcess.Place {
            let settings = ["LD_PRELOAD": directory.file("sync.so"), "TEST_SYNC_LOG": directory.file("log")]
            return ServiceProcess.Place(
                database: place.database, directory: place.directory,
                environment: place.environment.merging(settings) { $1 })
        }

        /// The files that were synced, in their order, with the bytes that they had.
        var files: [(path: String, bytes: Int)] {
            get throws {
                try String(contentsOfFile: directory.file("log"), encoding: .utf8).split(separator: "\n").map { line in
                    let parts = line.split(separator: " ", maxSplits: 1)
                    return (String(parts[1]), try #require(Int(parts[0])))
                }
            }
        }
    }

    // What was synced before the checkpoint is all that is left of the file, and enough.
    // Proves: REL-7.
    @Test func `a checkpoint counts no byte that a loss of power takes`() async throws {
        let gate = Gate()
        let slow = try SlowOrigin(pattern(300_000), holdingAt: 100_000, gate)
        let log = try await SyncLog()
        try await ServiceProcess.Place.with(allowing: [slow.rule]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(log.applied(to: place), key: key)
            let id = try await submit(slow.origin.url("/f.bin"), first)
            try await waitForBytes(100_000, of: id, in: place)
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            // The one checkpoint is that of the first bytes.
            let synced = try #require(
                try log.files.last { $0.path.contains("/\(id)/") && $0.path.hasSuffix(".part") })
            #expect(truncate(synced.path, synced.bytes) == 0)
            // The checkpoint of another boot: its own count is what counts.
            let path = "\(place.directory)/downloads/\(id)/checkpoint"
            let checkpoint = try Data(contentsOf: URL(filePath: path))
            try (Data("another".utf8) + checkpoint.drop { $0 != 0 }).write(to: URL(filePath: path))
            try await place.database.client.query("UPDATE nodes SET lease_until = now() - interval '1 second'")
            gate.open()
            let second = try await ServiceProcess.start(place, key: key)
            let job = try await second.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "body", "digest") == SHA256Digest(of: slow.content).field)
            let range = slow.origin.received(on: 1).firstMatch(of: /Range: bytes=(\d+)-\r\nIf-Range: "v1"/)
            let counted = try #require(range.flatMap { Int($0.output.1) })
            #expect(counted > 0 && counted <= synced.bytes)
            #expect(try await second.stop() == 0)
        }
    }

    // A node continues with a partial file that it can reach, and starts over without.
    // Proves: DLD-14.
    @Test(arguments: [true, false])
    func `a download whose node is gone for good ends on another`(sharesDirectory: Bool) async throws {
        let gate = Gate()
        let slow = try SlowOrigin(pattern(300_000), holdingAt: 100_000, gate)
        try await ServiceProcess.Place.with(allowing: [slow.rule], settings: ["WORKER_LEASE_SECONDS": "1"]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(sharesDirectory ? place : place.apart, key: key)
            let id = try await submit(slow.origin.url("/f.bin"), first)
            try await waitForBytes(100_000, of: id, in: place)
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            gate.open()
            let job = try await second.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
            #expect(member(job, "body", "digest") == SHA256Digest(of: slow.content).field)
            #expect(lastTransfer(of: job) == (sharesDirectory ? 206 : 200))
            #expect(member(job, "response", "status") == 200)
            #expect(try await content(of: job, second) == slow.content)
            #expect(try await second.stop() == 0)
        }
    }

    // Bytes of two states of a resource never meet in one file.
    // Proves: DLD-14, REL-7.
    @Test func `a download whose resource has changed starts over`() async throws {
        let gate = Gate()
        let slow = try SlowOrigin(pattern(300_000), holdingAt: 100_000, gate, tags: ["\"v1\"", "\"v2\""])
        try await ServiceProcess.Place.with(allowing: [slow.rule], settings: ["WORKER_LEASE_SECONDS": "1"]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await submit(slow.origin.url("/f.bin"), first)
            try await waitForBytes(100_000, of: id, in: place)
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            gate.open()
            let second = try await ServiceProcess.start(place, key: key)
            let job = try await second.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "body", "digest") == SHA256Digest(of: slow.content).field)
            #expect(member(job, "response", "status") == 200)
            #expect(try await second.stop() == 0)
        }
    }

    // Cancelling keeps the partial file, and another job continues it.
    // Proves: DLD-11, DLD-12, DLD-14, TSK-10, LIF-2.
    @Test func `a cancelled download leaves resume data for a new job`() async throws {
        let gate = Gate()
        let slow = try SlowOrigin(pattern(400_000), holdingAt: 150_000, gate)
        try await ServiceProcess.Place.with(allowing: [slow.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let id = try await submit(slow.origin.url("/f.bin"), service)
            try await waitForBytes(150_000, of: id, in: place)
            _ = try await service.request(.post, "/v1/jobs/\(id)/cancel?produceResumeData=true")
            let job = try await service.job(id) { member($0, "state") == "cancelled" }
            gate.open()
            let data = try #require(member(job, "error", "resumeData", as: String.self))
            let again = try await download(
                service, slow.origin.url("/f.bin"), more: #", "resumeFrom": "\#(data)""#)
            #expect(member(again, "state") == "succeeded")
            #expect(lastTransfer(of: again) == 206 && member(again, "response", "status") == 200)
            #expect(try await content(of: again, service) == slow.content)
            #expect(try await service.stop() == 0)
        }
    }

    // Without being asked to keep it, nothing is left.
    // Proves: DLD-10.
    @Test func `a cancelled download leaves nothing by itself`() async throws {
        let gate = Gate()
        let slow = try SlowOrigin(pattern(400_000), holdingAt: 150_000, gate)
        try await ServiceProcess.Place.with(allowing: [slow.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let id = try await submit(slow.origin.url("/f.bin"), service)
            try await waitForBytes(150_000, of: id, in: place)
            _ = try await service.request(.post, "/v1/jobs/\(id)/cancel")
            let job = try await service.job(id) { member($0, "state") == "cancelled" }
            gate.open()
            #expect(member(job, "error", "resumeData", as: String.self) == nil)
            #expect(!FileManager.default.fileExists(atPath: "\(place.directory)/downloads/\(id)"))
            #expect(try await service.stop() == 0)
        }
    }
}
