import FetchJobs
import NIOCore
import NIOFileSystem
import SystemPackage

/// Reads a range of one file.
actor FileBlobReader: BlobReader {
    private static let chunk: Int64 = 256 * 1024
    private let file: OpenFile
    private var range: Range<Int64>

    init(file: ReadFileHandle, range: Range<Int64>) {
        self.file = OpenFile(file)
        self.range = range
    }

    func next() async throws(StoreError) -> [UInt8]? {
        guard !range.isEmpty else { return nil }
        let bytes = try await file.read(from: range.lowerBound, upTo: min(Self.chunk, Int64(range.count)))
        guard !bytes.isEmpty else { throw StoreError(.blob, "A blob is shorter than it was.") }
        range = (range.lowerBound + Int64(bytes.count))..<range.upperBound
        return bytes
    }
}

/// Reads a file that others append to.
struct FileGrowingBody: GrowingBody {
    private let file: OpenFile

    init(path: FilePath) async throws(StoreError) {
        do { file = OpenFile(try await FileSystem.shared.openFile(forReadingAt: path)) } catch {
            throw StoreError(file: error, "A body that still grows cannot be read.")
        }
    }

    func read(from offset: Int64, upTo count: Int64) async throws(StoreError) -> [UInt8] {
        try await file.read(from: offset, upTo: count)
    }
}

/// A file open for reading, closed with the last reference: readers leave in the middle, and the library ends the
/// process over a handle that was not closed.
private final class OpenFile: Sendable {
    private let handle: ReadFileHandle

    init(_ handle: ReadFileHandle) { self.handle = handle }

    deinit {
        // Nothing was written through it, so nothing can be lost.
        try? handle.detachUnsafeFileDescriptor().close()
    }

    func read(from offset: Int64, upTo count: Int64) async throws(StoreError) -> [UInt8] {
        do {
            let buffer = try await handle.readChunk(fromAbsoluteOffset: offset, length: .bytes(count))
            return Array(buffer.readableBytesView)
        } catch {
            throw StoreError(file: error, "A blob cannot be read.")
        }
    }
}
