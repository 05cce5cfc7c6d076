import FetchJobs
import Glibc
import NIOFileSystem
import SystemPackage

/// The operations that all stores of files share.
enum FilePlace {
    /// Makes a directory and those above it, for this user only.
    static func make(_ directory: FilePath) async throws {
        do {
            try await FileSystem.shared.createDirectory(
                at: directory, withIntermediateDirectories: true, permissions: [.ownerReadWriteExecute])
        } catch let error as FileSystemError where error.code == .fileAlreadyExists {
            // It is there already.
        }
    }

    /// Makes a small file, durably.
    static func write(_ bytes: [UInt8], to path: FilePath) async throws {
        try await FileSystem.shared.withFileHandle(
            forWritingAt: path, options: .newFile(replaceExisting: true, permissions: [.ownerReadWrite])
        ) { file in
            try await file.write(contentsOf: bytes, toAbsoluteOffset: 0)
            try await file.synchronize()
        }
    }

    /// Makes a file of what a reader has, piece by piece.
    static func write(_ reader: any BlobReader, to path: FilePath, replaceExisting: Bool) async throws {
        try await FileSystem.shared.withFileHandle(
            forWritingAt: path, options: .newFile(replaceExisting: replaceExisting, permissions: [.ownerReadWrite])
        ) { file in
            var offset: Int64 = 0
            while let chunk = try await reader.next() {
                offset += try await file.write(contentsOf: chunk, toAbsoluteOffset: offset)
            }
        }
    }

    /// Gives a file its name in one step, also when another has it: the library moves only to names that are free.
    static func rename(_ file: FilePath, to path: FilePath) throws {
        guard Glibc.rename(file.string, path.string) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Makes a copy of a blob for a reader that needs a file.
    static func copy(
        _ reader: any BlobReader, of id: Blob.ID, into directory: FilePath
    ) async throws(StoreError) -> BlobFile {
        let path = directory.appending("\(id)-\(UUIDv7().base32)")
        do throws(StoreError) {
            try await wrap("A copy of a blob cannot be made.") {
                try await write(reader, to: path, replaceExisting: false)
            }
            return BlobFile(path: path.string, isCopy: true)
        } catch {
            // A leftover is removed later.
            _ = try? await FileSystem.shared.removeItem(at: path)
            throw error
        }
    }

    static func names(in directory: FilePath) async throws(StoreError) -> [String] {
        try await wrap("A directory cannot be listed.") {
            try await FileSystem.shared.withDirectoryHandle(atPath: directory) { handle in
                var names: [String] = []
                for try await entry in handle.listContents() { names.append(entry.name.string) }
                return names
            }
        }
    }

    /// Removes the files of a directory that were not written since a time.
    static func removeFiles(in directory: FilePath, writtenBefore time: Timestamp) async throws(StoreError) {
        for name in try await names(in: directory) {
            let path = directory.appending(name)
            try await wrap("A file cannot be removed.") {
                // One that has got its own name meanwhile is gone from here.
                guard let written = try await FileSystem.shared.info(forFileAt: path)?.lastDataModificationTime,
                    Int64(written.seconds) < time.seconds
                else { return }
                _ = try await FileSystem.shared.removeItem(at: path)
            }
        }
    }

    /// Makes the names in a directory survive a loss of power.
    static func sync(_ directory: FilePath) async throws {
        try await FileSystem.shared.withDirectoryHandle(atPath: directory) { try await $0.synchronize() }
    }

    /// Turns errors of the file system into the store's.
    static func wrap<Result>(
        _ message: String,
        _ body: () async throws -> Result
    ) async throws(StoreError) -> Result {
        do { return try await body() } catch { throw StoreError(file: error, message) }
    }
}
