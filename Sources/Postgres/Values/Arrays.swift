/// A type that arrays of PostgreSQL hold.
///
/// The element declares everything, so that `[UInt8]` can be `bytea` while `[Int64]` is `bigint[]`.
package protocol PostgresArrayElement: Sendable {
    static var typeOfArray: PostgresType { get }
    static func canDecodeArray(_ type: PostgresType.ID) -> Bool
    static func encode(array: [Self], into writer: inout ParameterWriter)
    static func decode(array bytes: UnsafeRawBufferPointer) throws(PostgresError) -> [Self]
}

extension PostgresArrayElement where Self: PostgresValue {
    package static var typeOfArray: PostgresType {
        PostgresType(id: postgresType.arrayID, arrayID: 0, name: "an array")
    }

    package static func canDecodeArray(_ type: PostgresType.ID) -> Bool {
        // The element's type stands in the value itself and is checked there.
        true
    }

    package static func encode(array: [Self], into writer: inout ParameterWriter) {
        writer.beginArray(of: postgresType, count: array.count)
        for element in array {
            guard !element.isNull else {
                writer.append(Int32(-1))
                continue
            }
            let start = writer.beginLength()
            element.encode(into: &writer)
            writer.endLength(start)
        }
    }

    package static func decode(array bytes: UnsafeRawBufferPointer) throws(PostgresError) -> [Self] {
        guard bytes.count >= 12 else { throw malformed() }
        let dimensions = bytes.integer(Int32.self)
        guard dimensions > 0 else { return [] }
        guard dimensions == 1, bytes.count >= 20, canDecode(bytes.integer(UInt32.self, at: 8)) else {
            throw malformed()
        }
        let count = Int(bytes.integer(Int32.self, at: 12))
        var array: [Self] = []
        array.reserveCapacity(min(count, bytes.count / 4))
        var offset = 20
        for _ in 0..<count {
            guard offset + 4 <= bytes.count else { throw malformed() }
            let length = Int(bytes.integer(Int32.self, at: offset))
            offset += 4
            guard length >= 0 else {
                array.append(try decodeNull())
                continue
            }
            guard offset + length <= bytes.count else { throw malformed() }
            array.append(try Self(decoding: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])))
            offset += length
        }
        return array
    }
}

/// As an element it makes the array `bytea`; alone it is no type of PostgreSQL.
extension UInt8: PostgresArrayElement {
    package static var typeOfArray: PostgresType { .bytea }

    package static func canDecodeArray(_ type: PostgresType.ID) -> Bool { type == PostgresType.bytea.id }

    package static func encode(array: [UInt8], into writer: inout ParameterWriter) { writer.append(array) }

    package static func decode(array bytes: UnsafeRawBufferPointer) throws(PostgresError) -> [UInt8] { Array(bytes) }
}

extension Array: PostgresValue where Element: PostgresArrayElement {
    package static var postgresType: PostgresType { Element.typeOfArray }

    package static func canDecode(_ type: PostgresType.ID) -> Bool { Element.canDecodeArray(type) }

    package func encode(into writer: inout ParameterWriter) { Element.encode(array: self, into: &writer) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        self = try Element.decode(array: bytes)
    }
}

/// `bytea[]`.
extension Array: PostgresArrayElement where Element == UInt8 {}

extension Optional: PostgresArrayElement where Wrapped: PostgresValue & PostgresArrayElement {}

/// An array whose elements its maker has encoded, one after the other.
///
/// Whoever knows the type of its values encodes them with less work than `encode(array:into:)` does in this module,
/// which looks at the type of each.
package struct EncodedArray: Sendable {
    let type: PostgresType.ID
    private(set) var writer = ParameterWriter()

    /// - Parameters:
    ///   - element: The type of its elements.
    ///   - count: How many elements follow.
    package init(of element: PostgresType, count: Int) {
        type = element.arrayID
        writer.beginArray(of: element, count: count)
    }

    package mutating func appendNull() { writer.append(Int32(-1)) }

    package mutating func append(_ encode: (inout ParameterWriter) -> Void) {
        let start = writer.beginLength()
        encode(&writer)
        writer.endLength(start)
    }
}
