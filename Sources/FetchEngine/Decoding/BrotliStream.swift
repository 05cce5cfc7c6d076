import CBrotli

/// Undoes the `br` coding (RFC 7932).
// @unchecked: used by one decoder, and a decoder by one thread at a time.
final class BrotliStream: @unchecked Sendable, CodingStream {
    private let brotli = BrotliDecoderCreateInstance(nil, nil, nil)
    private let scratch = CodingScratch()
    private(set) var isAtEnd = false

    deinit { BrotliDecoderDestroyInstance(brotli) }

    var hasMore: Bool { !isAtEnd && BrotliDecoderHasMoreOutput(brotli) != 0 }

    func decode(_ input: ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int) throws(LoadError) -> Int {
        // Nothing is defined to come after the stream's end.
        guard !isAtEnd else { return input.count }
        var result = BROTLI_DECODER_RESULT_ERROR
        var taken = 0
        let room = max(1, min(CodingScratch.byteCount, limit - output.count))
        input.withUnsafeBufferPointer { input in
            var offered = input.count
            var next = input.baseAddress
            scratch.fill(&output, upTo: room) { buffer in
                var available = room
                var target = buffer.baseAddress
                result = BrotliDecoderDecompressStream(brotli, &offered, &next, &available, &target, nil)
                return room - available
            }
            taken = input.count - offered
        }
        guard result != BROTLI_DECODER_RESULT_ERROR else {
            throw LoadError(
                .cannotDecodeContentData, "The content is not what its coding says.",
                underlying: .init(
                    domain: "brotli", number: Int(BrotliDecoderGetErrorCode(brotli).rawValue),
                    text: "the stream is damaged"))
        }
        isAtEnd = result == BROTLI_DECODER_RESULT_SUCCESS
        return taken
    }
}
