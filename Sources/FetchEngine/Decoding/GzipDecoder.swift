/// Decodes gzip files (RFC 1952).
///
/// Members that follow one another are one file. Each member's CRC and length are checked. Bytes after the last member
/// are dropped when they do not begin like a member, as GNU gzip does with padding and garbage.
public struct GzipDecoder: BodyDecoder {
    /// `application/x-gzip` is the old name, `application/gzip` the registered one (RFC 6713).
    public static let mediaTypes = ["application/x-gzip", "application/gzip"]
    /// `gz` and `tgz`.
    public static let filenameExtensions = ["gz", "tgz"]

    /// The magic number, the one method there is, and no reserved flag.
    public static func recognizes(_ head: [UInt8], isComplete: Bool, isLabelled: Bool) -> FormatRecognition {
        guard head.count >= 4 else { return isComplete || !magic.starts(with: head.prefix(3)) ? .no : .needsMore }
        return head.starts(with: magic) && head[3] & 0xE0 == 0 ? .yes : .no
    }

    private static let magic: [UInt8] = [0x1F, 0x8B, 8]

    private let stream = ZlibStream(.gzip)
    private var hasBegun = false

    /// Makes a decoder for one file.
    public init() {}

    /// The name and time of the first member.
    public private(set) var attributes = DecodedAttributes()
    /// Whether the first member's header has been read.
    public private(set) var isHeaderRead = false

    /// Decodes the next chunk.
    public mutating func decode(_ chunk: [UInt8]) throws(LoadError) -> [UInt8] {
        var output: [UInt8] = []
        hasBegun = hasBegun || !chunk.isEmpty
        var offset = 0
        do {
            while offset < chunk.count || stream.hasMore {
                offset += try stream.decode(chunk[offset...], into: &output, upTo: .max)
            }
        } catch {
            throw LoadError(
                .downloadDecodingFailedMidStream, "The file is no valid gzip file.", underlying: error.underlying)
        }
        readHeader()
        return output
    }

    /// Checks that the last member is whole.
    public mutating func finish() throws(LoadError) -> [UInt8] {
        guard hasBegun, stream.isAtEnd else {
            throw LoadError(.downloadDecodingFailedToComplete, "The gzip file ends too early.")
        }
        return []
    }

    private mutating func readHeader() {
        guard !isHeaderRead, let header = stream.header else { return }
        isHeaderRead = true
        attributes.name = header.name.isEmpty ? nil : String(latin1: header.name)
        attributes.modified = header.time == 0 ? nil : Int64(header.time)
    }
}
