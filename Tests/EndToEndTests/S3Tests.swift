import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Blobs in an object store: a real server of the S3 protocol, from the Python environment that `make test` prepares.
@Suite(.timeLimit(.minutes(3))) struct S3Tests {
    private func with(
        _ body: (S3BlobStore, _ origin: S3Store, _ bucket: String, _ directory: String) async throws -> Void
    ) async throws {
        let origin = try await S3Store()
        let bucket = try await origin.bucket()
        let directory = FileManager.default.temporaryDirectory.appending(path: "s3-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try await S3BlobStore(
            S3BlobStore.Configuration(
                origin: origin.url(""), bucket: bucket, keys: .fixed("key", "secret"),
                stagingDirectory: directory),
            session: Session(configuration: S3BlobStore.sessionConfiguration(.default)))
        try await body(store, origin, bucket, directory)
    }

    private func read(_ reader: any BlobReader) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await reader.next() { bytes += chunk }
        return bytes
    }

    @Test(arguments: [0, 1000, 20_000_000])
    func `what was written reads back, whole and in ranges`(count: Int) async throws {
        try await with { store, _, _, _ in
            let content = pattern(count)
            var draft = try await BlobDraft(in: store)
            for start in stride(from: 0, to: count, by: 3_000_000) {
                try await draft.append(Array(content[start..<min(start + 3_000_000, count)]))
            }
            let blob = try await draft.finish()
            #expect(blob.digest == SHA256Digest(of: content))
            #expect(try await read(store.open(blob.id, range: 0..<Int64(count))) == content)
            if count > 20 {
                #expect(try await read(store.open(blob.id, range: 10..<20)) == Array(content[10..<20]))
            }
            let file = try await store.file(of: blob.id, bytes: blob.bytes)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(content))
            #expect(file.isCopy)
            try await store.delete(blob.id)
            try await store.delete(blob.id)
            let error = await #expect(throws: StoreError.self) { try await store.open(blob.id, range: 0..<1) }
            #expect(error?.code == .blobGone)
        }
    }

    @Test func `what gathers of an upload is gone when it was sent or given up`() async throws {
        try await with { store, _, _, directory in
            for (count, isFinished) in [(3_000_000, true), (3_000_000, false), (10 << 20, true), (10 << 20, false)] {
                let content = pattern(count)
                var draft = try await BlobDraft(in: store)
                for start in stride(from: 0, to: count, by: 100_000) {
                    try await draft.append(Array(content[start..<min(start + 100_000, count)]))
                }
                if isFinished {
                    let blob = try await draft.finish()
                    #expect(try await read(store.open(blob.id, range: 0..<blob.bytes)) == content)
                } else {
                    await draft.abandon()
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
            }
        }
    }

    @Test func `the bucket may be named by the host`() async throws {
        try await with { store, origin, bucket, directory in
            var configuration = S3BlobStore.Configuration(
                origin: origin.url("", host: "localhost"), bucket: bucket, keys: .fixed("key", "secret"),
                stagingDirectory: directory)
            configuration.namesBucketByHost = true
            let other = try await S3BlobStore(
                configuration, session: Session(configuration: S3BlobStore.sessionConfiguration(.default)))
            #expect(await other.health() == .good)
            for (writer, reader) in [(store, other), (other, store)] {
                let content = pattern(9 << 20)
                var draft = try await BlobDraft(in: writer)
                try await draft.append(content)
                let blob = try await draft.finish()
                #expect(try await read(reader.open(blob.id, range: 0..<blob.bytes)) == content)
                try await reader.delete(blob.id)
            }
        }
    }

    @Test func `what was never finished goes when it is old`() async throws {
        try await with { store, _, _, _ in
            for (age, isThere) in [(Duration.seconds(-60), true), (.seconds(60), false)] {
                let writer = try await store.create()
                // Enough for a part of its own.
                try await writer.write(pattern(9 << 20))
                try await store.removeUnfinished(begunBefore: .now.advanced(by: age))
                if isThere {
                    try await writer.finish()
                } else {
                    await #expect(throws: StoreError.self) { try await writer.finish() }
                }
            }
        }
    }

    @Test func `all blobs are visited, and a file is adopted`() async throws {
        try await with { store, _, _, directory in
            let path = directory + "/found"
            try Data(pattern(5000)).write(to: URL(filePath: path))
            let blob = try await store.adopt(fileAt: path)
            #expect(!FileManager.default.fileExists(atPath: path))
            let abandoned = try await BlobDraft(in: store)
            await abandoned.abandon()
            let seen = Mutex<[Blob.ID]>([])
            try await store.forEach { some throws(StoreError) in seen.withLock { $0 += some } }
            #expect(seen.withLock { $0 } == [blob.id])
        }
    }

    // Proves: LIF-10.
    @Test func `the body of a data job is read on any node while it grows, and from the store then`() async throws {
        try await with { _, s3, bucket, _ in
            let (content, gate) = (pattern(20_000_000), Gate())
            let origin = try WireOrigin { connection in
                while try connection.receiveHead() != nil {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
                    try connection.send(Array(content[..<12_000_000]))
                    try gate.wait()
                    try connection.send(Array(content[12_000_000...]))
                }
            }
            let settings = [
                "S3_ENDPOINT": s3.url(""), "S3_BUCKET": bucket, "S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret",
            ]
            try await ServiceProcess.Place.with(
                allowing: ["127.0.0.1:\(origin.port)"], settings: settings
            ) { place in
                let key = try await place.key()
                let owner = try await ServiceProcess.start(place, key: key)
                let other = try await ServiceProcess.start(place.apart, key: key)
                let answer = try await owner.request(
                    .post, "/v1/jobs", body: #"{"request": "\#(origin.url("/f"))"}"#)
                let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
                for node in [owner, other] {
                    try await until { try await node.request(.head, "/v1/jobs/\(id)/body").status == 200 }
                }
                let streams = [
                    try await owner.stream("/v1/jobs/\(id)/body").0, try await other.stream("/v1/jobs/\(id)/body").0,
                ]
                let early = TestSupport.Progress()
                try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    for stream in streams {
                        group.addTask {
                            var (received, isEarly) = ([UInt8](), true)
                            for try await chunk in stream {
                                received += chunk
                                guard isEarly, received.count >= 12_000_000 else { continue }
                                isEarly = false
                                if early.add(1) == streams.count { gate.open() }
                            }
                            return received
                        }
                    }
                    for try await received in group { #expect(received == content) }
                }
                _ = try await other.job(id) { member($0, "state") == "succeeded" }
                #expect(try await other.request(.get, "/v1/jobs/\(id)/body").body == content)
                for node in [owner, other] { #expect(try await node.stop() == 0, "\(node.logged)") }
            }
        }
    }

    @Test func `a service keeps its blobs there, and jobs send and download them`() async throws {
        try await with { _, s3, bucket, _ in
            let bytes = pattern(12_000_000)
            let origin = try await LoopbackServer.nginx(files: ["big.bin": Data(bytes)])
            let echo = try await LoopbackServer.httpbin()
            let settings = [
                "S3_ENDPOINT": s3.url(""), "S3_BUCKET": bucket, "S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret",
            ]
            try await ServiceProcess.with(allowing: [origin.rule, echo.rule], settings: settings) { service in
                let job = try await service.fetch(origin.url("/big.bin"), more: #", "kind": "download""#)
                let href = try #require(member(job, "body", "href", as: String.self))
                #expect(try await service.request(.get, href).body == bytes)
                let part = try await service.request(.get, href, headers: [.range: "bytes=-10"])
                #expect(part.body == Array(bytes.suffix(10)))
                // The store gives them by itself to who has the way there.
                #expect(try await service.request(.get, href + "?redirect=true").body == bytes)
                var configuration = SessionConfiguration()
                configuration.redirects.policy = .return
                var asking = try Request(service.base + href + "?redirect=true")
                asking.headerFields[.authorization] = "Bearer \(service.key)"
                let (none, way) = try await Session(configuration: configuration).data(for: asking)
                #expect(way.status.code == 307 && none.isEmpty && way.headerFields[.cacheControl] == "no-store")
                var direct = try Request(try #require(way.headerFields[.location]))
                #expect(direct.url.query?.contains("X-Amz-Expires=60&") == true)
                #expect(direct.url.port.map { "\($0)" } == "\(s3.port)")
                direct.headerFields[.range] = "bytes=5-9"
                let (given, response) = try await Session().data(for: direct)
                #expect(response.status == .partialContent && given == Array(bytes[5...9]))
                #expect(response.headerFields[.contentDisposition] == "attachment; filename=\"big.bin\"")
                // An answer to HEAD has no way that HEAD could take, and small bodies are not there.
                #expect(try await service.request(.head, href + "?redirect=true").status == 200)
                let small = try await service.fetch(
                    origin.url("/big.bin"), request: #", "headers": {"Range": "bytes=0-9"}"#)
                let inline = try #require(member(small, "body", "href", as: String.self))
                #expect(try await service.request(.get, inline + "?redirect=true").body == Array(bytes[..<10]))
                #expect(try await service.request(.get, inline + "?redirect=yes").status == 400)
                let blob = try await service.send(.post, "/v1/blobs", .bytes(Array("stored".utf8)))
                let id = try #require(member(blob.json, "id", as: String.self))
                let sent = try await service.fetch(
                    echo.url("/put"), request: #", "method": "PUT", "body": {"blob": "\#(id)"}"#)
                let answer = try await service.request(
                    .get, try #require(member(sent, "body", "href", as: String.self)))
                #expect(member(answer.json, "data") == "stored")
            }
        }
    }
}
