package import HTTPTypes

/// Bytes that are too many for a row.
package protocol BlobStore: Sendable {
    /// The volume that the ids of new blobs have.
    var volume: Volume { get }

    /// Starts a blob; its bytes exist for others once it is finished.
    func create() async throws(StoreError) -> any BlobWriter

    /// Opens a blob to read a range of its bytes.
    ///
    /// - Throws: A ``StoreError`` with the code `blobGone` when there is no such blob, and `blobAway` when its bytes are
    ///   out of reach for now.
    func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader

    /// A URL by which whoever has it reads a blob from the store itself, for some time; nil where there is none.
    ///
    /// - Parameter fields: The `Content-Type` and `Content-Disposition` that the store answers with.
    func url(of id: Blob.ID, answering fields: HTTPFields) async throws(StoreError) -> String?

    /// Removes a blob; one that is gone is fine.
    func delete(_ id: Blob.ID) async throws(StoreError)

    /// Makes a blob of a file on this machine, durably; the file is the store's then.
    ///
    /// - Parameter digest: The digest of its bytes; nil when it is not known.
    func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob

    /// The bytes of a blob as a file on this machine, for readers that need one.
    ///
    /// - Parameter bytes: How many the blob has.
    func file(of id: Blob.ID, bytes: Int64) async throws(StoreError) -> BlobFile

    /// Removes blobs that were begun before and never finished, as a crash leaves them.
    func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError)

    /// Visits all blobs that are stored, some at a time.
    func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError)
}

/// A file that holds the bytes of a blob.
package struct BlobFile: Sendable {
    package let path: String
    /// It was made for who asked, who removes it; otherwise it is the store's own and must not be changed.
    package let isCopy: Bool

    package init(path: String, isCopy: Bool) {
        self.path = path
        self.isCopy = isCopy
    }
}

extension BlobStore {
    package func adopt(fileAt path: String) async throws(StoreError) -> MeasuredBlob {
        try await adopt(fileAt: path, nil)
    }

    package func url(of id: Blob.ID, answering fields: HTTPFields) async throws(StoreError) -> String? { nil }
}

/// A blob being written, by one writer.
package protocol BlobWriter: Sendable {
    var id: Blob.ID { get }

    /// Appends; returns when more can be taken.
    ///
    /// - Throws: `blobAway` while the store is out of reach; the bytes are taken then, and writing none tries again.
    func write(_ bytes: [UInt8]) async throws(StoreError)

    /// Makes the bytes durable under their id.
    func finish() async throws(StoreError)

    /// Removes the written bytes.
    func abandon() async

    /// Has the bytes kept where they can be read while more come; called before the first is written.
    ///
    /// - Returns: false when that is not offered.
    func growReadably() async throws(StoreError) -> Bool

    /// Opens the bytes written so far, to be read while more are written.
    func openGrowing() async throws(StoreError) -> any GrowingBody
}

/// A blob being read, by one reader.
package protocol BlobReader: Sendable {
    /// The next bytes, or nil at the end.
    func next() async throws(StoreError) -> [UInt8]?
}
