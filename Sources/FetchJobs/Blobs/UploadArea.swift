/// Where uploads grow that come in several requests: on this node's disk.
package protocol UploadArea: Sendable {
    /// The volume that the ids of uploads here have.
    var volume: Volume { get }

    func create(_ upload: Upload) async throws(StoreError)

    /// The upload and how many bytes of it are there; nil when the tenant has no such upload here.
    func upload(_ id: Upload.ID, of tenant: Tenant.ID) async throws(StoreError) -> (upload: Upload, offset: Int64)?

    /// Opens an upload to append to it from an offset on; bytes behind that are cut off.
    func open(_ upload: Upload, at offset: Int64) async throws(StoreError) -> any UploadWriter

    /// The file with the bytes.
    func path(of upload: Upload) -> String

    /// Removes an upload; one that is gone is fine.
    func remove(_ id: Upload.ID, of tenant: Tenant.ID) async throws(StoreError)

    /// Removes uploads that were begun before a time.
    func remove(begunBefore time: Timestamp) async throws(StoreError)
}

/// Appends to an upload, by one owner; ``close()`` is its last call.
package protocol UploadWriter: Sendable {
    /// Appends; returns when more can be taken.
    func write(_ bytes: [UInt8]) async throws(StoreError)

    /// Makes the written bytes survive a loss of power.
    func close() async throws(StoreError)
}
