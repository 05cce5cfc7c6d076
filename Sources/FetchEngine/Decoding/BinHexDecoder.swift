/// Decodes BinHex 4.0 files: a Macintosh file with both of its forks as ASCII text (RFC 1741 appendix A).
///
/// Text before the file is skipped. The CRCs of the header and of both forks are checked. The content is the data
/// fork; the resource fork and the rest are in ``attributes``.
public struct BinHexDecoder: BodyDecoder {
    /// The name the guide uses, then the registered one.
    public static let mediaTypes = ["application/binhex", "application/mac-binhex40", "application/x-binhex40"]
    /// `hqx`.
    public static let filenameExtensions = ["hqx", "hcx"]

    /// The comment that RFC 1741 prescribes at the very beginning; with a label, any text of which a line begins with
    /// a colon.
    public static func recognizes(_ head: [UInt8], isComplete: Bool, isLabelled: Bool) -> FormatRecognition {
        let head = head.prefix(limit)
        // A byte that no text has ends the question early.
        if head.contains(where: { $0 < 0x09 || (0x0E..<0x20).contains($0) || $0 == 0x7F }) { return .no }
        guard isLabelled || BinHexStart.mayHaveBanner(head) else { return .no }
        if BinHexStart.find(in: head) { return isLabelled || BinHexStart.hasBanner(head) ? .yes : .no }
        return isComplete || head.count == limit ? .no : .needsMore
    }

    private static let limit = 4096

    private var text = BinHexText()
    private var parser = BinHexFile()

    /// Makes a decoder for one file.
    public init() {}

    /// The name, type, creator, flags and resource fork.
    public var attributes: DecodedAttributes { parser.attributes }
    /// Whether the header has been read.
    public var isHeaderRead: Bool { parser.isHeaderRead }

    /// Decodes the next chunk.
    public mutating func decode(_ chunk: [UInt8]) throws(LoadError) -> [UInt8] {
        var output: [UInt8] = []
        for character in chunk {
            guard let byte = try text.decode(character) else { continue }
            try parser.append(byte, to: &output)
        }
        return output
    }

    /// Checks that the file was whole.
    public mutating func finish() throws(LoadError) -> [UInt8] {
        guard parser.isComplete else {
            throw LoadError(.downloadDecodingFailedToComplete, "The BinHex file ends too early.")
        }
        return []
    }
}

/// Where a BinHex file begins.
private enum BinHexStart {
    /// Whether a line begins with a colon.
    static func find(in text: ArraySlice<UInt8>) -> Bool {
        var isLineStart = true
        for byte in text {
            if isLineStart, byte == UInt8(ascii: ":") { return true }
            isLineStart = byte == 0x0A || byte == 0x0D
        }
        return false
    }

    static func hasBanner(_ text: ArraySlice<UInt8>) -> Bool { withoutSpace(text).starts(with: banner) }

    /// Whether there is a banner, or there may be one when more comes.
    static func mayHaveBanner(_ text: ArraySlice<UInt8>) -> Bool {
        hasBanner(text) || banner.starts(with: withoutSpace(text))
    }

    private static func withoutSpace(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }

    private static let banner = Array("(This file must be converted with BinHex".utf8)
}

/// From characters to pairs of a byte and how often it comes.
private struct BinHexText {
    private enum State { case comment(isLineStart: Bool), data, over }

    private var state = State.comment(isLineStart: true)
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var run = BinHexRun()

    /// The bytes from one character; nil for none yet.
    mutating func decode(_ character: UInt8) throws(LoadError) -> BinHexRun.Piece? {
        switch state {
        case .comment(let isLineStart):
            if isLineStart, character == UInt8(ascii: ":") {
                state = .data
            } else {
                state = .comment(isLineStart: character == 0x0A || character == 0x0D)
            }
            return nil
        case .over: return nil
        case .data:
            if character == UInt8(ascii: ":") {
                state = .over
                return nil
            }
            guard character != 0x0A, character != 0x0D, character != 0x20, character != 0x09 else { return nil }
            return try append(character)
        }
    }

