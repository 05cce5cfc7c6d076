/// Decodes files of one format while they are downloaded.
///
/// Add your own to the configuration's list. Apart from HTTP content codings, which are undone before.
public protocol BodyDecoder: Sendable {
    /// The MIME types this decoder understands, in lower case.
    ///
    /// The first is the one that a delegate is asked about.
    static var mediaTypes: [String] { get }

    /// The extensions that names of such files have, in lower case and without the dot.
    static var filenameExtensions: [String] { get }

    /// Whether a download that goes through this decoder can go on in the middle; `false` by default.
    static var canResume: Bool { get }

    /// Judges by its first bytes whether a file has this format.
    ///
    /// - Parameters:
    ///   - head: The file's first bytes.
    ///   - isComplete: Whether these are all of them.
    ///   - isLabelled: Whether the type or the name says that it has; without that only an unmistakable sign counts.
    static func recognizes(_ head: [UInt8], isComplete: Bool, isLabelled: Bool) -> FormatRecognition

    /// Makes a decoder for one file.
    init()

    /// Decodes the next chunk.
    ///
    /// Called in order; never called after it throws. Chunks are small, so that the output of one stays in bounds.
    mutating func decode(_ chunk: [UInt8]) throws(LoadError) -> [UInt8]

    /// Decodes the remaining bytes at the end of the file.
    ///
    /// - Throws: `downloadDecodingFailedToComplete` when the file is not whole.
    mutating func finish() throws(LoadError) -> [UInt8]

    /// Whether everything before the content has been read, such as its name.
    var isHeaderRead: Bool { get }

    /// The attributes in the format beside the content, as far as they were read.
    var attributes: DecodedAttributes { get }
}

extension BodyDecoder {
    /// A decoder's state is not in the file, so a download through it starts from the beginning.
    public static var canResume: Bool { false }
}

/// Whether a file has a format.
public enum FormatRecognition: Sendable, Hashable {
    /// It has.
    case yes
    /// It has not.
    case no
    /// More of its bytes are needed to tell.
    case needsMore
}

/// The attributes of a decoded file beside its content.
public struct DecodedAttributes: Sendable, Hashable {
    /// The name the file had when it was encoded; not safe to open a file with.
    public var name: String?
    /// The four characters of a Macintosh file's type.
    public var type: String?
    /// The four characters of the program that made a Macintosh file.
    public var creator: String?
    /// The Finder's flags.
    public var finderFlags: UInt16?
    /// When it was made, in seconds since 1970; a Macintosh counts in its local time.
    public var created: Int64?
    /// When it was changed last, in seconds since 1970.
    public var modified: Int64?
    /// The resource fork; empty for none.
    public var resourceFork: [UInt8] = []

    /// Makes an empty set.
    public init() {}
}
