import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// An object store that is away, breaks off, or refuses the service.
@Suite(.timeLimit(.minutes(3))) struct S3FaultTests {
    private func store(
        at url: String, bucket: String = "bodies", keys: S3Keys = S3Keys(id: "key", secret: "secret"),
        _ directory: TemporaryDirectory
    ) async throws -> S3BlobStore {
        let configuration = S3BlobStore.Configuration(
            origin: url, bucket: bucket, keys: .fixed(keys.id, keys.secret, token: keys.token),
            stagingDirectory: directory.path)
        return try await S3BlobStore(
            configuration, session: Session(configuration: S3BlobStore.sessionConfiguration(.default)))
    }

    private func refusal(_ health: S3BlobStore.Health) -> String? {
        guard case .refused(let reason) = health else { return nil }
        return reason
    }

    @Test func `keys that last for a while are signed with their token, and what is wrong of them is known`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let (server, keys) = try await LoopbackServer.s3WithSignatures(bucket: "bodies")
        let url = server.url("")
        let store = try await store(at: url, keys: keys, directory)
        #expect(await store.health() == .good)
        var draft = try await BlobDraft(in: store)
        try await draft.append(pattern(9 << 20))
        let blob = try await draft.finish()
        #expect(try await store.open(blob.id, range: 0..<3).next() == Array(pattern(3)))
        let wrong = [
            (S3Keys(id: keys.id, secret: "wrong", token: keys.token), "bodies", "SignatureDoesNotMatch"),
            (S3Keys(id: keys.id, secret: keys.secret, token: "wrong"), "bodies", "InvalidToken"),
            (S3Keys(id: "wrong", secret: keys.secret), "bodies", "InvalidAccessKeyId"),
            (keys, "other", "bucket"),
        ]
        for (keys, bucket, reason) in wrong {
            let store = try await self.store(at: url, bucket: bucket, keys: keys, directory)
            let health = await store.health()
            #expect(refusal(health)?.contains(reason) == true, "\(health), not \(reason)")
            let error = await #expect(throws: StoreError.self) { try await store.open(blob.id, range: 0..<3) }
            #expect(error?.code == .blobAway, "not removed: \(reason)")
            let empty = await #expect(throws: StoreError.self) { try await store.open(blob.id, range: 0..<0) }
            #expect(empty?.code == .blobAway, "not removed: \(reason)")
        }
    }

    @Test func `an answer that breaks off is gone on with, and one that is no answer of the store says nothing`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let content = pattern(300_000)
        let heads = Mutex<[String]>([])
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let number = heads.withLock {
                    $0.append(head)
                    return $0.count
                }
                switch number {
                case 1:
                    try connection.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 300000\r\n\r\n")
                    try connection.send(Array(content[..<100_000]))
                    return
                case 2: try connection.send("HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n")
                case 3:
                    try connection.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 200000\r\n\r\n")
                    try connection.send(Array(content[100_000...]))
                default: try connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
                }
            }
        }
        let store = try await store(at: "http://127.0.0.1:\(origin.port)", directory)
        let reader = try await store.open(Blob.ID(in: .shared), range: 0..<300_000)
        var bytes: [UInt8] = []
        while let chunk = try await reader.next() { bytes += chunk }
        #expect(bytes == content)
        #expect(heads.withLock { $0[1].lowercased().contains("range: bytes=100000-299999") })
        let error = await #expect(throws: StoreError.self) {
            try await store.open(Blob.ID(in: .shared), range: 0..<1)
        }
        #expect(error?.code == .blobAway)
    }

    @Test func `a job waits for a store that is away, and the node says what is wrong with it`() async throws {
        let bytes = pattern(9_000_000)
        let origin = try await LoopbackServer.nginx(files: ["big.bin": Data(bytes)])
        let port = try LoopbackServer.freePort()
        let settings = [
            "S3_ENDPOINT": "http://127.0.0.1:\(port)", "S3_BUCKET": "bodies", "S3_ACCESS_KEY": "key",
            "S3_SECRET_KEY": "secret",
        ]
        try await ServiceProcess.with(allowing: [origin.rule], settings: settings) { service in
            let ready = try await service.request(.get, "/readyz")
            #expect(ready.status == 200 && ready.text.contains("object store"), "\(ready.text)")
            var jobs: [String] = []
            for kind in ["data", "download"] {
                let body = #"{"request": "\#(origin.url("/big.bin"))", "kind": "\#(kind)"}"#
                let answer = try await service.request(.post, "/v1/jobs", body: body)
                jobs.append(try #require(member(answer.json, "id", as: String.self), "\(answer.text)"))
            }
            for job in jobs { _ = try await service.job(job) { member($0, "state") == "running" } }
            let server = try await LoopbackServer.s3(port: port)
            try await until { try await service.request(.get, "/readyz").status == 503 }
            let refused = try await service.request(.get, "/readyz")
            #expect(refused.text.contains("no such bucket"), "\(refused.text)")
            let put = Request(url: try URLRecord(server.url("/bodies")), method: .put)
            #expect(try await Session().data(for: put).1.status == .ok)
            for job in jobs {
                let end = try await service.job(job) { ["succeeded", "failed"].contains(member($0, "state")) }
                #expect(member(end, "state") == "succeeded", "\(end)")
                let href = try #require(member(end, "body", "href", as: String.self))
                #expect(try await service.request(.get, href).body == bytes)
            }
            try await until { try await service.request(.get, "/readyz").status == 200 }
        }
    }
}
