import CCurl

/// A request body that is put into a content coding while it is read.
///
/// Touched on the loop's thread only.
final class CodedBody {
    /// The number of bytes that are read from the body at once.
    private static let chunk = 16 * 1024

    private let source: UploadSource
    private let encoder: any BodyEncoder
    /// Coded bytes that libcurl had no room for yet.
    private var pending: ArraySlice<UInt8> = []
    private var hasCodedAll = false
    /// How much of the body was read, since it last began.
    private(set) var countOfBytesRead: Int64 = 0
    private(set) var failure: LoadError?

    init(_ source: UploadSource, _ coding: BodyCoding) {
        self.source = source
        encoder = coding.makeEncoder()
    }

    /// Fills libcurl's buffer, as ``UploadSource/read(into:onReadable:)`` does.
    func read(into buffer: UnsafeMutableRawBufferPointer, onReadable: @escaping @Sendable () -> Void) -> Int {
        while pending.isEmpty, !hasCodedAll {
            var piece = [UInt8](repeating: 0, count: Self.chunk)
            let count = piece.withUnsafeMutableBytes { source.read(into: $0, onReadable: onReadable) }
            failure = source.failure
            guard count <= piece.count else { return count }
            countOfBytesRead += Int64(count)
            guard encode(piece[..<count]) else {
                failure = LoadError(.requestBodyStreamExhausted, "The body could not be compressed.")
                return Int(CURL_READFUNC_ABORT)
            }
        }
        let count = min(buffer.count, pending.count)
        buffer.copyBytes(from: pending.prefix(count))
        pending = pending.dropFirst(count)
        return count
    }

    /// No bytes are the end.
    private func encode(_ piece: ArraySlice<UInt8>) -> Bool {
        hasCodedAll = piece.isEmpty
        var output: [UInt8] = []
        defer { pending = output[...] }
        return piece.withUnsafeBytes { encoder.encode($0, isLast: hasCodedAll, into: &output) }
    }

    /// Begins again; false when the body cannot.
    func restart() -> Bool {
        guard source.seek(to: 0) else { return false }
        encoder.reset()
        (pending, hasCodedAll, countOfBytesRead) = ([], false, 0)
        return true
    }
}
