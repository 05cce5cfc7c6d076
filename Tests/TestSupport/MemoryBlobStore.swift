package import FetchEngine
package import FetchJobs
import Foundation
import Synchronization

/// The blobs of a test, in memory: the second form of ``BlobStore``.
package final class MemoryBlobStore: BlobStore {
    private let blobs = Mutex<[Blob.ID: [UInt8]]>([:])

    package init() {}

    /// How many there are.
    package var count: Int { blobs.withLock { $0.count } }

    package func create() async throws(StoreError) -> any BlobWriter { Writer(store: self) }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        guard let bytes = blobs.withLock({ $0[id] }), range.upperBound <= bytes.count else { throw Self.gone }
        return Reader(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        blobs.withLock { _ = $0.removeValue(forKey: id) }
    }

    package func adopt(fileAt path: String) async throws(StoreError) -> MeasuredBlob {
        guard let content = FileManager.default.contents(atPath: path) else { throw Self.gone }
        let (id, bytes) = (Blob.ID(), Array(content))
        blobs.withLock { $0[id] = bytes }
        return MeasuredBlob(id: id, bytes: Int64(bytes.count), digest: SHA256Digest(of: bytes))
    }

    package func file(of id: Blob.ID) async throws(StoreError) -> BlobFile {
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
        let id = Blob.ID()
        private let store: MemoryBlobStore
        private let bytes = Mutex<[UInt8]>([])

        init(store: MemoryBlobStore) { self.store = store }

        func write(_ more: [UInt8]) async throws(StoreError) { bytes.withLock { $0 += more } }

        func finish() async throws(StoreError) {
            let whole = bytes.withLock { $0 }
            store.blobs.withLock { $0[id] = whole }
        }

        func abandon() async {}

        var growsReadably: Bool { false }

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

/// The catalog of a test's blobs, in memory: the second form of ``BlobCatalog``.
///
/// Jobs hold their blobs for ever.
package final class MemoryBlobCatalog: BlobCatalog {
    private struct State {
        var blobs: [Blob.ID: Blob] = [:]
        var keys: [String: Blob.ID] = [:]
        var held: Set<Blob.ID> = []
    }

    private let state = Mutex(State())

    package init() {}

    package var count: Int { state.withLock { $0.blobs.count } }

    package func add(_ blob: Blob, key: String?) async throws(StoreError) -> Blob {
        state.withLock { state in
            if let key, let first = state.keys[key].flatMap({ state.blobs[$0] }) { return first }
            state.blobs[blob.id] = blob
            if let key { state.keys[key] = blob.id }
            return blob
        }
    }

    package func blob(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> Blob? {
        state.withLock { state in state.blobs[id].flatMap { $0.tenant == tenant ? $0 : nil } }
    }

    package func hold(
        _ ids: Set<Blob.ID>,
        for job: Job.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> Set<Blob.ID> {
        state.withLock { state in
            let known = ids.filter { state.blobs[$0]?.tenant == tenant }
            state.held.formUnion(known)
            return known
        }
    }

    package func remove(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> BlobRemoval {
        state.withLock { state in
            guard state.blobs[id]?.tenant == tenant else { return .missing }
            guard !state.held.contains(id) else { return .inUse }
            state.blobs[id] = nil
            return .removed
        }
    }

    package func addFile(
        _ blob: Blob,
        of job: Job.ID?,
        named name: String,
        replacing: Bool
    ) async throws(StoreError) -> (filename: String, replaced: Blob.ID?) {
        (name, nil as Blob.ID?)
    }

    package func addPartial(_ blob: Blob, _ data: ResumeData, of job: Job.ID) async throws(StoreError) {}

    package func partial(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> ResumeData? { nil }

    package func ended(among jobs: [Job.ID]) async throws(StoreError) -> [Job.ID] { [] }

    package func removeExpired() async throws(StoreError) -> [Blob.ID] {
        state.withLock { state in
            let due = state.blobs.values.filter { blob in blob.expiresAt.map { $0 < .now } ?? false }.map(\.id)
            for id in due { state.blobs[id] = nil }
            return due
        }
    }

    package func orphans(among ids: [Blob.ID]) async throws(StoreError) -> [Blob.ID] {
        state.withLock { state in ids.filter { state.blobs[$0] == nil } }
    }
}
