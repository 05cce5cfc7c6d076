import CZstd

/// Undoes the `zstd` coding (RFC 8878), frame after frame.
// @unchecked: used by one decoder, and a decoder by one thread at a time.
final class ZstdStream: @unchecked Sendable, CodingStream {
    /// Every decoder supports a window of 8 MiB, and one of HTTP needs no more (RFC 9659).
    private static let maximumWindowLog: Int32 = 23

    private let zstd = ZSTD_createDCtx()
    private let scratch = CodingScratch()
    private(set) var isAtEnd = false
    private(set) var hasMore = false

    init() { ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, Self.maximumWindowLog) }

    deinit { ZSTD_freeDCtx(zstd) }

    func decode(_ input: ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int) throws(LoadError) -> Int {
        var status = 0
        var taken = 0
        var isFull = false
        let room = max(1, min(CodingScratch.byteCount, limit - output.count))
        input.withUnsafeBufferPointer { input in
            var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
            scratch.fill(&output, upTo: room) { buffer in
                var target = ZSTD_outBuffer(dst: buffer.baseAddress, size: room, pos: 0)
                status = ZSTD_decompressStream(zstd, &target, &source)
                isFull = target.pos == room
                return target.pos
            }
            taken = source.pos
        }
        guard ZSTD_isError(status) == 0 else {
            throw LoadError(
                .cannotDecodeContentData, "The content is not what its coding says.",
                underlying: .init(
                    domain: "zstd", number: Int(ZSTD_getErrorCode(status).rawValue),
                    text: String(cString: ZSTD_getErrorName(status))))
        }
        isAtEnd = status == 0
        hasMore = isFull && !isAtEnd
        return taken
    }
}
