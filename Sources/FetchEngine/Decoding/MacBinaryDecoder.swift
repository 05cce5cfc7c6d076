/// Decodes MacBinary I, II and III files: a Macintosh file with both of its forks and its Finder information.
///
/// The content is the data fork; the resource fork and the rest are in ``attributes``.
public struct MacBinaryDecoder: BodyDecoder {
    /// The name the guide uses first, then the ones that servers send.
    public static let mediaTypes = ["application/macbinary", "application/x-macbinary"]
    /// `bin` names many other things too, so the header decides.
    public static let filenameExtensions = ["bin", "macbin"]

    /// A header with its CRC is unmistakable; MacBinary I has none, so it is believed only with a label.
    public static func recognizes(_ head: [UInt8], isComplete: Bool, isLabelled: Bool) -> FormatRecognition {
        guard head.count >= MacBinaryHeader.byteCount else {
            return isComplete || head.first.map { $0 != 0 } ?? false ? .no : .needsMore
        }
        guard let header = MacBinaryHeader(head) else { return .no }
        return header.hasChecksum || isLabelled ? .yes : .no
    }

    private enum Section { case header, secondaryHeader, data, resource, rest }

    private var section = Section.header
    private var header: [UInt8] = []
    /// How much of the section is still to come, and the padding after it.
    private var left = MacBinaryHeader.byteCount
    private var padding = 0
    private var lengths: (data: Int, resource: Int) = (0, 0)

    /// Makes a decoder for one file.
    public init() {}

    /// The name, type, creator, flags, dates and resource fork.
    public private(set) var attributes = DecodedAttributes()
    /// Whether the header has been read.
    public var isHeaderRead: Bool { section != .header }

    /// Decodes the next chunk.
    public mutating func decode(_ chunk: [UInt8]) throws(LoadError) -> [UInt8] {
        var output: [UInt8] = []
        var rest = chunk[...]
        while !rest.isEmpty, section != .rest {
            let piece = rest.prefix(left)
            rest = rest.dropFirst(piece.count)
            left -= piece.count
            switch section {
            case .header: header += piece
            case .data: output += piece
            case .resource: attributes.resourceFork += piece
            case .secondaryHeader, .rest: break
            }
            try skipPadding(&rest)
        }
        return output
    }

    /// Checks that both forks were whole; padding at the end may be missing.
    public mutating func finish() throws(LoadError) -> [UInt8] {
        let isWhole = section == .rest || section == .resource && left == 0 || endsAfterData
        guard isWhole else {
            throw LoadError(.downloadDecodingFailedToComplete, "The MacBinary file ends too early.")
        }
        return []
    }

    private var endsAfterData: Bool { section == .data && left == 0 && lengths.resource == 0 }

    private mutating func skipPadding(_ rest: inout ArraySlice<UInt8>) throws(LoadError) {
        while left == 0 {
            let skipped = min(padding, rest.count)
            rest = rest.dropFirst(skipped)
            padding -= skipped
            guard padding == 0, section != .rest else { return }
            try nextSection()
        }
    }

    private mutating func nextSection() throws(LoadError) {
        switch section {
        case .header:
            guard let header = MacBinaryHeader(header) else {
                throw LoadError(.downloadDecodingFailedMidStream, "The file has no valid MacBinary header.")
            }
            guard header.resourceCount <= MacintoshFork.maximumResourceBytes else { throw MacintoshFork.tooLarge }
            attributes = header.attributes
            lengths = (header.dataCount, header.resourceCount)
            enter(.secondaryHeader, header.secondaryCount)
        case .secondaryHeader: enter(.data, lengths.data)
        case .data: enter(.resource, lengths.resource)
        case .resource: enter(.rest, 0)
        case .rest: break
        }
    }

    private mutating func enter(_ next: Section, _ count: Int) {
        section = next
        left = count
        padding = (128 - count % 128) % 128
    }
}

/// The common parts of the two Macintosh formats.
enum MacintoshFork {
    /// No system ever wrote a larger one: offsets inside have 24 bits.
    static let maximumResourceBytes = 16 << 20

    static var tooLarge: LoadError {
        LoadError(.dataLengthExceedsMaximum, "The resource fork of the file is larger than one can be.")
    }
}

/// The first 128 bytes of a MacBinary file.
struct MacBinaryHeader {
    static let byteCount = 128

    let attributes: DecodedAttributes
    let dataCount: Int
    let resourceCount: Int
    let secondaryCount: Int
    /// MacBinary II or III.
    let hasChecksum: Bool

    /// Reads a header; nil when the bytes are no header.
    init?(_ head: [UInt8]) {
        guard head.count >= Self.byteCount else { return nil }
        let fields = BigEndianFields(bytes: Array(head.prefix(Self.byteCount)))
        let nameCount = Int(fields[byte: 1])
        // Zero at three places distinguishes the format from others that lack a checksum.
        guard fields[byte: 0] == 0, fields[byte: 74] == 0, (1...63).contains(nameCount) else { return nil }
        var checksum = CRC16()
        checksum.update(fields.bytes[..<124])
        hasChecksum = checksum.value == fields.word(124)
        guard hasChecksum || Self.isFirstVersion(fields) else { return nil }
        dataCount = Int(fields.long(83))
        resourceCount = Int(fields.long(87))
        secondaryCount = hasChecksum ? Int(fields.word(120)) : 0
        guard dataCount <= Int(Int32.max), resourceCount <= Int(Int32.max) else { return nil }
        attributes = Self.attributes(fields, nameCount, hasChecksum)
    }

    /// MacBinary I left everything behind the dates empty.
    private static func isFirstVersion(_ fields: BigEndianFields) -> Bool {
        fields[byte: 82] == 0 && fields.bytes[101..<126].allSatisfy { $0 == 0 }
            && fields.bytes[2..<2 + Int(fields[byte: 1])].allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    private static func attributes(
        _ fields: BigEndianFields, _ nameCount: Int, _ hasChecksum: Bool
    ) -> DecodedAttributes {
        var attributes = DecodedAttributes()
        attributes.name = fields.text(2, nameCount)
        attributes.type = fields.text(65, 4)
        attributes.creator = fields.text(69, 4)
        attributes.finderFlags = UInt16(fields[byte: 73]) << 8 | (hasChecksum ? UInt16(fields[byte: 101]) : 0)
        attributes.created = fields.date(91)
        attributes.modified = fields.date(95)
        return attributes
    }
}
