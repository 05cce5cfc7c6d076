import HTTPTypes

/// Gathers the lines of a response's head as libcurl hands them over, and reads them once, at the end.
struct HeadCollector {
    /// A status line and the fields below it.
    struct Head {
        var status: HTTPResponse.Status
        var httpVersion: String
        var fields: HTTPFields
        /// The body's length as the fields tell it.
        var contentLength: Int64?
        /// Both kinds of framing were there, which smugglers like: the connection must not be used again.
        var isFramedTwice = false
        /// It states a coding of the body.
        var isCoded = false
        /// It may state digests of the body, or announce them.
        var saysDigests = false
    }

    /// A head with more lines than this is hostile.
    static let maximumFields = 2000

    private let names: FieldNames
    private var bytes: [UInt8] = []
    private var lineEnds: [Int] = []

    init(_ names: FieldNames) { self.names = names }

    var isEmpty: Bool { lineEnds.isEmpty }

    /// Takes a line with its line end.
    ///
    /// Returns true when it is the empty line that ends the head.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Bool {
        var count = line.count
        while count > 0, line[count - 1] == 0x0A || line[count - 1] == 0x0D { count -= 1 }
        guard count > 0 else { return true }
        if lineEnds.isEmpty {
            bytes.reserveCapacity(512)
            lineEnds.reserveCapacity(16)
        }
        // A line that starts with white space continues the one before (RFC 9112 §5.2).
        if lineEnds.count > 1, line[0] == 0x20 || line[0] == 0x09 { lineEnds.removeLast() }
        bytes.append(contentsOf: line[..<count])
        lineEnds.append(bytes.count)
        return false
    }

    /// The fields gathered, as trailers are, or those below a request line: there is no status line.
    consuming func trailers() throws(LoadError) -> HTTPFields { try fields(from: 0) }

    /// Reads the gathered lines.
    consuming func head() throws(LoadError) -> Head {
        guard let end = lineEnds.first else { throw Self.malformed("It has no status line.") }
        let line = bytes[..<end]
        let versionEnd = line.firstIndex(of: 0x20) ?? end
        let rest = line[versionEnd...].dropFirst()
        let codeEnd = rest.firstIndex(of: 0x20) ?? end
        guard let code = Self.number(rest[..<codeEnd]), (100...999).contains(code) else {
            throw Self.malformed("Its status line cannot be read.")
        }
        guard let version = Self.version(line[..<versionEnd]) else {
            throw Self.malformed("Its version is not one of HTTP.")
        }
        let fields = try fields(from: 1)
        var head = Head(
            status: .init(code: Int(code), reasonPhrase: Self.text(rest[codeEnd...].dropFirst())),
            httpVersion: version, fields: fields)
        try head.readFraming()
        return head
    }

    private borrowing func fields(from first: Int) throws(LoadError) -> HTTPFields {
        guard lineEnds.count <= Self.maximumFields else { throw Self.malformed("It has too many header fields.") }
        var fields = HTTPFields()
        fields.reserveCapacity(lineEnds.count)
        bytes.withUnsafeBufferPointer { bytes in
            var start = first == 0 ? 0 : lineEnds[first - 1]
            for end in lineEnds[first...] {
                if let field = field(UnsafeBufferPointer(rebasing: bytes[start..<end])) { fields.append(field) }
                start = end
            }
        }
        return fields
    }

    /// A line as a field, or nil when it has no name that could be one: such lines are skipped, as browsers do.
    ///
    /// So are those whose value is no text of any language, and would be slow to compare.
    private borrowing func field(_ line: UnsafeBufferPointer<UInt8>) -> HTTPField? {
        guard let colon = line.firstIndex(of: 0x3A),
            let name = names.name(UnsafeBufferPointer(rebasing: line[..<colon]))
        else { return nil }
        var (start, end) = (colon + 1, line.count)
        while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
        while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
        let value = UnsafeBufferPointer(rebasing: line[start..<end])
        // A value of printable ASCII needs no search for an encoding.
        let isPlain = value.allSatisfy { 0x20...0x7E ~= $0 }
        if isPlain { return HTTPField(name: name, value: String(decoding: value, as: UTF8.self)) }
        // In quoted strings any character may have a backslash before it, which is taken away where they are read.
        let text = String(decoding: value, as: UTF8.self).unicodeScalars.lazy.filter { $0 != "\\" }
        return text.isStreamSafe ? HTTPField(name: name, lenientValue: value) : nil
    }

    static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard (1...18).contains(digits.count) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - 0x30)
        }
        return number
    }

    /// Text of a server: UTF-8, or Latin-1 where it is not.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        text.unicodeScalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        return text
    }

    /// The version as an ALPN identifier, case-sensitive as RFC 9112 §2.3 requires; libcurl accepts more.
    private static func version(_ word: ArraySlice<UInt8>) -> String? {
        guard word.starts(with: "HTTP/".utf8) else { return nil }
        let number = word.dropFirst(5)
        if number.elementsEqual("1.1".utf8) { return "http/1.1" }
        if number.elementsEqual("1.0".utf8) { return "http/1.0" }
        if number.elementsEqual("2".utf8) { return "h2" }
        return number.elementsEqual("3".utf8) ? "h3" : nil
    }

    fileprivate static func malformed(_ reason: String) -> LoadError {
        LoadError(.badServerResponse, "The answer of the server breaks the protocol. \(reason)")
    }
}

extension HeadCollector.Head {
    /// Reads `Content-Length` and `Transfer-Encoding` (RFC 9112 §6.3, SEC-26), and notes fields that are read later.
    fileprivate mutating func readFraming() throws(LoadError) {
        var isChunked = false
        for field in fields {
            let name = field.name.canonicalName
            // Every field of every answer is looked at: few are compared with anything.
            switch name.utf8.count {
            case 14 where name == "content-length":
                let number = field.withUnsafeBytesOfValue(HeadCollector.number)
                guard let number, contentLength == nil || contentLength == number else {
                    throw HeadCollector.malformed("Its Content-Length is not one number.")
                }
                contentLength = number
            case 17 where name == "transfer-encoding": isChunked = true
            case 16 where name == "content-encoding": isCoded = true
            case 6 where name == "digest", 7 where name == "trailer", 11 where name == "repr-digest",
                14 where name == "content-digest":
                saysDigests = true
            default: break
            }
        }
        isFramedTwice = isChunked && contentLength != nil
        if isChunked { contentLength = nil }
    }
}
