package import FetchJobs
import Foundation
import NIOCore
import NIOFileSystem

/// Blobs as files of one directory.
///
/// Bytes go to a temporary name, are synced, and then get their own name: a file that has its name is whole.
package struct FileBlobStore: BlobStore {
    private let directory: FilePath

    /// - Parameter directory: Made when it is not there, for this user only.
    /// - Throws: ``StoreError`` when it cannot be made or written.
    package init(directory: String) async throws(StoreError) {
        self.directory = FilePath(directory)
        do {
            for name in ["new", "blobs"] {
                try await FileSystem.shared.createDirectory(
                    at: self.directory.appending(name),
                    withIntermediateDirectories: true,
                    permissions: [.ownerReadWriteExecute]
                )
            }
        } catch let error as FileSystemError where error.code == .fileAlreadyExists {
            // It is there: what we want.
        } catch {
            throw StoreError(.blob, "The blob directory \(directory) cannot be made.", underlying: error)
        }
    }

    package func create() async throws(StoreError) -> any BlobWriter {
        let id = Blob.ID()
        do {
            return try await FileBlobWriter(
                id: id, temporary: directory.appending("new").appending("\(id)"), final: path(id))
        } catch {
            throw StoreError(.blob, "A blob cannot be created.", underlying: error)
        }
    }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        do {
            let file = try await FileSystem.shared.openFile(forReadingAt: path(id))
            return FileBlobReader(file: file, range: range)
        } catch {
            throw StoreError(.blob, "A blob cannot be read.", underlying: error)
        }
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        do {
            try await FileSystem.shared.removeItem(at: path(id))
        } catch {
            throw StoreError(.blob, "A blob cannot be removed.", underlying: error)
        }
    }

    /// Blobs are spread over 1024 directories by the last characters of their ids, which are random.
    private func path(_ id: Blob.ID) -> FilePath {
        directory.appending("blobs").appending(String("\(id)".suffix(2))).appending("\(id)")
    }
}

/// Writes one file; a writer has one owner, which calls it in turn.
private actor FileBlobWriter: BlobWriter {
    let id: Blob.ID
    private let temporary: FilePath
    private let final: FilePath
    private let file: WriteFileHandle
    private var offset: Int64 = 0

    init(id: Blob.ID, temporary: FilePath, final: FilePath) async throws {
        self.id = id
        self.temporary = temporary
        self.final = final
        file = try await FileSystem.shared.openFile(
            forWritingAt: temporary,
            options: .newFile(replaceExisting: false, permissions: [.ownerReadWrite])
        )
    }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        do {
            offset += try await file.write(contentsOf: bytes, toAbsoluteOffset: offset)
        } catch {
            throw StoreError(.blob, "A blob cannot be written.", underlying: error)
        }
    }

    func finish() async throws(StoreError) {
        do {
            try await file.synchronize()
            try await file.close()
            let directory = final.removingLastComponent()
            try? await FileSystem.shared.createDirectory(at: directory, withIntermediateDirectories: true)
            try await FileSystem.shared.moveItem(at: temporary, to: final)
            try await FileSystem.shared.withDirectoryHandle(atPath: directory) { try await $0.synchronize() }
        } catch {
            throw StoreError(.blob, "A blob cannot be made durable.", underlying: error)
        }
    }

    func abandon() async {
        // Nobody refers to the file: what stays behind costs room only.
        try? await file.close()
        _ = try? await FileSystem.shared.removeItem(at: temporary)
    }
}
