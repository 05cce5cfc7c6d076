import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Blobs whose bytes are in the data directory of another node.
@Suite struct BlobVolumesTests {
    private static let url = "http://10.0.0.1:8080"
    private static let secret = SessionSecret()
    private let nodes = MemoryNodes()
    private let there = Volume.new()
    private let directory: TemporaryDirectory
    private let store: BlobVolumes

    init() async throws {
        directory = try TemporaryDirectory()
        store = try await BlobVolumes(
            own: FileBlobStore(directory: directory.path + "/blobs"),
            nodes: NodeBlobs(directory: nodes, client: nodes) { Self.secret },
            stagingDirectory: directory.path + "/staging")
    }

    private func answer(_ status: HTTPResponse.Status, _ headers: HTTPFields = [:], _ chunks: [[UInt8]] = []) {
        nodes.add(NodeAddress(id: Node.ID(), url: Self.url), with: there)
        let rest = Chunks(chunks)
        nodes.answer(at: Self.url, with: NodeAnswer(status: status, headers: headers) { await rest.next() })
    }

    private func obstacle(to id: Blob.ID) async -> StoreError? {
        do {
            let reader = try await store.open(id, range: 0..<3)
            while try await reader.next() != nil {}
            return nil
        } catch { return error }
    }

    @Test func `the node that has the bytes is asked, with a pass for them and no key of a client`() async throws {
        answer(.ok, [:], [[1, 2], [3]])
        let id = Blob.ID(in: there)
        let reader = try await store.open(id, range: 5..<8)
        var bytes: [UInt8] = []
        while let chunk = try await reader.next() { bytes += chunk }
        #expect(bytes == [1, 2, 3])
        let request = try #require(nodes.requests.first)
        #expect(request.method == .get && request.target == "/nodes/blobs/\(id)?from=5&to=8")
        #expect(request.headers.count == 1)
        let pass = try #require(request.headers[.authorization]?.dropFirst("Bearer ".count))
        func isGood(_ purpose: BlobPass.Purpose, _ blob: Blob.ID, _ secret: SessionSecret, after seconds: Int64) -> Bool
        {
            let now = Timestamp.now.advanced(by: .seconds(seconds))
            return BlobPass.isValid(String(pass), to: purpose, blob, secret: secret, now: now)
        }
        #expect(isGood(.read, id, Self.secret, after: 0))
        #expect(!isGood(.delete, id, Self.secret, after: 0), "for another purpose")
        #expect(!isGood(.read, Blob.ID(in: there), Self.secret, after: 0), "for another blob")
        #expect(!isGood(.read, id, SessionSecret(), after: 0), "by another secret")
        #expect(!isGood(.read, id, Self.secret, after: 61), "later")
        #expect(!isGood(.read, id, Self.secret, after: -3600), "by a clock that is an hour behind")
    }

    @Test func `a copy is made for a reader that needs a file`() async throws {
        answer(.ok, [:], [[1, 2, 3]])
        let file = try await store.file(of: Blob.ID(in: there), bytes: 3)
        #expect(file.isCopy && FileManager.default.contents(atPath: file.path) == Data([1, 2, 3]))
    }

    @Test func `only a node says that a blob is gone; whatever else fails, it is out of reach`() async throws {
        let id = Blob.ID(in: there)
        #expect(await obstacle(to: id)?.code == .blobAway, "no node has the volume")
        nodes.add(NodeAddress(id: Node.ID(), url: nil), with: there)
        #expect(await obstacle(to: id)?.code == .blobAway, "its node has no address")
        nodes.add(NodeAddress(id: Node.ID(), url: "http://10.0.0.2:8080"), with: there)
        #expect(await obstacle(to: id)?.code == .blobAway, "its node does not answer")
        for status in [401, 404, 421, 500, 503] {
            answer(HTTPResponse.Status(code: status), [.contentType: "text/html"])
            #expect(await obstacle(to: id)?.code == .blobAway, "\(status)")
        }
        answer(.ok, [:], [[1, 2]])
        #expect(await obstacle(to: id)?.code == .blobAway, "too few bytes")
        answer(.ok, [:], [[1, 2, 3, 4]])
        #expect(await obstacle(to: id)?.code == .blobAway, "too many bytes")
        answer(.notFound, [.contentType: "application/problem+json"])
        #expect(await obstacle(to: id)?.code == .blobGone)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/staging") == [])
    }

    @Test func `bytes in an object store that this node does not know are out of reach, not gone`() async throws {
        let error = await obstacle(to: Blob.ID(in: .shared))
        #expect(error?.code == .blobAway && error?.message.contains("S3_ENDPOINT") == true)
    }

    @Test func `what was in the directory before there was another store is read there`() async throws {
        let (own, main) = (
            try await FileBlobStore(directory: directory.path + "/blobs"), MemoryBlobStore(volume: .shared)
        )
        var draft = try await BlobDraft(in: own)
        try await draft.append([1, 2, 3])
        let old = try await draft.finish()
        let store = try await BlobVolumes(
            main: main, own: own, nodes: NodeBlobs(directory: nodes, client: nodes) { Self.secret },
            stagingDirectory: directory.path + "/staging")
        #expect(try await store.open(old.id, range: 0..<3).next() == [1, 2, 3])
        let new = try await store.create()
        try await new.finish()
        #expect(new.id.volume == .shared && main.count == 1)
        try await store.delete(old.id)
        let error = await #expect(throws: StoreError.self) { try await own.open(old.id, range: 0..<1) }
        #expect(error?.code == .blobGone)
    }

    @Test func `what another node is to remove and cannot is left to it`() async throws {
        try await store.delete(Blob.ID(in: there))
        answer(.noContent)
        try await store.delete(Blob.ID(in: there))
        #expect(nodes.requests.map(\.method) == [.delete])
    }

    @Test func `a volume with bodies that no node has is found, while others live`() async throws {
        try await StoreFixture.with { fixture in
            let client = fixture.database.client
            let catalog = PostgresBlobCatalog(client: client)
            for volume in [there, there, fixture.volumes[0], .shared] {
                let content = MeasuredBlob(id: Blob.ID(in: volume), bytes: 1, digest: SHA256Digest(of: [1]))
                _ = try await catalog.add(Blob(tenant: fixture.tenant, content: content, contentType: nil), nil)
            }
            #expect(try await LostVolume.all(client: client) == [])
            _ = try await fixture.queue().heartbeat()
            #expect(try await LostVolume.all(client: client) == [LostVolume(volume: there, count: 2)])
        }
    }

    @Test func `a directory is one volume, whoever opens it, and a copy of its files is the same one`() async throws {
        let place = directory.path + "/one"
        let stores = try await withThrowingTaskGroup(of: Volume.self) { group in
            for _ in 0..<8 { group.addTask { try await FileBlobStore(directory: place).volume } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(stores.count == 1 && !stores.contains(.shared))
        try FileManager.default.copyItem(atPath: place, toPath: directory.path + "/two")
        #expect(try await FileBlobStore(directory: directory.path + "/two").volume == stores.first)
        try Data("no number".utf8).write(to: URL(filePath: place + "/volume"))
        await #expect(throws: StoreError.self) { try await FileBlobStore(directory: place) }
    }
}

/// Gives chunks one after the other.
private actor Chunks {
    private var rest: ArraySlice<[UInt8]>

    init(_ chunks: [[UInt8]]) { rest = chunks[...] }

    func next() -> [UInt8]? { rest.popFirst() }
}
