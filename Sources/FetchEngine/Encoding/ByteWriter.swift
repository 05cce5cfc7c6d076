/// Puts numbers and texts behind one another, little-endian and with their lengths.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ content: some Collection<UInt8>) {
        append(UInt32(clamping: content.count))
        bytes.append(contentsOf: content)
    }

    mutating func append(_ text: String) { append(text.utf8) }
}

/// Reads the values that a ``ByteWriter`` has written.
///
/// Any bytes may be read: a missing value throws.
struct ByteReader {
    struct Ended: Error {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(Ended) -> Number {
        var number: Number = 0
        for (index, byte) in try take(MemoryLayout<Number>.size).enumerated() {
            number |= Number(truncatingIfNeeded: byte) << (index * 8)
        }
        return number
    }

    mutating func content() throws(Ended) -> ArraySlice<UInt8> { try take(Int(number(UInt32.self))) }

    mutating func text() throws(Ended) -> String { String(decoding: try content(), as: UTF8.self) }

    private mutating func take(_ count: Int) throws(Ended) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw Ended() }
        let taken = rest.prefix(count)
        rest = rest.dropFirst(count)
        return taken
    }
}
