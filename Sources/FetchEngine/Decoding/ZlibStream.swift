import CZlib

/// Undoes deflate in one of its wrappers.
///
/// A gzip stream goes on over several members (RFC 1952 §2.2); bytes after the last one that are no member are dropped.
// @unchecked: used by one decoder, and a decoder by one thread at a time.
final class ZlibStream: @unchecked Sendable, CodingStream {
    enum Wrapper {
        case gzip
        /// The coding `deflate` (RFC 9110 §8.4.1.2), and the bare form that some servers send instead.
        case zlibOrBare
    }

    struct Header {
        let name: [UInt8]
        let time: UInt
    }

    private enum State { case beforeStream, inStream, betweenMembers, over }

    private let wrapper: Wrapper
    // On the heap: zlib's state points back at it.
    private let zlib = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let gzipHeader = UnsafeMutablePointer<gz_header>.allocate(capacity: 1)
    private let name = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1024)
    private let scratch = CodingScratch()
    private var isOpen = false
    private var state = State.beforeStream
    /// First bytes that were held back until it is known how they begin.
    private var held: [UInt8] = []

    init(_ wrapper: Wrapper) {
        self.wrapper = wrapper
        zlib.initialize(to: z_stream())
        gzipHeader.initialize(to: gz_header())
        name.initialize(repeating: 0)
    }

    deinit {
        if isOpen { inflateEnd(zlib) }
        zlib.deallocate()
        gzipHeader.deallocate()
        name.deallocate()
    }

    /// Nothing more is taken.
    var isOver: Bool { state == .over }
    /// It may end here.
    var isAtEnd: Bool { state == .over || state == .betweenMembers }

    /// There may be output without input.
    var hasMore: Bool { state == .inStream && (hasFilledOutput || !held.isEmpty) }
    private var hasFilledOutput = false

    /// The first member's header, once it has been read.
    private(set) var header: Header?

    func decode(_ input: ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int) throws(LoadError) -> Int {
        switch state {
        case .over: return input.count
        case .beforeStream: return try begin(input)
        case .betweenMembers: return try beginMember(input)
        case .inStream:
            guard held.isEmpty else {
                let taken = try inflate(held[...], into: &output, upTo: limit)
                held.removeFirst(taken)
                return 0
            }
            return try inflate(input, into: &output, upTo: limit)
        }
    }

    // MARK: Beginnings

    private func begin(_ input: ArraySlice<UInt8>) throws(LoadError) -> Int {
        switch wrapper {
        case .gzip:
            try open(windowBits: 15 + 16)
            return 0
        case .zlibOrBare:
            let taken = hold(input, upTo: 2)
            if held.count == 2 {
                let isWrapped = held[0] & 0x0F == 8 && (UInt(held[0]) << 8 | UInt(held[1])).isMultiple(of: 31)
                try open(windowBits: isWrapped ? 15 : -15)
            }
            return taken
        }
    }

    private func beginMember(_ input: ArraySlice<UInt8>) throws(LoadError) -> Int {
        let taken = hold(input, upTo: 2)
        guard held.count == 2 || held.first != 0x1F else { return taken }
        guard held == [0x1F, 0x8B] else {
            state = .over
            held = []
            return taken
        }
        inflateReset(zlib)
        state = .inStream
        return taken
    }

    private func hold(_ input: ArraySlice<UInt8>, upTo count: Int) -> Int {
        let taken = min(count - held.count, input.count)
        held += input.prefix(taken)
        return taken
    }

    private func open(windowBits: Int32) throws(LoadError) {
        let status = inflateInit2_(zlib, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw broken(status) }
        isOpen = true
        state = .inStream
        guard windowBits > 15 else { return }
        gzipHeader.pointee.name = name.baseAddress
        gzipHeader.pointee.name_max = UInt32(name.count)
        inflateGetHeader(zlib, gzipHeader)
    }

    // MARK: The middle

    private func inflate(
        _ input: ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int
    ) throws(LoadError) -> Int {
        var status = Z_OK
        var taken = 0
        let room = max(1, min(CodingScratch.byteCount, limit - output.count))
        input.withUnsafeBufferPointer { input in
            // zlib only reads its input, although its type is mutable.
            zlib.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            zlib.pointee.avail_in = UInt32(clamping: input.count)
            let offered = zlib.pointee.avail_in
            scratch.fill(&output, upTo: room) { buffer in
                zlib.pointee.next_out = buffer.baseAddress
                zlib.pointee.avail_out = UInt32(room)
                status = CZlib.inflate(zlib, Z_NO_FLUSH)
                return room - Int(zlib.pointee.avail_out)
            }
            taken = Int(offered - zlib.pointee.avail_in)
        }
        hasFilledOutput = zlib.pointee.avail_out == 0 && status == Z_OK
        try advance(status)
        return taken
    }

    private func advance(_ status: Int32) throws(LoadError) {
        readHeader()
        switch status {
        case Z_OK, Z_BUF_ERROR: return
        case Z_STREAM_END: state = wrapper == .gzip ? .betweenMembers : .over
        default: throw broken(status)
        }
    }

    private func readHeader() {
        guard header == nil, gzipHeader.pointee.done == 1 else { return }
        let bytes = gzipHeader.pointee.name == nil ? [] : Array(name.prefix { $0 != 0 })
        header = Header(name: bytes, time: gzipHeader.pointee.time)
    }

    private func broken(_ status: Int32) -> LoadError {
        let text = zlib.pointee.msg.map { String(cString: $0) } ?? "the stream is damaged"
        return LoadError(
            .cannotDecodeContentData, "The content is not what its coding says.",
            underlying: .init(domain: "zlib", number: Int(status), text: text))
    }
}
