import FetchJobs
import FetchRuntime

/// The blob store of one job, which waits while the bytes are out of reach: nothing is lost by that but time.
///
/// It gives up an hour after a request first failed, and when the job is stopped.
final class PatientBlobStore: BlobStore {
    private static let patience = Duration.seconds(3600)
    private static let backoff = RetryPolicy.Backoff(initial: .milliseconds(500), factor: 2, maximum: .seconds(15))
    /// How soon a wait ends when its job is stopped.
    private static let step = Duration.seconds(1)

    private let base: any BlobStore
    private let stop: StopSwitch

    init(_ base: any BlobStore, stop: StopSwitch) {
        self.base = base
        self.stop = stop
    }

    /// Asks again while the bytes are out of reach.
    fileprivate nonisolated(nonsending) func patiently<Value>(
        _ ask: nonisolated(nonsending) (_ isRepeated: Bool) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let deadline = ContinuousClock.now + Self.patience
        var tries = 0
        while true {
            do throws(StoreError) { return try await ask(tries > 0) } catch {
                guard error.code == .blobAway, await wait(after: tries), ContinuousClock.now < deadline else {
                    throw error
                }
                tries += 1
            }
        }
    }

    /// - Returns: Whether the job goes on.
    private nonisolated(nonsending) func wait(after tries: Int) async -> Bool {
        let end = ContinuousClock.now + Self.backoff.wait(after: tries, random: .random(in: 0...1))
        while stop.reason == nil, !Task.isCancelled, ContinuousClock.now < end {
            // Cancelled with its job: the loop ends then.
            try? await Task.sleep(for: min(Self.step, end - .now))
        }
        return stop.reason == nil && !Task.isCancelled
    }

    var volume: Volume { base.volume }

    func create() async throws(StoreError) -> any BlobWriter {
        PatientWriter(
            base: try await patiently { _ throws(StoreError) in try await base.create() }, store: self)
    }

    func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        PatientReader(first: try await opened(id, range), of: id, range, in: self)
    }

    fileprivate func opened(_ id: Blob.ID, _ range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        try await patiently { _ throws(StoreError) in try await base.open(id, range: range) }
    }

    /// Without a wait: who removes bytes does not need them.
    func delete(_ id: Blob.ID) async throws(StoreError) { try await base.delete(id) }

    func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob {
        try await patiently { _ throws(StoreError) in try await base.adopt(fileAt: path, digest) }
    }

    func file(of id: Blob.ID, bytes: Int64) async throws(StoreError) -> BlobFile {
        try await patiently { _ throws(StoreError) in try await base.file(of: id, bytes: bytes) }
    }

    func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError) {
        try await base.removeUnfinished(begunBefore: time)
    }

    func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError) {
        try await base.forEach(visit)
    }
}

private struct PatientWriter: BlobWriter {
    let base: any BlobWriter
    let store: PatientBlobStore

    var id: Blob.ID { base.id }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        // What was refused is kept by who refused it.
        try await store.patiently { isRepeated throws(StoreError) in try await base.write(isRepeated ? [] : bytes) }
    }

    func finish() async throws(StoreError) {
        try await store.patiently { _ throws(StoreError) in try await base.finish() }
    }

    func abandon() async { await base.abandon() }

    func growReadably() async throws(StoreError) -> Bool { try await base.growReadably() }

    func openGrowing() async throws(StoreError) -> any GrowingBody { try await base.openGrowing() }
}

/// Goes on where it was when the bytes come within reach again.
private actor PatientReader: BlobReader {
    private let id: Blob.ID
    private var range: Range<Int64>
    private let store: PatientBlobStore
    private var reader: any BlobReader

    init(first reader: any BlobReader, of id: Blob.ID, _ range: Range<Int64>, in store: PatientBlobStore) {
        self.reader = reader
        self.id = id
        self.range = range
        self.store = store
    }

    func next() async throws(StoreError) -> [UInt8]? {
        let bytes = try await store.patiently { isRepeated throws(StoreError) in try await next(reopening: isRepeated) }
        if let bytes { range = (range.lowerBound + Int64(bytes.count))..<range.upperBound }
        return bytes
    }

    private func next(reopening: Bool) async throws(StoreError) -> [UInt8]? {
        if reopening { reader = try await store.opened(id, range) }
        return try await reader.next()
    }
}
