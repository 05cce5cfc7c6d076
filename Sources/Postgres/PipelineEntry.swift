import CLibPQ
import EventLoop

/// One request in the pipeline of a connection, with the part of its result that was received.
struct PipelineEntry {
    typealias Answer = Result<Rows?, PostgresError>

    enum Request {
        /// One statement; `opensTransaction` puts a BEGIN before it, in the same message.
        case query(Query, opensTransaction: Bool)
        /// Several statements in one text, without values.
        case script(String)
    }

    let request: Request
    let answer: (Answer) -> Void

    /// The statement, when the connection keeps it prepared.
    var statement: PreparedStatement?
    /// How many results come before the one of the prepare; nil when nothing is prepared on the way.
    var resultsBeforePrepare: Int?
    var resultCount = 0
    var lastResult: QueryResult?
    var error: PostgresError?
    var sent = MonotonicTime.now

    init(_ request: Request, answer: @escaping (Answer) -> Void) {
        self.request = request
        self.answer = answer
    }

    /// Whether the prepare that was sent along was refused, or never looked at.
    var failedToPrepare: Bool {
        guard let resultsBeforePrepare, error != nil else { return false }
        return failedResult.map { $0 <= resultsBeforePrepare } ?? true
    }

    private var failedResult: Int?

    mutating func receive(_ result: QueryResult) {
        defer { resultCount += 1 }
        switch result.status {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY:
            lastResult = result
        case PGRES_PIPELINE_ABORTED:
            break  // The error came before.
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            fail(PostgresError(.unexpectedResult, "COPY is not supported."))
        default:
            fail(PostgresError(result))
        }
    }

    private mutating func fail(_ failure: PostgresError) {
        guard error == nil else { return }
        failedResult = resultCount
        // A statement that a pooler or DISCARD dropped, or whose columns a migration changed.
        let isStale = resultsBeforePrepare == nil && statement != nil && ["26000", "0A000"].contains(failure.sqlState)
        error = isStale ? PostgresError(.staleStatement, failure.message, sqlState: failure.sqlState) : failure
    }

    func finish() {
        answer(error.map { .failure($0) } ?? .success(lastResult.map(Rows.init)))
    }
}
