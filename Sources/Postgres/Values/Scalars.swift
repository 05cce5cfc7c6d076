// The values that are one number, text or bytes.

extension PostgresValue where Self: FixedWidthInteger {
    package func encode(into writer: inout ParameterWriter) { writer.append(self) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        let exact: Self? =
            switch bytes.count {
            case 2: Self(exactly: bytes.integer(Int16.self))
            case 4: Self(exactly: bytes.integer(Int32.self))
            case 8: Self(exactly: bytes.integer(Int64.self))
            default: nil
            }
        guard let exact else { throw Self.malformed() }
        self = exact
    }

    /// Every integer type of the server that fits without loss.
    package static func canDecode(_ type: PostgresType.ID) -> Bool {
        type == PostgresType.int2.id || (bitWidth >= 32 && type == PostgresType.int4.id)
            || (bitWidth >= 64 && type == PostgresType.int8.id)
    }
}

extension Int16: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .int2 }

    package func encode(into writer: inout ParameterWriter) { writer.append(self) }
}

extension Int32: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .int4 }

    package func encode(into writer: inout ParameterWriter) { writer.append(self) }
}

extension Int64: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .int8 }

    package func encode(into writer: inout ParameterWriter) { writer.append(self) }
}

extension Int: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .int8 }
}

extension Bool: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .bool }

    package func encode(into writer: inout ParameterWriter) { writer.append(UInt8(self ? 1 : 0)) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.count == 1 else { throw Self.malformed() }
        self = bytes[0] != 0
    }
}

extension Double: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .float8 }

    package func encode(into writer: inout ParameterWriter) { writer.append(bitPattern) }

    /// `real` columns decode too.
    package static func canDecode(_ type: PostgresType.ID) -> Bool { type == PostgresType.float8.id || type == 700 }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        switch bytes.count {
        case 8: self = Double(bitPattern: bytes.integer())
        case 4: self = Double(Float(bitPattern: bytes.integer()))
        default: throw Self.malformed()
        }
    }
}

/// PostgreSQL's text cannot hold U+0000; such a parameter fails as `character_not_in_repertoire`.
extension String: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .text }

    package func encode(into writer: inout ParameterWriter) { writer.append(self) }

    /// text, varchar, char(n), name, "char", json and unknown: their binary form is their text.
    package static func canDecode(_ type: PostgresType.ID) -> Bool {
        switch type {
        case 25, 1043, 1042, 19, 18, 114, 705: true
        default: false
        }
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        self = String(decoding: bytes, as: UTF8.self)
    }
}

/// The text of a JSON document, as a `jsonb` parameter or column.
package struct JSONB: Hashable, PostgresValue, PostgresArrayElement {
    /// The document in UTF-8.
    ///
    /// The server normalizes it: order of members, white space and repeats are not kept.
    package let utf8: [UInt8]

    package init(_ utf8: [UInt8]) { self.utf8 = utf8 }

    package init(_ text: String) { utf8 = Array(text.utf8) }

    package static var postgresType: PostgresType { .jsonb }

    /// The only version of jsonb's binary form there is.
    private static var version: UInt8 { 1 }

    package func encode(into writer: inout ParameterWriter) {
        writer.append(Self.version)
        writer.append(utf8)
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.first == Self.version else { throw Self.malformed() }
        utf8 = Array(bytes.dropFirst())
    }
}

extension PostgresValue where Self: RawRepresentable, RawValue: PostgresValue {
    package static var postgresType: PostgresType { RawValue.postgresType }

    package static func canDecode(_ type: PostgresType.ID) -> Bool { RawValue.canDecode(type) }

    package func encode(into writer: inout ParameterWriter) { rawValue.encode(into: &writer) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard let value = Self(rawValue: try RawValue(decoding: bytes)) else {
            throw PostgresError(.unexpectedResult, "The database holds a value that \(Self.self) does not know.")
        }
        self = value
    }
}

extension Optional: PostgresValue where Wrapped: PostgresValue {
    package static var postgresType: PostgresType { Wrapped.postgresType }

    package static func canDecode(_ type: PostgresType.ID) -> Bool { Wrapped.canDecode(type) }

    package var isNull: Bool { self == nil || self?.isNull == true }

    package func encode(into writer: inout ParameterWriter) { self?.encode(into: &writer) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        self = .some(try Wrapped(decoding: bytes))
    }

    package static func decodeNull() throws(PostgresError) -> Self { nil }
}
