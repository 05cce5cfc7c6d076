import CZlib
import CZstd

/// Puts a request body into a content coding while it is sent.
protocol BodyEncoder: AnyObject {
    /// Takes bytes, the last ones of the body when `isLast`, and appends the encoded ones.
    ///
    /// Returns false when the library cannot go on.
    func encode(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) -> Bool

    /// Begins again with an empty body.
    func reset()
}

extension BodyCoding {
    func makeEncoder() -> any BodyEncoder {
        switch self {
        case .gzip: GzipEncoder()
        case .zstd: ZstdEncoder()
        }
    }
}

/// Makes one gzip member (RFC 1952).
private final class GzipEncoder: BodyEncoder {
    private static let gzipWindowBits: Int32 = 15 + 16
    private static let memoryLevel: Int32 = 8

    // On the heap: zlib's state points back at it.
    private let zlib = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let scratch = CodingScratch()
    private let isOpen: Bool

    init() {
        zlib.initialize(to: z_stream())
        isOpen =
            deflateInit2_(
                zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, Self.gzipWindowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    }

    deinit {
        if isOpen { deflateEnd(zlib) }
        zlib.deallocate()
    }

    func reset() { if isOpen { deflateReset(zlib) } }

    func encode(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) -> Bool {
        guard isOpen else { return false }
        // zlib only reads its input, although its type is mutable.
        zlib.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        zlib.pointee.avail_in = UInt32(input.count)
        var status = Z_OK
        repeat {
            scratch.fill(&output, upTo: CodingScratch.byteCount) { buffer in
                zlib.pointee.next_out = buffer.baseAddress
                zlib.pointee.avail_out = UInt32(buffer.count)
                status = deflate(zlib, isLast ? Z_FINISH : Z_NO_FLUSH)
                return buffer.count - Int(zlib.pointee.avail_out)
            }
        } while status == Z_OK && zlib.pointee.avail_out == 0
        return status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR
    }
}

/// Makes one Zstandard frame (RFC 8878), with a window that every decoder takes (RFC 9659).
private final class ZstdEncoder: BodyEncoder {
    private let zstd = ZSTD_createCCtx()
    private let scratch = CodingScratch()

    deinit { ZSTD_freeCCtx(zstd) }

    func reset() { ZSTD_CCtx_reset(zstd, ZSTD_reset_session_only) }

    func encode(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) -> Bool {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var rest = 0
        repeat {
            scratch.fill(&output, upTo: CodingScratch.byteCount) { buffer in
                var target = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
                rest = ZSTD_compressStream2(zstd, &target, &source, isLast ? ZSTD_e_end : ZSTD_e_continue)
                return target.pos
            }
            guard ZSTD_isError(rest) == 0 else { return false }
        } while source.pos < source.size || isLast && rest > 0
        return true
    }
}