    private mutating func append(_ character: UInt8) throws(LoadError) -> BinHexRun.Piece? {
        let value = Self.values[Int(character)]
        guard value < 64 else {
            throw LoadError(.downloadDecodingFailedMidStream, "The BinHex file has a character that it cannot have.")
        }
        bits = bits << 6 | UInt32(value)
        bitCount += 6
        guard bitCount >= 8 else { return nil }
        bitCount -= 8
        return try run.decode(UInt8(truncatingIfNeeded: bits >> bitCount))
    }

    private static let values: [UInt8] = {
        let alphabet = "!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr"
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}

/// The run-length coding: 0x90 and a count repeat the byte before; 0x90 and zero is 0x90 itself.
private struct BinHexRun {
    typealias Piece = (byte: UInt8, count: Int)

    private var last: UInt8?
    private var isMarked = false

    mutating func decode(_ byte: UInt8) throws(LoadError) -> Piece? {
        guard isMarked else {
            isMarked = byte == 0x90
            if isMarked { return nil }
            last = byte
            return (byte, 1)
        }
        isMarked = false
        if byte == 0 {
            last = 0x90
            return (0x90, 1)
        }
        guard let last else {
            throw LoadError(.downloadDecodingFailedMidStream, "The BinHex file repeats a byte before the first one.")
        }
        return byte > 1 ? (last, Int(byte) - 1) : nil
    }
}

/// The file inside: a header and two forks, each with its CRC.
private struct BinHexFile {
    private enum Section { case header, data, resource, over }

    private(set) var attributes = DecodedAttributes()
    private var section = Section.header
    private var header: [UInt8] = []
    private var left = 1
    private var lengths = (data: 0, resource: 0)
    private var checksum = CRC16()
    /// The two bytes of a CRC, as they come.
    private var expected: [UInt8] = []

    var isHeaderRead: Bool { section != .header }
    var isComplete: Bool { section == .over }

    mutating func append(_ piece: BinHexRun.Piece, to output: inout [UInt8]) throws(LoadError) {
        for _ in 0..<piece.count { try append(piece.byte, to: &output) }
    }

    private mutating func append(_ byte: UInt8, to output: inout [UInt8]) throws(LoadError) {
        guard section != .over else { return }
        guard left > 0 else { return try appendChecksum(byte) }
        left -= 1
        checksum.update(byte)
        switch section {
        case .header:
            header.append(byte)
            // The first byte is the name's length; the fixed fields follow the name.
            if header.count == 1 { left = Int(byte) + 19 }
        case .data: output.append(byte)
        case .resource: attributes.resourceFork.append(byte)
        case .over: break
        }
    }

    private mutating func appendChecksum(_ byte: UInt8) throws(LoadError) {
        expected.append(byte)
        guard expected.count == 2 else { return }
        guard UInt16(expected[0]) << 8 | UInt16(expected[1]) == checksum.value else {
            throw LoadError(.downloadDecodingFailedMidStream, "The BinHex file is damaged: a checksum is wrong.")
        }
        expected = []
        checksum = CRC16()
        switch section {
        case .header:
            try readHeader()
            enter(.data, lengths.data)
        case .data: enter(.resource, lengths.resource)
        case .resource, .over: section = .over
        }
    }

    private mutating func enter(_ next: Section, _ count: Int) {
        section = next
        left = count
    }

    private mutating func readHeader() throws(LoadError) {
        let fields = BigEndianFields(bytes: header)
        let nameCount = Int(fields[byte: 0])
        let lengths = (data: Int(fields.long(nameCount + 12)), resource: Int(fields.long(nameCount + 16)))
        guard (1...63).contains(nameCount), lengths.data <= Int(Int32.max) else {
            throw LoadError(.downloadDecodingFailedMidStream, "The file has no valid BinHex header.")
        }
        guard lengths.resource <= MacintoshFork.maximumResourceBytes else { throw MacintoshFork.tooLarge }
        self.lengths = lengths
        attributes.name = fields.text(1, nameCount)
        attributes.type = fields.text(nameCount + 2, 4)
        attributes.creator = fields.text(nameCount + 6, 4)
        attributes.finderFlags = fields.word(nameCount + 10)
    }
}
