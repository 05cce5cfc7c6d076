import CLibPQ

/// A query or a connection that failed.
package struct PostgresError: Error, CustomStringConvertible {
    /// A stable lower-case word for the error.
    package struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package var description: String { rawValue }

        init(_ word: StaticString) { rawValue = word.description }
    }

    package let code: Code

    /// The five characters the server gave; nil when it was not the server that refused.
    package let sqlState: String?

    /// One sentence for a person.
    ///
    /// The server's own, without its detail, which may quote values.
    package let message: String

    /// The violated constraint, when the server named one.
    package let constraint: String?

    package init(_ code: Code, _ message: String, sqlState: String? = nil, constraint: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
    }

    /// Whether the same statement may succeed when it is tried again later.
    ///
    /// After ``Code/connectionLost`` and ``Code/timedOut`` it may have been carried out already.
    package var isTransient: Bool {
        Self.transientCodes.contains(code)
            || (sqlState.map { Self.transientClasses.contains(String($0.prefix(2))) } ?? false)
    }

    package var description: String {
        sqlState.map { "\(code) (\($0)): \(message)" } ?? "\(code): \(message)"
    }
}

// MARK: Codes that are not the server's

extension PostgresError.Code {
    /// The connection broke while the statement was under way: it may or may not have been carried out.
    package static let connectionLost = Self("connection_lost")
    /// No connection became available in time; nothing was sent.
    package static let unavailable = Self("unavailable")
    /// The server did not answer in time and the connection was closed: the statement may have been carried out.
    package static let timedOut = Self("timed_out")
    /// A server that shares the tables did not answer the one that was asked (Citus): nothing was carried out.
    package static let shardUnavailable = Self("shard_unavailable")
    /// The client or connection was closed before; nothing was sent.
    package static let closed = Self("closed")
    /// The answer was not of the shape the caller expected.
    package static let unexpectedResult = Self("unexpected_result")
    /// The transaction ended in a rollback because one of its statements had failed.
    package static let transactionAborted = Self("transaction_aborted")
    /// The statement is not known to the server any more or must be planned anew; connections try it again themselves.
    static let staleStatement = Self("stale_statement")
}

// MARK: SQLSTATE

extension PostgresError.Code {
    package static let uniqueViolation = Self("unique_violation")
    package static let foreignKeyViolation = Self("foreign_key_violation")
    package static let checkViolation = Self("check_violation")
    package static let notNullViolation = Self("not_null_violation")
    package static let exclusionViolation = Self("exclusion_violation")
    package static let serializationFailure = Self("serialization_failure")
    package static let deadlockDetected = Self("deadlock_detected")
    package static let lockNotAvailable = Self("lock_not_available")
    package static let queryCanceled = Self("query_canceled")
    package static let undefinedTable = Self("undefined_table")
    package static let syntaxError = Self("syntax_error")
    package static let diskFull = Self("disk_full")
    package static let invalidCatalogName = Self("invalid_catalog_name")
    package static let tooManyConnections = Self("too_many_connections")
    package static let cannotConnectNow = Self("cannot_connect_now")

    /// The code for a state: its condition's name in PostgreSQL's manual, or that of its class.
    init(sqlState: String) {
        self = Self.conditions[sqlState] ?? Self.classes[String(sqlState.prefix(2))] ?? Self("server_error")
    }

    private static let conditions: [String: Self] = [
        "22001": Self("string_data_right_truncation"),
        "22003": Self("numeric_value_out_of_range"),
        "22021": Self("character_not_in_repertoire"),
        "22P02": Self("invalid_text_representation"),
        "22P05": Self("untranslatable_character"),
        "23502": .notNullViolation,
        "23503": .foreignKeyViolation,
        "23505": .uniqueViolation,
        "23514": .checkViolation,
        "23P01": .exclusionViolation,
        "25006": Self("read_only_sql_transaction"),
        "25P02": Self("in_failed_sql_transaction"),
        "25P03": Self("idle_in_transaction_session_timeout"),
        "28P01": Self("invalid_password"),
        "3D000": .invalidCatalogName,
        "40001": .serializationFailure,
        "40P01": .deadlockDetected,
        "42501": Self("insufficient_privilege"),
        "42601": .syntaxError,
        "42703": Self("undefined_column"),
        "42883": Self("undefined_function"),
        "42P01": .undefinedTable,
        "42P06": Self("duplicate_schema"),
        "42P07": Self("duplicate_table"),
        "53100": .diskFull,
        "53200": Self("out_of_memory"),
        "53300": .tooManyConnections,
        "55P03": .lockNotAvailable,
        "57014": .queryCanceled,
        "57P01": Self("admin_shutdown"),
        "57P02": Self("crash_shutdown"),
        "57P03": .cannotConnectNow,
        "57P05": Self("idle_session_timeout"),
    ]

    private static let classes: [String: Self] = [
        "08": Self("connection_exception"),
        "0A": Self("feature_not_supported"),
        "22": Self("data_exception"),
        "23": Self("integrity_constraint_violation"),
        "25": Self("invalid_transaction_state"),
        "26": Self("invalid_sql_statement_name"),
        "28": Self("invalid_authorization_specification"),
        "40": Self("transaction_rollback"),
        "42": Self("syntax_error_or_access_rule_violation"),
        "53": Self("insufficient_resources"),
        "54": Self("program_limit_exceeded"),
        "55": Self("object_not_in_prerequisite_state"),
        "57": Self("operator_intervention"),
        "58": Self("system_error"),
        "P0": Self("raise_exception"),
        "XX": Self("internal_error"),
    ]
}

extension PostgresError {
    private static let transientCodes: Set<Code> = [
        .connectionLost, .unavailable, .timedOut, .staleStatement, .lockNotAvailable, Code(sqlState: "25006"),
        Code(sqlState: "57P01"), Code(sqlState: "57P02"), .cannotConnectNow,
    ]

    /// Connection trouble, rollbacks for concurrency's sake, and resources that may come back.
    private static let transientClasses: Set<String> = ["08", "40", "53"]

    private static let lossOfAWorker = [
        "server closed the connection unexpectedly", "no connection to the server",
        "could not receive data from server", "could not send data to server", "connection to the remote node",
        "failure on connection marked as essential",
    ]

    /// The error a result of the server stands for.
    init(_ result: QueryResult) {
        func field(_ code: Int32) -> String? { PQresultErrorField(result.pointer, code).map { String(cString: $0) } }
        let (message, sqlState) = (field(Int32(UInt8(ascii: "M"))), field(Int32(UInt8(ascii: "C"))))
        // A coordinator of Citus passes on in the words of libpq, and as an error of its own, that a worker is gone. What a
        // pooler says of the server behind it ends the connection, and nothing is known of the statement then.
        let isOfShard =
            field(Int32(UInt8(ascii: "V"))) == "ERROR"
            && (sqlState?.hasPrefix("08") == true
                || sqlState == "XX000" && Self.lossOfAWorker.contains { message?.hasPrefix($0) == true })
        self.init(
            isOfShard ? .shardUnavailable : sqlState.map(Code.init(sqlState:)) ?? .connectionLost,
            message ?? "The server gave no reason.",
            sqlState: isOfShard ? "08006" : sqlState,
            constraint: field(Int32(UInt8(ascii: "n")))
        )
    }
}
