/// Bytes that are too many for a row.
package protocol BlobStore: Sendable {
    /// Starts a blob; its bytes exist for others once it is finished.
    func create() async throws(StoreError) -> any BlobWriter

    /// Opens a blob to read a range of its bytes.
    func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader

    func delete(_ id: Blob.ID) async throws(StoreError)
}

/// A blob being written, by one writer.
package protocol BlobWriter: Sendable {
    var id: Blob.ID { get }

    /// Appends; returns when more can be taken.
    func write(_ bytes: [UInt8]) async throws(StoreError)

    /// Makes the bytes durable under their id.
    func finish() async throws(StoreError)

    /// Removes what was written.
    func abandon() async
}

/// A blob being read, by one reader.
package protocol BlobReader: Sendable {
    /// The next bytes, or nil at the end.
    func next() async throws(StoreError) -> [UInt8]?
}
