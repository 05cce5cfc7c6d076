/// The URL standard's basic URL parser (https://url.spec.whatwg.org/#url-parsing), as a scanner over UTF-8.
///
/// It writes the serialization as it reads. The standard's states are functions here; each ends by calling the next.
struct URLParser {
    let input: [UInt8]
    let base: URLRecord?
    var position = 0
    /// The serialization so far.
    var output: [UInt8] = []
    var layout = URLRecord.Layout()
    var special: SpecialScheme?

    /// Offsets are 32-bit, and percent-encoding makes three bytes of one.
    private static let maximumLength = 1 << 28

    static func parse(_ text: String, base: URLRecord?) throws(URLRecord.Failure) -> URLRecord {
        guard text.utf8.count <= maximumLength else { throw .tooLong }
        var parser = URLParser(input: cleaned(Array(text.utf8)), base: base)
        parser.output.reserveCapacity(parser.input.count + 8)
        try parser.parseScheme()
        parser.protectPath()
        parser.layout.special = parser.special
        return URLRecord(text: String(decoding: parser.output, as: UTF8.self), layout: parser.layout)
    }

    private init(input: [UInt8], base: URLRecord?) {
        self.input = input
        self.base = base
    }

    /// The text without control characters and spaces around it, and without tabs and line ends in it.
    private static func cleaned(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 <= 0x20 }) else { return bytes }
        let start = bytes.firstIndex { $0 > 0x20 } ?? bytes.endIndex
        let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? start
        return bytes[start..<end].filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
    }

    // MARK: Reading

    var current: UInt8? { position < input.count ? input[position] : nil }

    func byte(after offset: Int) -> UInt8? { position + offset < input.count ? input[position + offset] : nil }

    /// Whether a byte separates path segments: backslashes do in special schemes.
    func isSlash(_ byte: UInt8?) -> Bool {
        byte == UInt8(ascii: "/") || (special != nil && byte == UInt8(ascii: "\\"))
    }

    /// Whether a byte ends the authority or a path segment; the end of the input does too.
    func isBoundary(_ byte: UInt8?) -> Bool {
        byte == nil || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || isSlash(byte)
    }

    /// Where the next boundary is.
    func nextBoundary() -> Int {
        var index = position
        while index < input.count, !isBoundary(input[index]) { index += 1 }
        return index
    }

    // MARK: Scheme

    private mutating func parseScheme() throws(URLRecord.Failure) {
        guard let length = schemeLength() else { return try parseWithoutScheme() }
        for byte in input[..<length] { output.append(byte.asciiLowercased) }
        position = length + 1
        let scheme = String(decoding: output, as: UTF8.self)
        special = SpecialScheme(scheme)
        endScheme()
        switch special {
        case .file?:
            return try parseFile()
        case .some where base?.scheme == scheme && !(isSlashPair):
            return try parseRelative()
        case .some:
            return try parseSpecialAuthority()
        case nil where isSlashPair:
            position += 2
            try parseAuthority()
        case nil where current == UInt8(ascii: "/"):
            beginPath()
            parsePath()
        case nil:
            parseOpaquePath()
        }
    }

    /// The length of the scheme, or `nil` when the text has none.
    private func schemeLength() -> Int? {
        guard let first = input.first, first.isASCIILetter else { return nil }
        for (index, byte) in input.enumerated() where !(byte.isASCIILetter || byte.isASCIIDigit) {
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): continue
            case UInt8(ascii: ":"): return index
            default: return nil
            }
        }
        return nil
    }

    private var isSlashPair: Bool { current == UInt8(ascii: "/") && byte(after: 1) == UInt8(ascii: "/") }

    /// Marks the end of the scheme; without more, the URL has no authority.
    mutating func endScheme() {
        layout.schemeEnd = UInt32(output.count)
        output.append(UInt8(ascii: ":"))
        layout.usernameEnd = UInt32(output.count)
        layout.hostStart = UInt32(output.count)
        layout.hostEnd = UInt32(output.count)
        layout.authorityEnd = UInt32(output.count)
    }

    private mutating func parseWithoutScheme() throws(URLRecord.Failure) {
        guard let base else { throw .missingScheme }
        special = SpecialScheme(base.scheme)
        if base.hasOpaquePath {
            guard current == UInt8(ascii: "#") else { throw .opaqueBase }
            adopt(base, upTo: base.layout.fragmentStart)
            return parseFragment()
        }
        if special == .file {
            output.append(contentsOf: "file".utf8)
            endScheme()
            return try parseFile()
        }
        try parseRelative()
    }

    // MARK: Relative references

    private mutating func parseRelative() throws(URLRecord.Failure) {
        guard let base else { throw .missingScheme }
        if isSlash(current) {
            if special != nil, isSlash(byte(after: 1)) { return try parseSpecialAuthority() }
            if special == nil, isSlashPair {
                adopt(base, upTo: base.layout.schemeEnd + 1)
                position += 2
                return try parseAuthority()
            }
            adoptAuthority(of: base)
            return parsePath()
        }
        parseRelativePath(base)
    }

    /// Reads the rest when the reference does not start with a slash.
    mutating func parseRelativePath(_ base: URLRecord) {
        switch current {
        case nil, UInt8(ascii: "#")?:
            adopt(base, upTo: base.layout.fragmentStart)
            parseFragment()
        case UInt8(ascii: "?")?:
            adopt(base, upTo: base.layout.queryStart)
            parseQuery()
        default:
            adoptAuthority(of: base)
            append(base, from: base.layout.pathStart, to: base.layout.queryStart)
            shortenPath()
            parsePath()
        }
    }

    /// Starts the output with the beginning of the base, whose layout holds up to there.
    private mutating func adopt(_ base: URLRecord, upTo end: UInt32) {
        layout = base.layout
        output.removeAll(keepingCapacity: true)
        append(base, from: 0, to: end)
        if end <= base.layout.schemeEnd + 1 {
            output.removeLast(output.count - Int(base.layout.schemeEnd))
            layout = URLRecord.Layout()
            endScheme()
        }
    }

    /// Starts the output with the base's scheme, credentials, host and port.
    mutating func adoptAuthority(of base: URLRecord) {
        adopt(base, upTo: base.layout.authorityEnd)
        beginPath()
    }

    private mutating func append(_ base: URLRecord, from start: UInt32, to end: UInt32) {
        output.append(contentsOf: base.text.utf8.dropFirst(Int(start)).prefix(Int(end - start)))
    }
}
