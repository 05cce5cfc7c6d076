package import FetchJobs
import NIOCore
import NIOFileSystem
import SystemPackage

/// Uploads as directories of files: one for each tenant, in it one for each upload, with its bytes and its terms.
package struct FileUploadArea: UploadArea {
    private static let contentName = "content"
    private static let termsName = "terms"

    package let volume: Volume
    private let directory: FilePath

    /// - Parameter directory: Made when it is not there, for this user only.
    package init(directory: String, volume: Volume) async throws(StoreError) {
        self.directory = FilePath(directory)
        self.volume = volume
        try await FilePlace.wrap("The upload directory cannot be made.") {
            try await FilePlace.make(FilePath(directory))
        }
    }

    package func create(_ upload: Upload) async throws(StoreError) {
        let place = place(of: upload.id, upload.tenant)
        try await FilePlace.wrap("An upload cannot be created.") {
            try await FilePlace.make(place)
            try await FilePlace.write(upload.json, to: place.appending(Self.termsName))
            try await FilePlace.write([], to: place.appending(Self.contentName))
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
            let writer = FileUploadWriter(file: file, offset: offset)
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
    }

    package func remove(begunBefore time: Timestamp) async throws(StoreError) {
        let limit = UUIDv7(earliestAt: time)
        for tenant in try await FilePlace.names(in: directory).compactMap({ Int64($0) }) {
            let tenant = Tenant.ID(rawValue: tenant)
            for name in try await FilePlace.names(in: directory.appending("\(tenant)")) {
                guard let id = Upload.ID(name), id.uuid < limit else { continue }
                try await remove(id, of: tenant)
            }
        }
    }

    private func place(of id: Upload.ID, _ tenant: Tenant.ID) -> FilePath {
        directory.appending("\(tenant)").appending("\(id)")
    }
}

private actor FileUploadWriter: UploadWriter {
    private let file: WriteFileHandle
    private var offset: Int64

    init(file: WriteFileHandle, offset: Int64) {
        self.file = file
        self.offset = offset
    }

    deinit {
        // Closed already, unless its owner was ended in the middle.
        try? file.detachUnsafeFileDescriptor().close()
    }

    func truncate() async throws { try await file.resize(to: .bytes(offset)) }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        do { offset += try await file.write(contentsOf: bytes, toAbsoluteOffset: offset) } catch {
            throw StoreError(writing: error, "An upload cannot be written.")
        }
    }

    func close() async throws(StoreError) {
        do {
            try await file.synchronize()
            try await file.close()
        } catch {
            throw StoreError(writing: error, "An upload cannot be made durable.")
        }
    }
}
