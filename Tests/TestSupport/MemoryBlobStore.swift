package import FetchJobs
import Foundation
import Synchronization

/// The blobs of a test, in memory: the second form of ``BlobStore``.
package final class MemoryBlobStore: BlobStore {
    private let blobs = Mutex<[Blob.ID: [UInt8]]>([:])

    package let volume: Volume

    /// - Parameter volume: That of its ids.
    package init(volume: Volume = .new()) { self.volume = volume }

    /// How many there are.
    package var count: Int { blobs.withLock { $0.count } }

    package func create() async throws(StoreError) -> any BlobWriter { Writer(store: self) }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        guard let bytes = blobs.withLock({ $0[id] }) else { throw Self.gone }
        return Reader(bytes[...].dropFirst(Int(range.lowerBound)).prefix(range.count))
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        blobs.withLock { _ = $0.removeValue(forKey: id) }
    }

    package func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob {
        guard let content = FileManager.default.contents(atPath: path) else { throw Self.gone }
        try? FileManager.default.removeItem(atPath: path)
        let (id, bytes) = (Blob.ID(in: volume), Array(content))
        blobs.withLock { $0[id] = bytes }
        return MeasuredBlob(id: id, bytes: Int64(bytes.count), digest: digest ?? SHA256Digest(of: bytes))
    }

    package func file(of id: Blob.ID, bytes count: Int64) async throws(StoreError) -> BlobFile {
        guard let bytes = blobs.withLock({ $0[id] }) else { throw Self.gone }
        let path = FileManager.default.temporaryDirectory.appending(path: "blob-\(UUID())").path
        guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
            throw StoreError(.blob, "no copy could be made")
        }
        return BlobFile(path: path, isCopy: true)
    }

    package func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError) {}

    package func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError) {
        try await visit(blobs.withLock { Array($0.keys) })
    }

    private static var gone: StoreError { StoreError(.blobGone, "there is no such blob") }

    private final class Writer: BlobWriter {
        let id: Blob.ID
        private let store: MemoryBlobStore
        private let bytes = Mutex<[UInt8]>([])

        init(store: MemoryBlobStore) {
            self.store = store
            id = Blob.ID(in: store.volume)
        }

        func write(_ more: [UInt8]) async throws(StoreError) { bytes.withLock { $0 += more } }

        func finish() async throws(StoreError) {
            let whole = bytes.withLock { $0 }
            store.blobs.withLock { $0[id] = whole }
        }

        func abandon() async {}

        func growReadably() -> Bool { false }

        func openGrowing() async throws(StoreError) -> any GrowingBody { throw MemoryBlobStore.gone }
    }

    /// Gives a thousand bytes at a time.
    private final class Reader: BlobReader {
        private let rest: Mutex<ArraySlice<UInt8>>

        init(_ bytes: ArraySlice<UInt8>) { rest = Mutex(bytes) }

        func next() async throws(StoreError) -> [UInt8]? {
            rest.withLock { rest in
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(1000) }
                return Array(rest.prefix(1000))
            }
        }
    }
}
