package import FoundationEssentials

// The values that Foundation names, and spans of time.

extension UUID: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .uuid }

    package func encode(into writer: inout ParameterWriter) {
        withUnsafeBytes(of: uuid) { writer.append($0) }
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.count == 16 else { throw Self.malformed() }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

/// Kept to the microsecond, as the server does. The server's `infinity` decodes to the far ends of `Date`.
extension Date: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .timestamptz }

    /// From Foundation's reference date (2001) back to the server's (2000).
    private static var secondsBetweenReferences: Double { 366 * 86_400 }

    package func encode(into writer: inout ParameterWriter) {
        let microseconds = ((timeIntervalSinceReferenceDate + Self.secondsBetweenReferences) * 1_000_000).rounded()
        // A time that no bigint holds is infinity to the server.
        writer.append(Int64(exactly: microseconds) ?? (microseconds < 0 ? Int64.min : Int64.max))
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.count == 8 else { throw Self.malformed() }
        switch bytes.integer(Int64.self) {
        case .max: self = .distantFuture
        case .min: self = .distantPast
        case let microseconds:
            self.init(timeIntervalSinceReferenceDate: Double(microseconds) / 1_000_000 - Self.secondsBetweenReferences)
        }
    }
}

/// An interval without months, to the microsecond; the days of a decoded one are of 24 hours.
extension Duration: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .interval }

    package func encode(into writer: inout ParameterWriter) {
        let (seconds, attoseconds) = components
        let (microseconds, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
        writer.append(overflows ? (seconds < 0 ? .min : .max) : microseconds + attoseconds / 1_000_000_000_000)
        writer.append(Int64(0))  // days and months, four bytes each
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.count == 16, bytes.integer(Int32.self, at: 12) == 0 else { throw Self.malformed() }
        self = .microseconds(bytes.integer(Int64.self)) + .seconds(Int64(bytes.integer(Int32.self, at: 8)) * 86_400)
    }
}
