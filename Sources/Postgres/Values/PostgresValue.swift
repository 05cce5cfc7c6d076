/// A type that is a parameter or a column in PostgreSQL's binary format.
///
/// A type that is `RawRepresentable` by such a type needs an empty conformance only.
package protocol PostgresValue: Sendable {
    /// The type it is sent as.
    static var postgresType: PostgresType { get }

    /// Whether a column of this type can be decoded. The default: the type it is sent as.
    static func canDecode(_ type: PostgresType.ID) -> Bool

    /// Whether it stands for NULL; then it is never asked to encode itself. The default: no.
    var isNull: Bool { get }

    func encode(into writer: inout ParameterWriter)

    init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError)

    /// The value of NULL. The default throws ``PostgresError/Code/unexpectedResult``.
    static func decodeNull() throws(PostgresError) -> Self
}

extension PostgresValue {
    package static func canDecode(_ type: PostgresType.ID) -> Bool { type == postgresType.id }

    package var isNull: Bool { false }

    package static func decodeNull() throws(PostgresError) -> Self {
        throw PostgresError(.unexpectedResult, "A column of \(postgresType.name) is NULL where a value is needed.")
    }

    /// The error of a value whose bytes are not of this type.
    static func malformed() -> PostgresError {
        PostgresError(.unexpectedResult, "A value could not be read as \(postgresType.name).")
    }
}

/// A type of the server, by the numbers that are the same in every database.
package struct PostgresType: Sendable {
    package typealias ID = UInt32

    let id: ID
    /// The type of an array of it; 0 where there is no such array.
    let arrayID: ID
    let name: StaticString

    package static let bool = PostgresType(id: 16, arrayID: 1000, name: "boolean")
    package static let bytea = PostgresType(id: 17, arrayID: 1001, name: "bytea")
    package static let int2 = PostgresType(id: 21, arrayID: 1005, name: "smallint")
    package static let int4 = PostgresType(id: 23, arrayID: 1007, name: "integer")
    package static let int8 = PostgresType(id: 20, arrayID: 1016, name: "bigint")
    package static let float8 = PostgresType(id: 701, arrayID: 1022, name: "double precision")
    package static let text = PostgresType(id: 25, arrayID: 1009, name: "text")
    package static let uuid = PostgresType(id: 2950, arrayID: 2951, name: "uuid")
    package static let timestamptz = PostgresType(id: 1184, arrayID: 1185, name: "timestamptz")
    package static let interval = PostgresType(id: 1186, arrayID: 1187, name: "interval")
    package static let json = PostgresType(id: 114, arrayID: 199, name: "json")
    package static let jsonb = PostgresType(id: 3802, arrayID: 3807, name: "jsonb")
}

/// The bytes of parameters, in network order.
package struct ParameterWriter: Sendable {
    private(set) var bytes: [UInt8] = []

    package mutating func append(_ integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    // The same for those that a batch of jobs has thousands of, so that other modules need not call the generic form.

    package mutating func append(_ integer: UInt64) { appendBytes(of: integer) }
    package mutating func append(_ integer: Int64) { appendBytes(of: integer) }
    package mutating func append(_ integer: Int32) { appendBytes(of: integer) }
    package mutating func append(_ integer: Int16) { appendBytes(of: integer) }

    @inline(__always)
    private mutating func appendBytes(of integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    package mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Takes over the bytes of another, without a copy where there are none before them.
    mutating func append(contentsOf other: ParameterWriter) {
        if bytes.isEmpty { bytes = other.bytes } else { bytes.append(contentsOf: other.bytes) }
    }

    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
    }

    /// Writes what comes before the elements of an array.
    mutating func beginArray(of element: PostgresType, count: Int) {
        append(Int32(1))  // dimensions
        // Whether there are NULLs: the server reads the flag but uses the lengths.
        append(Int32(0))
        append(element.id)
        append(Int32(count))
        append(Int32(1))  // the first index
    }

    /// Makes room for the length of what is written next, as the elements of an array have it.
    mutating func beginLength() -> Int {
        append(Int32(0))
        return bytes.count
    }

    /// Writes the length of what came since.
    mutating func endLength(_ start: Int) {
        let length = UInt32(bytes.count - start)
        for byte in 0..<4 { bytes[start - 4 + byte] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(byte))) }
    }
}

extension UnsafeRawBufferPointer {
    /// The integer that begins at `offset`, from network order.
    ///
    /// The caller has checked that it is there.
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self, at offset: Int = 0) -> Integer {
        Integer(bigEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
