import FetchEngine
package import FetchJobs
import Glibc
import NIOCore
import NIOFileSystem
import SystemPackage

/// Blobs as files of one directory.
///
/// Bytes go to a temporary name, are synced, and then get their own name: a file that has its name is whole.
package final class FileBlobStore: BlobStore {
    private static let volumeName = "volume"

    package let volume: Volume
    private let directory: FilePath

    /// - Parameter directory: Made when it is not there, for this user only.
    /// - Throws: ``StoreError`` when it cannot be made or written.
    package init(directory: String) async throws(StoreError) {
        self.directory = FilePath(directory)
        let root = self.directory
        volume = try await FilePlace.wrap("The blob directory \(directory) cannot be made.") {
            for name in ["new", "blobs"] { try await FilePlace.make(root.appending(name)) }
            return try await Self.volume(of: root)
        }
    }

    /// The volume that a directory is, from its first use on: its number lies in it, and moves with its files.
    private static func volume(of directory: FilePath) async throws -> Volume {
        let path = directory.appending(volumeName)
        if try await FileSystem.shared.info(forFileAt: path) == nil {
            let draft = directory.appending("new").appending("\(volumeName)-\(UUIDv7().base32)")
            try await FilePlace.write(Array("\(Volume.new())\n".utf8), to: draft)
            // Of nodes that share the directory, the first one's counts.
            guard link(draft.string, path.string) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
            try await FilePlace.sync(directory)
            _ = try await FileSystem.shared.removeItem(at: draft)
        }
        let text = try await ByteBuffer(contentsOf: path, maximumSizeAllowed: .bytes(64))
        let line = String(decoding: text.readableBytesView, as: UTF8.self).prefix { $0 != "\n" }
        guard let volume = Volume(line), volume != .shared else {
            throw StoreError(.blob, "The file \(path) is not the number of a volume.")
        }
        return volume
    }

    package func create() async throws(StoreError) -> any BlobWriter {
        let id = Blob.ID(in: volume)
        do {
            return try await FileBlobWriter(
                id: id, temporary: directory.appending("new").appending("\(id)"), final: path(id))
        } catch {
            throw StoreError(writing: error, "A blob cannot be created.")
        }
    }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        try await open(path(id), range: range)
    }

    private func open(_ path: FilePath, range: Range<Int64>) async throws(StoreError) -> FileBlobReader {
        do {
            return FileBlobReader(file: try await FileSystem.shared.openFile(forReadingAt: path), range: range)
        } catch {
            throw StoreError(file: error, "A blob cannot be read.")
        }
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        do {
            _ = try await FileSystem.shared.removeItem(at: path(id))
        } catch {
            throw StoreError(file: error, "A blob cannot be removed.")
        }
    }

    package func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob {
        let source = FilePath(path)
        let id = Blob.ID(in: volume)
        do {
            let bytes = try await FileSystem.shared.withFileHandle(
                forWritingAt: source, options: .modifyFile(createIfNecessary: false)
            ) { file in
                try await file.synchronize()
                return try await file.info().size
            }
            let digest =
                if let digest { digest } else {
                    try await SHA256Digest(reading: open(source, range: 0..<bytes))
                }
            try await Self.move(source, to: self.path(id))
            return MeasuredBlob(id: id, bytes: bytes, digest: digest)
        } catch {
            throw StoreError(writing: error, "A file cannot be made a blob.")
        }
    }

    package func file(of id: Blob.ID, bytes: Int64) async throws(StoreError) -> BlobFile {
        BlobFile(path: path(id).string, isCopy: false)
    }

    package func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError) {
        try await FilePlace.removeFiles(in: directory.appending("new"), writtenBefore: time)
    }

    package func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError) {
        for name in try await FilePlace.names(in: directory.appending("blobs")) {
            let names = try await FilePlace.names(in: directory.appending("blobs").appending(name))
            try await visit(names.compactMap { Blob.ID($0) })
        }
    }

    /// Gives a file that is synced its name, durably.
    fileprivate static func move(_ source: FilePath, to final: FilePath) async throws {
        #if DEBUG
            CrashPoint.blobSynced.pass()
        #endif
        let directory = final.removingLastComponent()
        try await FilePlace.make(directory)
        try await FilePlace.sync(directory.removingLastComponent())
        try await FileSystem.shared.moveItem(at: source, to: final)
        try await FilePlace.sync(directory)
        #if DEBUG
            CrashPoint.blobNamed.pass()
        #endif
    }

    /// Blobs are spread over 1024 directories by the last characters of their ids, which are random.
    private func path(_ id: Blob.ID) -> FilePath {
        directory.appending("blobs").appending(String("\(id)".suffix(2))).appending("\(id)")
    }
}

/// Writes one file; a writer has one owner, which calls it in turn.
actor FileBlobWriter: BlobWriter {
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
            // Under its name from the first byte, so that it can be read while it grows.
            options: OpenOptions.Write(
                existingFile: .none,
                newFile: OpenOptions.NewFile(permissions: [.ownerReadWrite], transactionalCreation: false)
            )
        )
    }

    deinit {
        // Closed already, unless its owner's task was cancelled: the library closes nothing there, and ends the process
        // over a handle that was not closed.
        try? file.detachUnsafeFileDescriptor().close()
    }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        do {
            offset += try await file.write(contentsOf: bytes, toAbsoluteOffset: offset)
            #if DEBUG
                CrashPoint.blobWritten.pass()
            #endif
        } catch {
            throw StoreError(writing: error, "A blob cannot be written.")
        }
    }

    func finish() async throws(StoreError) {
        do {
            try await file.synchronize()
            try await file.close()
            try await FileBlobStore.move(temporary, to: final)
        } catch {
            throw StoreError(writing: error, "A blob cannot be made durable.")
        }
    }

    nonisolated func growReadably() -> Bool { true }

    func openGrowing() async throws(StoreError) -> any GrowingBody {
        do throws(StoreError) { return try await FileGrowingBody(path: temporary) } catch {
            guard error.code == .blobGone else { throw error }
            // It has its own name since a moment ago.
            return try await FileGrowingBody(path: final)
        }
    }

    func abandon() async {
        // Nobody refers to the file: a leftover costs room only.
        try? await file.close()
        _ = try? await FileSystem.shared.removeItem(at: temporary)
    }
}

extension StoreError {
    /// The store's error for an error of the file system about a blob that was there.
    init(file error: any Error, _ message: String) {
        if let error = error as? FileSystemError, error.code == .notFound {
            self.init(.blobGone, "There is no such blob any more.", underlying: error)
        } else {
            self.init(writing: error, message)
        }
    }

    /// The same for a blob that is being written: a path that is not found then is the store's.
    init(writing error: any Error, _ message: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as FileSystemError where error.isDiskFull:
            self.init(.full, "The blob store has no room left.", underlying: error)
        default: self.init(.blob, message, underlying: error)
        }
    }
}

extension FileSystemError {
    fileprivate var isDiskFull: Bool {
        guard let cause = cause as? FileSystemError.SystemCallError else { return false }
        return [ENOSPC, EDQUOT].contains(cause.errno.rawValue)
    }
}
