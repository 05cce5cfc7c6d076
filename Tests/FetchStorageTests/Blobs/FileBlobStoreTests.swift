import FetchJobs
import FetchStorage
import Foundation
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
    // Proves: REL-9.
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
}
