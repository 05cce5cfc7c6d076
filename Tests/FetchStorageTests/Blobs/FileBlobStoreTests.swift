import FetchJobs
import FetchStorage
import Foundation
import Synchronization
import Testing

@Suite struct FileBlobStoreTests {
    private func with(_ body: (FileBlobStore, URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "blobs-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(try await FileBlobStore(directory: directory.path()), directory)
    }

    private func read(_ reader: any BlobReader) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await reader.next() { bytes += chunk }
        return bytes
    }

    @Test func `what was written reads back, whole and in ranges`() async throws {
        try await with { store, _ in
            let content = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let writer = try await store.create()
            try await writer.write(Array(content[..<300_000]))
            try await writer.write(Array(content[300_000...]))
            try await writer.finish()
            #expect(try await read(store.open(writer.id, range: 0..<700_000)) == content)
            #expect(
                try await read(store.open(writer.id, range: 299_990..<300_010)) == Array(content[299_990..<300_010]))
        }
    }

    @Test func `what was never finished goes when nobody has written to it for long`() async throws {
        try await with { store, directory in
            let writer = try await store.create()
            try await writer.write([1, 2, 3])
            let new = directory.appending(path: "new").path()
            try await store.removeUnfinished(begunBefore: .now.advanced(by: .seconds(-60)))
            #expect(try FileManager.default.contentsOfDirectory(atPath: new).count == 1)
            try await store.removeUnfinished(begunBefore: .now.advanced(by: .seconds(60)))
            #expect(try FileManager.default.contentsOfDirectory(atPath: new).isEmpty)
            await writer.abandon()
        }
    }

    @Test func `a blob exists only when it is finished`() async throws {
        try await with { store, directory in
            let writer = try await store.create()
            try await writer.write([1, 2, 3])
            await #expect(throws: StoreError.self) { try await store.open(writer.id, range: 0..<3) }
            await writer.abandon()
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.appending(path: "new").path())
            #expect(left.isEmpty)
        }
    }

    // A store that is gone is told from a blob that is gone.
    @Test func `a store that cannot be written to says so`() async throws {
        try await with { store, directory in
            try FileManager.default.removeItem(at: directory)
            let failure = await #expect(throws: StoreError.self) { try await store.create() }
            #expect(failure?.code == .blob)
            let reading = await #expect(throws: StoreError.self) { try await store.open(Blob.ID(), range: 0..<1) }
            #expect(reading?.code == .blobGone)
        }
    }

    @Test func `a second store opens the same directory`() async throws {
        try await with { store, directory in
            let writer = try await store.create()
            try await writer.finish()
            let other = try await FileBlobStore(directory: directory.path())
            #expect(try await read(other.open(writer.id, range: 0..<0)).isEmpty)
            try await other.delete(writer.id)
        }
    }

    @Test func `a file that is adopted becomes a blob and is gone from its place`() async throws {
        try await with { store, directory in
            let content = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let path = directory.appending(path: "found").path()
            try Data(content).write(to: URL(filePath: path))
            let blob = try await store.adopt(fileAt: path)
            #expect(blob.bytes == 600_000)
            #expect(blob.digest == SHA256Digest(of: content))
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(try await read(store.open(blob.id, range: 0..<600_000)) == content)
            let file = try await store.file(of: blob.id)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(content))
        }
    }

    @Test func `every blob is visited, and one that is gone says so`() async throws {
        try await with { store, _ in
            var ids: Set<Blob.ID> = []
            for _ in 0..<20 {
                let writer = try await store.create()
                try await writer.finish()
                ids.insert(writer.id)
            }
            let seen = Mutex<Set<Blob.ID>>([])
            try await store.forEach { some throws(StoreError) in seen.withLock { $0.formUnion(some) } }
            #expect(seen.withLock { $0 } == ids)
            let first = try #require(ids.first)
            try await store.delete(first)
            try await store.delete(first)
            let error = await #expect(throws: StoreError.self) { try await store.open(first, range: 0..<0) }
            #expect(error?.code == .blobGone)
        }
    }

    @Test func `a reader that is left in the middle does no harm`() async throws {
        try await with { store, _ in
            let writer = try await store.create()
            try await writer.write(Array(repeating: 1, count: 600_000))
            try await writer.finish()
            for _ in 0..<3 { _ = try await store.open(writer.id, range: 0..<600_000).next() }
            #expect(try await read(store.open(writer.id, range: 0..<600_000)).count == 600_000)
        }
    }

    @Test func `a writer that is given up in a cancelled task does no harm`() async throws {
        try await with { store, _ in
            let task = Task {
                let writer = try await store.create()
                try await writer.write([1, 2, 3])
                withUnsafeCurrentTask { $0?.cancel() }
                await writer.abandon()
            }
            try await task.value
        }
    }

    @Test func `what is written so far can be read`() async throws {
        try await with { store, _ in
            let writer = try await store.create()
            try await writer.write([1, 2, 3])
            let growing = try await writer.openGrowing()
            #expect(try await growing.read(from: 0, upTo: 100) == [1, 2, 3])
            try await writer.write([4, 5])
            try await writer.finish()
            #expect(try await growing.read(from: 3, upTo: 100) == [4, 5])
        }
    }
}
