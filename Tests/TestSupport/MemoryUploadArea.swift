package import FetchJobs
package import FetchRuntime
import Foundation
import Synchronization

/// The uploads of a test, as files of a directory that goes with it: the second form of ``UploadArea``.
package final class MemoryUploadArea: UploadArea {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "uploads-\(UUID())")
    private let uploads = Mutex<[Upload.ID: Upload]>([:])
    private let interlude = Mutex<(@Sendable () async -> Void)?>(nil)

    package let volume = Volume.new()

    private let unfinished: UnfinishedUploads

    /// - Parameter unfinished: Told what the uploads hold.
    package init(unfinished: UnfinishedUploads = UnfinishedUploads()) { self.unfinished = unfinished }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Has something happen once, after an upload is looked at and before its caller knows.
    package func onceAfterLook(_ body: @escaping @Sendable () async -> Void) { interlude.withLock { $0 = body } }

    package func create(_ upload: Upload) async throws(StoreError) {
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: path(of: upload), contents: Data())
        uploads.withLock { $0[upload.id] = upload }
        unfinished.begin(upload.id, of: upload.tenant)
    }

    package func upload(
        _ id: Upload.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> (upload: Upload, offset: Int64)? {
        guard let upload = uploads.withLock({ $0[id] }), upload.tenant == tenant else { return nil }
        let offset = Int64(FileManager.default.contents(atPath: path(of: upload))?.count ?? 0)
        let interlude = interlude.withLock { $0.take() }
        await interlude?()
        return (upload, offset)
    }

    package func open(_ upload: Upload, at offset: Int64) async throws(StoreError) -> any UploadWriter {
        guard let file = FileHandle(forWritingAtPath: path(of: upload)) else {
            throw StoreError(.blobGone, "there is no such upload")
        }
        do { try file.truncate(atOffset: UInt64(offset)) } catch {
            throw StoreError(.blob, "an upload cannot be cut", underlying: error)
        }
        _ = unfinished.resize(upload.id, of: upload.tenant, to: offset)
        return Writer(file: file, of: upload, offset: offset, unfinished: unfinished)
    }

    package func path(of upload: Upload) -> String { directory.appending(path: "\(upload.id)").path }

    package func remove(_ id: Upload.ID, of tenant: Tenant.ID) async throws(StoreError) {
        remove { $0.id == id && $0.tenant == tenant }
    }

    package func remove(begunBefore time: Timestamp) async throws(StoreError) {
        let limit = Upload.ID(earliestAt: time)
        remove { $0.id < limit }
    }

    private func remove(_ isMeant: (Upload) -> Bool) {
        let removed = uploads.withLock { uploads in
            let removed = uploads.values.filter(isMeant)
            for upload in removed { uploads[upload.id] = nil }
            return removed
        }
        for upload in removed {
            try? FileManager.default.removeItem(atPath: path(of: upload))
            unfinished.end(upload.id, of: upload.tenant)
        }
    }

    private actor Writer: UploadWriter {
        private let file: FileHandle
        private let upload: Upload
        private var offset: Int64
        private let unfinished: UnfinishedUploads

        init(file: FileHandle, of upload: Upload, offset: Int64, unfinished: UnfinishedUploads) {
            self.file = file
            self.upload = upload
            self.offset = offset
            self.unfinished = unfinished
        }

        func write(_ bytes: [UInt8]) async throws(StoreError) {
            offset += Int64(bytes.count)
            guard unfinished.resize(upload.id, of: upload.tenant, to: offset) else {
                throw StoreError(.blobGone, "the upload was removed")
            }
            do { try file.write(contentsOf: Data(bytes)) } catch {
                throw StoreError(.blob, "an upload cannot be written", underlying: error)
            }
        }

        func close() async throws(StoreError) { try? file.close() }
    }
}
