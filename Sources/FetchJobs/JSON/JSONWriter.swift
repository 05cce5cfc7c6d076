import FetchEngine

/// Writes one JSON text, member by member, straight into UTF-8 bytes.
///
/// Members given as `nil` are left out.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// A comma is due before the next member or element.
    private var needsComma = false

    package init() { bytes.reserveCapacity(512) }

    /// The text of an object.
    package static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Values

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        nested(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        nested(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
    }

    package mutating func value(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    package mutating func value(_ value: Bool) { raw(value ? "true" : "false") }

    package mutating func value(_ value: some BinaryInteger) { raw(String(value)) }

    /// A number; JSON has no infinity and no NaN, they become `null`.
    package mutating func value(_ value: Double) { raw(value.isFinite ? String(value) : "null") }

    /// Seconds, to the microsecond.
    package mutating func value(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return value(duration.seconds) }
        separate()
        bytes.append(contentsOf: String(seconds).utf8)
        bytes.append(UInt8(ascii: "."))
        var rest = attoseconds / 1_000_000_000_000
        // As many digits as it needs, one at least.
        var power: Int64 = 100_000
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / power))
            rest %= power
            power /= 10
        } while rest > 0
        needsComma = true
    }

    package mutating func null() { raw("null") }

    /// A text that is JSON already.
    package mutating func raw(_ text: RawJSON) {
        separate()
        bytes.append(contentsOf: text.bytes)
        needsComma = true
    }

    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.value(bool)
        case .number(let number): raw(number.text)
        case .string(let string): self.value(string)
        case .array(let elements): array { writer in elements.forEach { writer.value($0) } }
        case .object(let members):
            object { writer in
                for member in members {
                    writer.name(member.name)
                    writer.value(member.value)
                }
            }
        }
    }

    // MARK: Members

    package mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: Double?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ duration: Duration?) {
        guard let duration else { return }
        self.name(name)
        value(duration)
    }

    package mutating func member(_ name: String, _ text: RawJSON?) {
        guard let text else { return }
        self.name(name)
        raw(text)
    }

    package mutating func member(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, object members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    package mutating func member(_ name: String, array elements: (inout JSONWriter) -> Void) {
        self.name(name)
        array(elements)
    }

    /// Writes the elements of a text that is an array without white space around it.
    package mutating func elements(of array: RawJSON) {
        guard array.bytes.count > 2 else { return }
        separate()
        bytes.append(contentsOf: array.bytes.dropFirst().dropLast())
        needsComma = true
    }

    /// Writes the members of another object as members of this one.
    package mutating func members(of object: RawJSON) {
        guard object.bytes.count > 2 else { return }
        separate()
        bytes.append(contentsOf: object.bytes[1..<(object.bytes.count - 1)])
        needsComma = true
    }

    package mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Bytes

    private mutating func nested(_ open: UInt8, _ close: UInt8, _ content: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(open)
        needsComma = false
        content(&self)
        bytes.append(close)
        needsComma = true
    }

    private mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            bytes.append(UInt8(ascii: "\""))
            // The bytes between two that need an escape are copied as they are.
            var start = 0
            while let index = Self.firstToEscape(of: utf8, from: start) {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                escape(utf8[index])
                start = index + 1
            }
            bytes.append(contentsOf: start == 0 ? utf8 : UnsafeBufferPointer(rebasing: utf8[start...]))
            bytes.append(UInt8(ascii: "\""))
        }
    }

    private static func firstToEscape(of utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let base = utf8.baseAddress else { return nil }
        var index = start
        // Eight at a time, since most texts have none.
        while index + 8 <= utf8.count {
            let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
            if needsEscape(word) { break }
            index += 8
        }
        while index < utf8.count {
            if needsEscape(base[index]) { return index }
            index += 1
        }
        return nil
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    /// Whether one of eight bytes may need an escape: the high bit of a byte is set when subtracting borrows from it.
    private static func needsEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        func zeroes(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
        let control = (word &- ones * 0x20) & ~word
        let quote = zeroes(word ^ ones * UInt64(UInt8(ascii: "\"")))
        let backslash = zeroes(word ^ ones * UInt64(UInt8(ascii: "\\")))
        let delete = zeroes(word ^ ones * 0x7F)
        return (control | quote | backslash | delete) & (ones * 0x80) != 0
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(contentsOf: Hexadecimal.encode(CollectionOfOne(byte)))
        }
    }
}

/// A text that is known to be JSON: written by a ``JSONWriter`` or kept in a `json` column.
package struct RawJSON: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The text of an array.
    package static func array(_ elements: (inout JSONWriter) -> Void) -> RawJSON {
        var writer = JSONWriter()
        writer.array(elements)
        return RawJSON(writer.bytes)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}
