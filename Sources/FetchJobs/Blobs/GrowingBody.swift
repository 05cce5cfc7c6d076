/// Bytes that are read while more are appended.
package protocol GrowingBody: Sendable {
    /// Bytes from an offset on, up to so many; at least one, when that many were appended.
    func read(from offset: Int64, upTo count: Int64) async throws(StoreError) -> [UInt8]
}

/// A body that does not grow any more, and whose job has not ended yet.
package struct WholeBody: GrowingBody {
    private let id: Blob.ID
    private let blobs: any BlobStore

    package init(_ id: Blob.ID, in blobs: any BlobStore) {
        self.id = id
        self.blobs = blobs
    }

    package func read(from offset: Int64, upTo count: Int64) async throws(StoreError) -> [UInt8] {
        let reader = try await blobs.open(id, range: offset..<offset + count)
        guard let bytes = try await reader.next() else {
            throw StoreError(.blob, "A blob is shorter than it was.")
        }
        return bytes
    }
}
