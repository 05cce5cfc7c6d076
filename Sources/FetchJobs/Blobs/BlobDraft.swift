import Crypto

/// A blob being written, measured on the way.
///
/// Either ``finish()`` or ``abandon()`` is its last call.
package struct BlobDraft: Sendable {
    private let writer: any BlobWriter
    private let digest: SHA256Digest?
    private var hash = SHA256()
    /// How many bytes were written.
    package private(set) var count: Int64 = 0

    /// - Parameter digest: The digest that its bytes will have; nil to take it.
    package init(in blobs: any BlobStore, _ digest: SHA256Digest? = nil) async throws(StoreError) {
        writer = try await blobs.create()
        self.digest = digest
    }

    /// Appends bytes; returns when more can be taken.
    package mutating func append(_ bytes: [UInt8]) async throws(StoreError) {
        if digest == nil { bytes.withUnsafeBytes { hash.update(bufferPointer: $0) } }
        count += Int64(bytes.count)
        try await writer.write(bytes)
    }

    /// Makes the bytes durable.
    package func finish() async throws(StoreError) -> MeasuredBlob {
        try await writer.finish()
        return MeasuredBlob(id: writer.id, bytes: count, digest: digest ?? SHA256Digest(hash.finalize()))
    }

    /// Has the bytes kept where they can be read while more come; called before the first is written.
    ///
    /// - Returns: false when that is not offered.
    package func growReadably() async throws(StoreError) -> Bool { try await writer.growReadably() }

    /// Opens the bytes written so far, to be read while more are written.
    package func openGrowing() async throws(StoreError) -> any GrowingBody { try await writer.openGrowing() }

    /// Removes the written bytes.
    package func abandon() async { await writer.abandon() }
}
