package import FetchJobs
import Foundation
import Synchronization

/// The contract of every form of ``BlobStore``.
package enum BlobStoreContract {
    private static func read(_ id: Blob.ID, _ range: Range<Int64>, in store: any BlobStore) async throws -> [UInt8] {
        let reader = try await store.open(id, range: range)
        var bytes: [UInt8] = []
        while let next = try await reader.next() { bytes += next }
        return bytes
    }

    private static func write(_ pieces: [UInt8]..., in store: any BlobStore) async throws -> Blob.ID {
        let writer = try await store.create()
        for piece in pieces { try await writer.write(piece) }
        try await writer.finish()
        return writer.id
    }

    /// Why a blob cannot be opened; nil when it can.
    private static func obstacle(to id: Blob.ID, in store: any BlobStore) async -> StoreError.Code? {
        do {
            _ = try await store.open(id, range: 0..<1)
            return nil
        } catch { return error.code }
    }

    private static func all(in store: any BlobStore) async throws -> Set<Blob.ID> {
        let found = Mutex<Set<Blob.ID>>([])
        try await store.forEach { some throws(StoreError) in found.withLock { $0.formUnion(some) } }
        return found.withLock(\.self)
    }

    private static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    package static let clauses: [Clause<any BlobStore>] = [
        Clause("every blob has the volume of the store in its id") { store in
            let written = try await write([1], in: store)
            let file = FileManager.default.temporaryDirectory.appending(path: "adopted-\(UUID())")
            try Data([2]).write(to: file)
            let adopted = try await store.adopt(fileAt: file.path)
            return compare("written", written.volume, store.volume)
                + compare("adopted", adopted.id.volume, store.volume)
        },
        Clause("what was written reads back, whole and in ranges") { store in
            let id = try await write(Array(content[..<100_000]), Array(content[100_000...]), in: store)
            return compare("whole", try await read(id, 0..<300_000, in: store) == content, true)
                + compare("part", try await read(id, 99_990..<100_010, in: store), Array(content[99_990..<100_010]))
                + compare("nothing", try await read(id, 5..<5, in: store), [])
        },
        Clause("a blob of no bytes is one") { store in
            let id = try await write(in: store)
            return compare("bytes", try await read(id, 0..<0, in: store), [])
                + compare("all", try await all(in: store), [id])
        },
        Clause("a blob is there when it is finished, and not before") { store in
            let writer = try await store.create()
            try await writer.write([1, 2, 3])
            let early = await obstacle(to: writer.id, in: store)
            let none = try await all(in: store)
            try await writer.finish()
            return compare("early", early, .blobGone) + compare("none", none, [])
                + compare("then", await obstacle(to: writer.id, in: store), nil)
        },
        Clause("what is abandoned never becomes a blob") { store in
            let writer = try await store.create()
            try await writer.write([1, 2, 3])
            await writer.abandon()
            return compare("found", await obstacle(to: writer.id, in: store), .blobGone)
                + compare("all", try await all(in: store), [])
        },
        Clause("what is deleted is gone, and says so; to delete it again is fine") { store in
            let ids = [try await write([1], in: store), try await write([2], in: store)]
            let before = try await all(in: store)
            try await store.delete(ids[0])
            try await store.delete(ids[0])
            return compare("before", before, Set(ids)) + compare("then", try await all(in: store), [ids[1]])
                + compare("found", await obstacle(to: ids[0], in: store), .blobGone)
                + compare("other", try await read(ids[1], 0..<1, in: store), [2])
        },
        Clause("a file that is adopted is a blob from then on, and the store's") { store in
            var faults: [String] = []
            for known in [nil, SHA256Digest(of: content)] {
                let file = FileManager.default.temporaryDirectory.appending(path: "adopted-\(UUID())")
                try Data(content).write(to: file)
                let blob = try await store.adopt(fileAt: file.path, known)
                faults +=
                    compare("bytes", blob.bytes, 300_000) + compare("digest", blob.digest, SHA256Digest(of: content))
                faults += compare("content", try await read(blob.id, 0..<300_000, in: store) == content, true)
                faults += compare("left", FileManager.default.fileExists(atPath: file.path), false)
            }
            return faults
        },
        Clause("the bytes of a blob are to be had as a file; a copy is the asker's") { store in
            let id = try await write(content, in: store)
            let file = try await store.file(of: id, bytes: Int64(content.count))
            let bytes = FileManager.default.contents(atPath: file.path)
            if file.isCopy { try FileManager.default.removeItem(atPath: file.path) }
            return compare("bytes", bytes.map { Array($0) == content }, true)
                + compare("blob", try await read(id, 0..<3, in: store), Array(content[..<3]))
        },
        Clause("what is left of a writer that was lost goes when it is old, and no blob does") { store in
            let id = try await write([1], in: store)
            try await store.create().write([1, 2, 3])
            try await store.removeUnfinished(begunBefore: .now.advanced(by: .seconds(60)))
            return compare("all", try await all(in: store), [id])
        },
        Clause("what a growing blob has so far can be read where that is offered") { store in
            let writer = try await store.create()
            let isOffered = try await writer.growReadably()
            try await writer.write([1, 2, 3])
            guard isOffered else {
                await writer.abandon()
                return []
            }
            let growing = try await writer.openGrowing()
            let early = try await growing.read(from: 0, upTo: 100)
            try await writer.write([4, 5])
            try await writer.finish()
            // Whoever has looked a moment before opens it a moment after.
            let whole = try await writer.openGrowing()
            return compare("early", early, [1, 2, 3])
                + compare("later", try await growing.read(from: 3, upTo: 100), [4, 5])
                + compare("whole", try await whole.read(from: 0, upTo: 100), [1, 2, 3, 4, 5])
        },
    ]
}
