package import FetchJobs
package import HTTPTypes

/// A blob store whose work is counted: what it does, how long that takes, what fails, and the bytes.
package final class CountedBlobStore: BlobStore {
    private let base: any BlobStore
    private let counts: BlobCounts

    package init(_ base: any BlobStore, _ metrics: MetricsRegistry) {
        self.base = base
        counts = BlobCounts(metrics)
    }

    package var volume: Volume { base.volume }

    package func create() async throws(StoreError) -> any BlobWriter {
        return CountedBlobWriter(
            base: try await counts.count(.create) { () throws(StoreError) in try await base.create() }, counts: counts)
    }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        return CountedBlobReader(
            base: try await counts.count(.open) { () throws(StoreError) in try await base.open(id, range: range) },
            counts: counts)
    }

    package func url(of id: Blob.ID, answering fields: HTTPFields) async throws(StoreError) -> String? {
        try await base.url(of: id, answering: fields)
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        try await counts.count(.delete) { () throws(StoreError) in try await base.delete(id) }
    }

    package func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob {
        let blob = try await counts.count(.adopt) { () throws(StoreError) in
            try await base.adopt(fileAt: path, digest)
        }
        counts.written.add(Int(blob.bytes))
        return blob
    }

    package func file(of id: Blob.ID, bytes: Int64) async throws(StoreError) -> BlobFile {
        return try await counts.count(.file) { () throws(StoreError) in try await base.file(of: id, bytes: bytes) }
    }

    package func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError) {
        try await base.removeUnfinished(begunBefore: time)
    }

    package func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError) {
        try await base.forEach(visit)
    }
}

/// The metrics of a blob store.
private struct BlobCounts: Sendable {
    enum Operation: String, CaseIterable {
        case create, write, finish, open, read, delete, adopt, file
    }

    let written: Counter
    let read: Counter
    private let durations: [Operation: Histogram]
    private let failures: MetricFamily<Counter>

    init(_ metrics: MetricsRegistry) {
        let family = metrics.histogram(.blobOperation)
        durations = Dictionary(uniqueKeysWithValues: Operation.allCases.map { ($0, family[$0.rawValue]) })
        failures = metrics.counter(.blobFailures)
        written = metrics.counter(.blobWritten)[]
        read = metrics.counter(.blobRead)[]
    }

    func count<Value>(
        _ operation: Operation, _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let start = ContinuousClock.now
        do throws(StoreError) {
            let value = try await body()
            durations[operation]?.observe(ContinuousClock.now - start)
            return value
        } catch {
            failures[operation.rawValue, error.code.rawValue].add()
            throw error
        }
    }
}

private struct CountedBlobWriter: BlobWriter {
    let base: any BlobWriter
    let counts: BlobCounts

    var id: Blob.ID { base.id }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        try await counts.count(.write) { () throws(StoreError) in try await base.write(bytes) }
        counts.written.add(bytes.count)
    }

    func finish() async throws(StoreError) {
        try await counts.count(.finish) { () throws(StoreError) in try await base.finish() }
    }

    func abandon() async { await base.abandon() }

    func growReadably() async throws(StoreError) -> Bool { try await base.growReadably() }

    func openGrowing() async throws(StoreError) -> any GrowingBody { try await base.openGrowing() }
}

private struct CountedBlobReader: BlobReader {
    let base: any BlobReader
    let counts: BlobCounts

    func next() async throws(StoreError) -> [UInt8]? {
        let bytes = try await counts.count(.read) { () throws(StoreError) in try await base.next() }
        if let bytes { counts.read.add(bytes.count) }
        return bytes
    }
}
