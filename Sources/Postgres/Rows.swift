import CLibPQ

/// The rows that a query returned.
///
/// The rows stay where libpq put them; a value is copied when it is decoded. Copies of `Rows` share them.
package struct Rows: RandomAccessCollection, Sendable {
    private let result: QueryResult

    init(_ result: QueryResult) { self.result = result }

    package var startIndex: Int { 0 }
    package var endIndex: Int { result.count }

    package subscript(index: Int) -> Row {
        precondition(index >= 0 && index < result.count, "no such row")
        return Row(result: result, index: Int32(index))
    }

    /// How many rows the statement inserted, changed, deleted or returned; 0 for other statements.
    package var affected: Int {
        Int(String(cString: PQcmdTuples(result.pointer))) ?? 0
    }

    /// The tag of the command, such as `COMMIT` or `INSERT 0 1`.
    var commandTag: String { String(cString: PQcmdStatus(result.pointer)) }

    /// The position of the first column of that name.
    package func column(_ name: String) -> Int? {
        (0..<Int(PQnfields(result.pointer))).first { String(cString: PQfname(result.pointer, Int32($0))) == name }
    }
}

/// One row of ``Rows``.
package struct Row: Sendable {
    fileprivate let result: QueryResult
    fileprivate let index: Int32

    /// The value of a column, counted from 0.
    ///
    /// Throws ``PostgresError/Code/unexpectedResult`` when there is no such column, when it is of another type, or when
    /// it is NULL and `type` is not optional.
    package func decode<Value: PostgresValue>(
        _ type: Value.Type = Value.self, at column: Int
    ) throws(PostgresError) -> Value {
        let position = try position(of: column)
        guard Value.canDecode(PQftype(result.pointer, position)) else {
            throw PostgresError(
                .unexpectedResult,
                "Column \(column) is of type \(PQftype(result.pointer, position)), not \(Value.postgresType.name).")
        }
        guard let bytes = bytes(at: position) else { return try Value.decodeNull() }
        return try Value(decoding: bytes)
    }

    /// Calls `body` with the bytes of a column where they lie, or with nil for NULL.
    package func withBytes<R>(at column: Int, _ body: (UnsafeRawBufferPointer?) throws -> R) throws -> R {
        let position = try position(of: column)
        return try withExtendedLifetime(result) { try body(bytes(at: position)) }
    }

    private func position(of column: Int) throws(PostgresError) -> Int32 {
        guard let position = Int32(exactly: column), position >= 0, position < PQnfields(result.pointer) else {
            throw PostgresError(.unexpectedResult, "The row has no column \(column).")
        }
        return position
    }

    private func bytes(at position: Int32) -> UnsafeRawBufferPointer? {
        guard PQgetisnull(result.pointer, index, position) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result.pointer, index, position),
            count: Int(PQgetlength(result.pointer, index, position)))
    }
}

/// Owns a PGresult.
// @unchecked: libpq never changes a result once it has handed it out, and the functions used here only read it.
final class QueryResult: @unchecked Sendable {
    let pointer: OpaquePointer
    let count: Int

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        count = Int(PQntuples(pointer))
    }

    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }
}
