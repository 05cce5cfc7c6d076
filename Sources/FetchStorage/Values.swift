// How the words of FetchJobs travel as parameters and columns.

package import FetchJobs
package import Postgres

extension Identifier: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .uuid }

    package func encode(into writer: inout ParameterWriter) {
        writer.append(uuid.high)
        writer.append(uuid.low)
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.count == 16 else { throw PostgresError(.unexpectedResult, "A uuid has 16 bytes.") }
        let high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        self.init(UUIDv7(high: high, low: low))
    }
}

extension Timestamp: PostgresValue, PostgresArrayElement {
    /// 2000-01-01, where PostgreSQL counts from.
    private static let epoch: Int64 = 946_684_800_000_000

    package static var postgresType: PostgresType { .timestamptz }

    package func encode(into writer: inout ParameterWriter) { writer.append(microseconds - Self.epoch) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        guard bytes.count == 8 else { throw PostgresError(.unexpectedResult, "A timestamptz has 8 bytes.") }
        let microseconds = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        self.init(microseconds: microseconds &+ Self.epoch)
    }
}

extension RawJSON: PostgresValue, PostgresArrayElement {
    package static var postgresType: PostgresType { .json }

    package func encode(into writer: inout ParameterWriter) { writer.append(bytes) }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(PostgresError) { self.init(Array(bytes)) }
}

extension Tenant.ID: PostgresValue, PostgresArrayElement {}

extension JobState: PostgresValue, PostgresArrayElement {}

extension WebhookEvent: PostgresValue, PostgresArrayElement {}

extension Array {
    /// A column of the input of a statement: a value of each element; nil is NULL.
    ///
    /// It is compiled for each type that it is used with, as it is of this module.
    func column<Value: PostgresValue>(_ value: (Element) -> Value?) -> EncodedArray {
        var column = EncodedArray(of: Value.postgresType, count: count)
        for element in self {
            if let value = value(element) { column.append { value.encode(into: &$0) } } else { column.appendNull() }
        }
        return column
    }
}

extension StoreError {
    /// The store's error for an error of the database.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as PostgresError where error.isTransient:
            self.init(.unavailable, "The database cannot be reached.", underlying: error)
        default: self.init(.failed, "The database could not do what it was asked.", underlying: error)
        }
    }

    /// Runs a call of the database, and turns its error into the store's.
    @discardableResult
    nonisolated(nonsending) static func wrap<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws(StoreError) -> Result {
        do { return try await body() } catch { throw StoreError(error) }
    }
}
