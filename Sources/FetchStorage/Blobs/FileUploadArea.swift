import FetchEngine
package import FetchJobs
package import FetchRuntime
import NIOCore
import NIOFileSystem
import SystemPackage

/// Uploads as directories of files: one for each tenant, in it one for each upload, with its bytes and its terms.
package struct FileUploadArea: UploadArea {
    private static let contentName = "content"
    private static let termsName = "terms"

    package let volume: Volume
    private let directory: FilePath
    private let unfinished: UnfinishedUploads

    /// - Parameters:
    ///   - directory: Made when it is not there, for this user only.
    ///   - unfinished: Told what the uploads hold, beginning with those that are there.
    package init(directory: String, volume: Volume, unfinished: UnfinishedUploads) async throws(StoreError) {
        self.directory = FilePath(directory)
        self.volume = volume
        self.unfinished = unfinished
        try await FilePlace.wrap("The upload directory cannot be made.") {
            try await FilePlace.make(FilePath(directory))
        }
        for tenant in try await tenants() {
            for id in try await ids(of: tenant) {
                let content = place(of: id, tenant).appending(Self.contentName)
                let info = try await FilePlace.wrap("An upload cannot be read.") {
                    try await FileSystem.shared.info(forFileAt: content)
                }
                if let info { unfinished.begin(id, of: tenant, at: info.size) }
            }
        }
    }

    package func create(_ upload: Upload) async throws(StoreError) {
        let place = place(of: upload.id, upload.tenant)
        // It counts at once: others are begun meanwhile.
        unfinished.begin(upload.id, of: upload.tenant)
        do throws(StoreError) {
            try await FilePlace.wrap("An upload cannot be created.") {
                try await FilePlace.make(place)
                try await FilePlace.write(upload.json, to: place.appending(Self.termsName))
                try await FilePlace.write([], to: place.appending(Self.contentName))
            }
        } catch {
            unfinished.end(upload.id, of: upload.tenant)
            throw error
        }
    }

    package func upload(
        _ id: Upload.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> (upload: Upload, offset: Int64)? {
        let place = place(of: id, tenant)
        return try await FilePlace.wrap("An upload cannot be read.") {
            guard let info = try await FileSystem.shared.info(forFileAt: place.appending(Self.contentName)) else {
                return nil
            }
            let terms = try await ByteBuffer(
                contentsOf: place.appending(Self.termsName), maximumSizeAllowed: .kilobytes(64))
            guard let upload = Upload(id: id, tenant: tenant, json: Array(terms.readableBytesView)) else { return nil }
            return (upload, info.size)
        }
    }

    package func open(_ upload: Upload, at offset: Int64) async throws(StoreError) -> any UploadWriter {
        try await FilePlace.wrap("An upload cannot be written.") {
            let file = try await FileSystem.shared.openFile(
                forWritingAt: FilePath(path(of: upload)), options: .modifyFile(createIfNecessary: false))
            let writer = FileUploadWriter(file: file, of: upload, offset: offset, unfinished: unfinished)
            try await writer.truncate()
            return writer
        }
    }

    package func path(of upload: Upload) -> String {
        place(of: upload.id, upload.tenant).appending(Self.contentName).string
    }

    package func remove(_ id: Upload.ID, of tenant: Tenant.ID) async throws(StoreError) {
        try await FilePlace.wrap("An upload cannot be removed.") {
            _ = try await FileSystem.shared.removeItem(at: place(of: id, tenant))
        }
        unfinished.end(id, of: tenant)
    }

    package func remove(begunBefore time: Timestamp) async throws(StoreError) {
        let limit = Upload.ID(earliestAt: time)
        // Those that are younger may have no directory yet.
        let begun = Upload.ID(earliestAt: Timestamp.now.advanced(by: .seconds(-60)))
        for tenant in try await tenants() {
            let ids = try await ids(of: tenant)
            for id in ids where id < limit { try await remove(id, of: tenant) }
            // Another node that shares the directory has completed or removed them.
            for id in unfinished.ids(of: tenant).subtracting(ids) where id < begun { unfinished.end(id, of: tenant) }
        }
    }

    /// The tenants that have had uploads here.
    private func tenants() async throws(StoreError) -> [Tenant.ID] {
        try await FilePlace.names(in: directory).compactMap { Int64($0).map { Tenant.ID(rawValue: $0) } }
    }

    private func ids(of tenant: Tenant.ID) async throws(StoreError) -> [Upload.ID] {
        try await FilePlace.names(in: directory.appending("\(tenant)")).compactMap { Upload.ID($0) }
    }

    private func place(of id: Upload.ID, _ tenant: Tenant.ID) -> FilePath {
        directory.appending("\(tenant)").appending("\(id)")
    }
}

private actor FileUploadWriter: UploadWriter {
    private let file: WriteFileHandle
    private let upload: Upload
    private var offset: Int64
    private let unfinished: UnfinishedUploads
    /// Not when another node has begun it that shares the directory.
    private let isCounted: Bool

    init(file: WriteFileHandle, of upload: Upload, offset: Int64, unfinished: UnfinishedUploads) {
        self.file = file
        self.upload = upload
        self.offset = offset
        self.unfinished = unfinished
        isCounted = unfinished.resize(upload.id, of: upload.tenant, to: offset)
    }

    deinit {
        // Closed already, unless its owner was ended in the middle.
        try? file.detachUnsafeFileDescriptor().close()
    }

    func truncate() async throws { try await file.resize(to: .bytes(offset)) }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        // What is written to a file that is removed nobody sees, and it takes room.
        let isThere = unfinished.resize(upload.id, of: upload.tenant, to: offset + Int64(bytes.count))
        guard isThere || !isCounted else { throw StoreError(.blobGone, "The upload was removed.") }
        do { offset += try await file.write(contentsOf: bytes, toAbsoluteOffset: offset) } catch {
            throw StoreError(writing: error, "An upload cannot be written.")
        }
    }

    func close() async throws(StoreError) {
        do {
            try await file.synchronize()
            #if DEBUG
                CrashPoint.uploadAppended.pass()
            #endif
            try await file.close()
        } catch {
            throw StoreError(writing: error, "An upload cannot be made durable.")
        }
    }
}
