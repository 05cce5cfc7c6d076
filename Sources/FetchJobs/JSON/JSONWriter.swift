import FetchEngine

/// Writes one JSON text, member by member, straight into UTF-8 bytes.
///
/// Members given as `nil` are left out. The bytes are in memory of its own, and not in an array: an array is asked with
/// each append whether somebody else has it, and jobs are written in some two hundred pieces each.
package struct JSONWriter: ~Copyable {
    private var buffer: UnsafeMutableRawBufferPointer
    private var count = 0
    /// A comma is due before the next member or element.
    private var needsComma = false

    package init() { buffer = .allocate(byteCount: 512, alignment: 1) }

    deinit { buffer.deallocate() }

    /// The text of an object.
    package static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes
    }

    /// A copy of what is written.
    package var bytes: [UInt8] { Array(buffer[..<count]) }

    package var text: String { String(decoding: buffer[..<count], as: UTF8.self) }

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
        append(String(seconds))
        append(UInt8(ascii: "."))
        var rest = attoseconds / 1_000_000_000_000
        // As many digits as it needs, one at least.
        var power: Int64 = 100_000
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / power))
            rest %= power
            power /= 10
        } while rest > 0
        needsComma = true
    }

    package mutating func null() { raw("null") }

    /// A text that is JSON already.
    package mutating func raw(_ text: RawJSON) {
        separate()
        append(text.bytes[...])
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
        append(array.bytes.dropFirst().dropLast())
        needsComma = true
    }

    /// Writes the members of another object as members of this one.
    package mutating func members(of object: RawJSON) {
        guard object.bytes.count > 2 else { return }
        separate()
        append(object.bytes.dropFirst().dropLast())
        needsComma = true
    }

    package mutating func name(_ name: String) {
        separate()
        quote(name)
        append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Bytes

    private mutating func nested(_ open: UInt8, _ close: UInt8, _ content: (inout JSONWriter) -> Void) {
        separate()
        append(open)
        needsComma = false
        content(&self)
        append(close)
        needsComma = true
    }

    private mutating func raw(_ text: String) {
        separate()
        append(text)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { append(UInt8(ascii: ",")) }
    }

    private mutating func append(_ byte: UInt8) {
        reserve(1)
        buffer[count] = byte
        count += 1
    }

    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { append($0) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if buffer.count - count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let room = max(2 * buffer.count, count + more)
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        buffer.deallocate()
        buffer = larger
    }

    private mutating func quote(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            reserve(utf8.count + 2)
            append(UInt8(ascii: "\""))
            // The bytes between two that need an escape are copied as they are.
            var start = 0
            while let index = Self.firstToEscape(of: utf8, from: start) {
                append(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: utf8[start..<index])))
                escape(utf8[index])
                start = index + 1
            }
            append(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: utf8[start...])))
            append(UInt8(ascii: "\""))
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
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0D: append(UInt8(ascii: "r"))
        case 0x09: append(UInt8(ascii: "t"))
        default:
            append("u00")
            for digit in Hexadecimal.encode(CollectionOfOne(byte)) { append(digit) }
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
