package import FetchEngine
package import FetchJobs
package import FetchRuntime
import Synchronization

/// The catalog of a test's blobs, in memory: the second form of ``BlobCatalog``.
package final class MemoryBlobCatalog: BlobCatalog {
    private struct State {
        var blobs: [Blob.ID: Blob] = [:]
        var keys: [String: (fingerprint: SHA256Digest, id: Blob.ID)] = [:]
        var holders: [Blob.ID: Set<Job.ID>] = [:]
        var files: [String: Blob.ID] = [:]
        var partials: [Blob.ID: ResumeData] = [:]
        var maximum: Int64?

        func bytes(of tenant: Tenant.ID) -> Int64 {
            blobs.values.reduce(0) { $0 + ($1.tenant == tenant ? $1.content.bytes : 0) }
        }

        mutating func remove(_ id: Blob.ID) {
            blobs[id] = nil
            partials[id] = nil
            files = files.filter { $0.value != id }
        }
    }

    private let jobs: MemoryJobStore
    private let unfinished: UnfinishedUploads
    private let state = Mutex(State())

    /// - Parameters:
    ///   - jobs: Those that need blobs and name them.
    ///   - unfinished: Uploads that take room too.
    package init(jobs: MemoryJobStore, unfinished: UnfinishedUploads = UnfinishedUploads()) {
        self.jobs = jobs
        self.unfinished = unfinished
    }

    package var count: Int { state.withLock { $0.blobs.count } }

    /// Limits the bytes of each tenant.
    package func limit(to bytes: Int64) { state.withLock { $0.maximum = bytes } }

    package func room(of tenant: Tenant.ID) async throws(StoreError) -> BlobRoom? {
        state.withLock { state in
            let bytes = state.bytes(of: tenant) + unfinished.bytes(of: tenant)
            return state.maximum.map { BlobRoom(maximum: $0, left: max(0, $0 - bytes)) }
        }
    }

    package func add(_ blob: Blob, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<Blob> {
        let added: Creation<Blob>? = state.withLock { state in
            if let idempotency {
                let key = "\(blob.tenant) \(idempotency.key)"
                if let known = state.keys[key] {
                    guard known.fingerprint == idempotency.fingerprint else { return .conflict }
                    return state.blobs[known.id].map { .replayed($0) } ?? .conflict
                }
            }
            let bytes = state.bytes(of: blob.tenant) + unfinished.bytes(of: blob.tenant) + blob.content.bytes
            guard bytes <= state.maximum ?? .max else { return nil }
            if let idempotency {
                state.keys["\(blob.tenant) \(idempotency.key)"] = (idempotency.fingerprint, blob.id)
            }
            state.blobs[blob.id] = blob
            return .created(blob)
        }
        guard let added else { throw StoreError(.overQuota, "There is no room for the blob.") }
        return added
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
            let known = ids.filter { id in
                state.blobs[id].map { $0.tenant == tenant && !$0.isExpired } ?? false
            }
            for id in known { state.holders[id, default: []].insert(job) }
            return known
        }
    }

    /// A job that is not stored is about to be.
    private func isHeld(_ id: Blob.ID, in state: State) -> Bool {
        let holders = state.holders[id] ?? []
        return jobs.state.withLock { jobs in holders.contains { jobs.jobs[$0]?.state.isFinal != true } }
    }

    package func remove(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> BlobRemoval {
        state.withLock { state in
            guard state.blobs[id]?.tenant == tenant else { return .missing }
            guard !isHeld(id, in: state) else { return .inUse }
            state.remove(id)
            return .removed
        }
    }

    package func addFile(
        _ blob: Blob,
        of job: Job.ID?,
        named name: String,
        replacing: Bool
    ) async throws(StoreError) -> (filename: String, replaced: Blob.ID?) {
        state.withLock { state in
            let filename = replacing ? name : Self.freeName(name) { state.files["\(blob.tenant) \($0)"] != nil }
            let replaced = state.files["\(blob.tenant) \(filename)"]
            if let replaced { state.remove(replaced) }
            state.blobs[blob.id] = blob
            state.files["\(blob.tenant) \(filename)"] = blob.id
            return (filename, replaced)
        }
    }

    /// The name, or the first with a number that is not taken.
    private static func freeName(_ name: String, isTaken: (String) -> Bool) -> String {
        guard isTaken(name), let filename = Filename(sanitizing: name) else { return name }
        var number = 1
        while isTaken(filename.numbered(number).text) { number += 1 }
        return filename.numbered(number).text
    }

    package func addPartial(_ blob: Blob, _ data: ResumeData, of job: Job.ID) async throws(StoreError) {
        state.withLock { state in
            state.blobs[blob.id] = blob
            state.partials[blob.id] = data
            // It has no place on any disk while it is here.
            state.partials[blob.id]?.path = ""
        }
    }

    package func partial(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> ResumeData? {
        state.withLock { state in state.blobs[id]?.tenant == tenant ? state.partials[id] : nil }
    }

    package func ended(among ids: [Job.ID]) async throws(StoreError) -> [Job.ID] {
        jobs.state.withLock { jobs in ids.filter { jobs.jobs[$0]?.state.isFinal != false } }
    }

    package func removeExpired() async throws(StoreError) -> [Blob.ID] {
        state.withLock { state in
            let due = state.blobs.values.filter { $0.isExpired && !isHeld($0.id, in: state) }.map(\.id)
            for id in due { state.remove(id) }
            return due
        }
    }

    package func orphans(among ids: [Blob.ID]) async throws(StoreError) -> [Blob.ID] {
        let named = jobs.state.withLock { jobs in Set(jobs.bodies.values.compactMap(\.blob)) }
        return state.withLock { state in ids.filter { state.blobs[$0] == nil && !named.contains($0) } }
    }
}

extension Blob {
    fileprivate var isExpired: Bool { expiresAt.map { $0 < .now } ?? false }
}

extension StoredBody {
    fileprivate var blob: Blob.ID? { if case .blob(let id) = location { id } else { nil } }
}
