import FetchEngine

/// Reads one JSON text (RFC 8259) strictly.
///
/// Beyond the grammar it refuses texts that parsers would read differently or that could not be stored:
/// duplicate members, NUL characters, unpaired surrogates, and nesting deeper than ``maximumDepth`` (SEC-44).
package struct JSONParser {
    /// How deep arrays and objects may nest.
    package static let maximumDepth = 32

    /// Why a text is not accepted, and at which byte.
    package struct Failure: Error, Sendable, Equatable {
        package let offset: Int
        package let message: String
    }

    private static let fewMembers = 12

    private let bytes: UnsafeBufferPointer<UInt8>
    private var offset = 0
    private var depth = 0

    /// The value of a complete JSON text in UTF-8.
    package static func parse(_ text: some Sequence<UInt8>) throws(Failure) -> JSONValue {
        let bytes = ContiguousArray(text)
        var result: Result<JSONValue, Failure>?
        bytes.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(bytes: buffer)
            do throws(Failure) { result = .success(try parser.document()) } catch { result = .failure(error) }
        }
        guard let result else { throw Failure(offset: 0, message: "empty text") }
        return try result.get()
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private mutating func document() throws(Failure) -> JSONValue {
        let value = try value()
        skipWhitespace()
        guard offset == bytes.count else { throw failure("text after the end of the value") }
        return value
    }

    private mutating func value() throws(Failure) -> JSONValue {
        skipWhitespace()
        switch peek {
        case UInt8(ascii: "{"): return try nested { parser throws(Failure) in try parser.object() }
        case UInt8(ascii: "["): return try nested { parser throws(Failure) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try number())
        case nil: throw failure("the text ends where a value is expected")
        default: throw failure("a value is expected")
        }
    }

    private mutating func nested(
        _ read: (inout JSONParser) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONValue {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw failure("nested deeper than \(Self.maximumDepth)") }
        offset += 1
        return try read(&self)
    }

    private mutating func object() throws(Failure) -> JSONValue {
        var members: [JSONMember] = []
        var names: Set<String> = []
        /// Few names are compared sooner than hashed.
        func isThere(_ name: String) -> Bool {
            guard members.count >= Self.fewMembers else { return members.contains { $0.name == name } }
            if names.isEmpty { names = Set(members.map(\.name)) }
            return !names.insert(name).inserted
        }
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipWhitespace()
            guard peek == UInt8(ascii: "\"") else { throw failure("a member name is expected") }
            let start = offset
            let name = try string()
            guard name.isStreamSafe else {
                throw Failure(offset: start, message: "a member name has more than 30 combining marks in a row")
            }
            guard !isThere(name) else {
                throw Failure(offset: start, message: "the member \"\(name.prefix(64))\" is there twice")
            }
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw failure("a colon is expected") }
            members.append(JSONMember(name, try value()))
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw failure("a comma or a closing brace is expected") }
        return .object(members)
    }

    private mutating func array() throws(Failure) -> JSONValue {
        var elements: [JSONValue] = []
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try value())
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw failure("a comma or a closing bracket is expected") }
        return .array(elements)
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
        let length = text.utf8CodeUnitCount
        let matches =
            bytes.count - offset >= length
            && (0..<length).allSatisfy { bytes[offset + $0] == text.utf8Start[$0] }
        guard matches else { throw failure("a value is expected") }
        offset += length
        return value
    }

    private mutating func number() throws(Failure) -> JSONNumber {
        let start = offset
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return JSONNumber(text: String(decoding: bytes[start..<offset], as: UTF8.self))
    }

    private mutating func digits() throws(Failure) {
        let start = offset
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
        guard offset > start else { throw failure("a digit is expected") }
    }

    // MARK: Strings

    private mutating func string() throws(Failure) -> String {
        offset += 1
        let start = offset
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                defer { offset += 1 }
                return try text(bytes.span.extracting(start..<offset))
            case UInt8(ascii: "\\"):
                return try escapedString(from: start)
            case 0..<0x20:
                throw failure("a control character in a string")
            default:
                offset += 1
            }
        }
        throw failure("the text ends inside a string")
    }

    private mutating func escapedString(from start: Int) throws(Failure) -> String {
        var unescaped = ContiguousArray(bytes[start..<offset])
        while let byte = peek {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(unescaped.span)
            case UInt8(ascii: "\\"): try escape(into: &unescaped)
            case 0..<0x20: throw failure("a control character in a string")
            default: unescaped.append(byte)
            }
        }
        throw failure("the text ends inside a string")
    }

    private mutating func escape(into unescaped: inout ContiguousArray<UInt8>) throws(Failure) {
        let letter = peek
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(letter ?? 0)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): unescaped.append(contentsOf: String(try escapedScalar()).utf8)
        default: throw failure("an unknown escape in a string")
        }
    }

    private mutating func escapedScalar() throws(Failure) -> Unicode.Scalar {
        let first = try hexadecimalUnit()
        if let scalar = Unicode.Scalar(first) {
            guard first != 0 else { throw failure("a NUL character in a string") }
            return scalar
        }
        guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw failure("an unpaired surrogate in a string")
        }
        let second = try hexadecimalUnit()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw failure("an unpaired surrogate in a string") }
        return scalar
    }

    private mutating func hexadecimalUnit() throws(Failure) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = byte.hexValue else {
                throw failure("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }

    private func text(_ utf8: Span<UInt8>) throws(Failure) -> String {
        let text: String
        // Several times as fast as `String(validating:as:)`.
        do { text = String(copying: try UTF8Span(validating: utf8)) } catch {
            throw failure("a string that is not UTF-8")
        }
        guard !text.utf8.contains(0) else { throw failure("a NUL character in a string") }
        return text
    }

    // MARK: Bytes

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        offset += 1
        return true
    }

    private mutating func skipWhitespace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private func failure(_ message: String) -> Failure { Failure(offset: offset, message: message) }
}
