package import FetchEngine

/// The blobs that clients may name; their bytes are in the ``BlobStore``.
///
/// Bytes come before their row and go after it, so a crash leaves bytes without a row at worst; ``orphans(among:)``
/// finds those.
package protocol BlobCatalog: Sendable {
    /// How many more bytes a tenant may store; nil for as many as it likes.
    ///
    /// Others may take them meanwhile: what goes beyond is refused with `overQuota` when it is added.
    func room(of tenant: Tenant.ID) async throws(StoreError) -> BlobRoom?

    /// Adds a blob whose bytes are stored.
    ///
    /// - Returns: The blob, or the one that the key made before; the bytes of this one are then for the caller to delete.
    func add(_ blob: Blob, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<Blob>

    /// Adds a file that came with a download under a name that no other file of the tenant has.
    ///
    /// - Parameters:
    ///   - job: The job whose file it is; nil for a second file that came with the same download.
    ///   - name: The proposed name; a number is put before the extension when the name is taken.
    ///   - replacing: Whether a file of that name gives way instead.
    /// - Returns: The name it got, and the blob it has replaced, whose bytes are to go.
    func addFile(
        _ blob: Blob,
        of job: Job.ID?,
        named name: String,
        replacing: Bool
    ) async throws(StoreError) -> (filename: String, replaced: Blob.ID?)

    /// Adds the partial file of a job's download, and the data to continue it.
    func addPartial(_ blob: Blob, _ data: ResumeData, of job: Job.ID) async throws(StoreError)

    /// The data to continue a partial file; nil when the tenant has no such blob, or the blob is a whole file.
    func partial(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> ResumeData?

    /// The jobs among these that are not in the queue any more.
    func ended(among jobs: [Job.ID]) async throws(StoreError) -> [Job.ID]

    /// The blob of this id, or nil when the tenant has no such blob.
    func blob(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> Blob?

    /// Keeps blobs from being deleted until a job is final that is about to be stored.
    ///
    /// - Returns: The blobs that the tenant has.
    func hold(_ ids: Set<Blob.ID>, for job: Job.ID, of tenant: Tenant.ID) async throws(StoreError) -> Set<Blob.ID>

    /// Removes the row of a blob that no job needs any more.
    func remove(_ id: Blob.ID, of tenant: Tenant.ID) async throws(StoreError) -> BlobRemoval

    /// Removes the rows of expired blobs that no job needs, and other expired rows.
    ///
    /// - Returns: The blobs whose bytes are to go now, up to some number.
    func removeExpired() async throws(StoreError) -> [Blob.ID]

    /// The stored blobs among these that nothing refers to.
    func orphans(among ids: [Blob.ID]) async throws(StoreError) -> [Blob.ID]
}

/// How many bytes of blobs a tenant may have.
package struct BlobRoom: Sendable, Equatable {
    package let maximum: Int64
    /// How many more there is room for.
    package let left: Int64

    package init(maximum: Int64, left: Int64) {
        self.maximum = maximum
        self.left = left
    }
}

/// The result of a request to remove a blob.
package enum BlobRemoval: Sendable, Equatable {
    case removed
    /// A job that is not final needs it.
    case inUse
    case missing
}
