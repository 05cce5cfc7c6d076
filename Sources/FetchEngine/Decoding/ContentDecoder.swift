/// Undoes one content coding, a step at a time.
protocol CodingStream: AnyObject {
    /// Takes some of the input and appends some output, not much more than `limit` bytes in all.
    ///
    /// - Returns: How many bytes of the input were taken.
    /// - Throws: `cannotDecodeContentData`.
    func decode(_ input: ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int) throws(LoadError) -> Int

    /// Whether there may be output without more input.
    var hasMore: Bool { get }

    /// Whether the content may end here.
    var isAtEnd: Bool { get }
}

/// The content codings that are undone (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, CaseIterable {
    case gzip, deflate, br, zstd

    /// The line of a request that offers the codings.
    static let offer = "Accept-Encoding: " + allCases.map(\.rawValue).joined(separator: ", ")

    /// Reads one member of `Content-Encoding`, in lower case.
    init?(name: some StringProtocol) {
        switch name {
        case "x-gzip": self = .gzip
        default: self.init(rawValue: String(name))
        }
    }

    var stream: any CodingStream {
        switch self {
        case .gzip: ZlibStream(.gzip)
        case .deflate: ZlibStream(.zlibOrBare)
        case .br: BrotliStream()
        case .zstd: ZstdStream()
        }
    }
}

/// Undoes the content codings of a response, holding little at a time.
///
/// Bytes are put in as they come and taken out as they are wanted, so that a small piece that stands for gigabytes
/// is decoded no faster than it is read. The limit ends it where reading alone would not.
struct ContentDecoder {
    /// More layers than this serve no honest purpose (SEC-25).
    static let maximumLayers = 3
    /// How many steps are done at once, each of 16 KiB at most, before others have their turn.
    private static let stepsAtOnce = 128
    /// So many steps in a row that give nothing are the empty members, frames or blocks of a bomb that no count of
    /// bytes would ever stop.
    private static let maximumIdleSteps = 65_536

    private struct Layer {
        let stream: any CodingStream
        var input: [UInt8] = []
        var taken = 0
        /// How many steps in a row have given nothing.
        var idleSteps = 0

        var rest: ArraySlice<UInt8> { input[taken...] }

        mutating func compact() {
            input.removeFirst(taken)
            taken = 0
        }
    }

    /// The outermost coding first.
    private var layers: [Layer]
    private var limit: DecodingLimit
    private var hasBegun = false
    private var stepsLeft = 0

    /// Makes a decoder for the value of ``Response/contentCoding``; nil for none, and where one of them is not known:
    /// such a body is its reader's to understand.
    ///
    /// - Throws: `cannotDecodeContentData` for more layers than ``maximumLayers``.
    init?(coding: String, limit: DecodingLimits) throws(LoadError) {
        let names = coding.split { $0 == "," || $0 == " " }
        let codings = names.compactMap { ContentCoding(name: $0) }
        guard !names.isEmpty, codings.count == names.count else { return nil }
        guard names.count <= Self.maximumLayers else {
            throw LoadError(.cannotDecodeContentData, "The content is coded in more layers than are undone.")
        }
        layers = codings.reversed().map { Layer(stream: $0.stream) }
        self.limit = DecodingLimit(limit)
    }

    /// Whether everything put in has been taken out.
    var isDrained: Bool { layers.allSatisfy { $0.rest.isEmpty && !$0.stream.hasMore } }

    /// Takes coded bytes.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        hasBegun = hasBegun || !bytes.isEmpty
        limit.received(bytes.count)
        layers[0].compact()
        layers[0].input.append(contentsOf: bytes)
    }

    /// Appends decoded bytes until about `count` are there, nothing is left to decode, or it has been long enough.
    ///
    /// With fewer than `count` bytes there, and not ``isDrained``, it must be called again after others.
    mutating func read(into output: inout [UInt8], upTo count: Int) throws(LoadError) {
        let before = output.count
        stepsLeft = Self.stepsAtOnce
        while output.count < count, try step(layers.count - 1, into: &output, upTo: count) {}
        try limit.produced(output.count - before)
    }

    /// Checks that the content was whole.
    ///
    /// No content at all is allowed: some servers name a coding where they send nothing.
    func finish() throws(LoadError) {
        guard !hasBegun || layers.allSatisfy(\.stream.isAtEnd) else {
            throw LoadError(.cannotDecodeContentData, "The content ends before its coding does.")
        }
    }

    /// One step of a layer; false when it needs input that is not there, or no step is left.
    private mutating func step(_ index: Int, into output: inout [UInt8], upTo count: Int) throws(LoadError) -> Bool {
        if layers[index].rest.isEmpty, !layers[index].stream.hasMore {
            guard index > 0 else { return false }
            var inner: [UInt8] = []
            while inner.isEmpty {
                guard try step(index - 1, into: &inner, upTo: 16 * 1024) else { return false }
            }
            try limit.passedOn(inner.count)
            layers[index].compact()
            layers[index].input += inner
        }
        guard stepsLeft > 0 else { return false }
        stepsLeft -= 1
        let before = output.count
        layers[index].taken += try layers[index].stream.decode(layers[index].rest, into: &output, upTo: count)
        layers[index].idleSteps = output.count > before ? 0 : layers[index].idleSteps + 1
        guard layers[index].idleSteps < Self.maximumIdleSteps else {
            throw LoadError(.cannotDecodeContentData, "The content has more empty pieces than can be meant.")
        }
        return true
    }
}
