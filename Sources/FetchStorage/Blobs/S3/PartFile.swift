import FetchEngine
import FetchJobs
import NIOFileSystem

/// The bytes of one request to an object store, which gather in a file until they are sent, however often.
///
/// The file has its name once it is complete: nothing is left of one that a crash cuts off.
actor PartFile {
    let path: FilePath
    private(set) var count = 0
    private let file: WriteFileHandle
    private let hash = ContentDigest.sha256.stream()
    private var digest: [UInt8]?

    init(_ path: FilePath) async throws(StoreError) {
        self.path = path
        do {
            file = try await FileSystem.shared.openFile(
                forWritingAt: path,
                options: .newFile(replaceExisting: true, permissions: [.ownerReadWrite]))
        } catch { throw StoreError(writing: error, "A part of a blob cannot be kept.") }
    }

    deinit {
        // As that of FileBlobWriter: closed already, unless its owner's task was cancelled.
        try? file.detachUnsafeFileDescriptor().close()
    }

    func append(_ bytes: [UInt8]) async throws(StoreError) {
        do { _ = try await file.write(contentsOf: bytes, toAbsoluteOffset: Int64(count)) } catch {
            throw StoreError(writing: error, "A part of a blob cannot be kept.")
        }
        count += bytes.count
        hash.append(bytes)
    }

    /// The SHA-256 of its bytes, to which none is added any more.
    func finish() async throws(StoreError) -> [UInt8] {
        if let digest { return digest }
        do { try await file.close() } catch { throw StoreError(writing: error, "A part of a blob cannot be kept.") }
        let digest = hash.finish()
        self.digest = digest
        return digest
    }

    func remove() async {
        _ = try? await finish()
        // A leftover is removed later.
        _ = try? await FileSystem.shared.removeItem(at: path)
    }
}
