import CLibPQ
import EventLoop

/// One request in the pipeline of a connection, with the part of its result that was received.
///
/// An object, since it is long to copy each time it is looked at.
final class PipelineEntry {
    typealias Answer = Result<Rows?, PostgresError>

    enum Request {
        /// One statement, with those that run before it in the same transaction and travel in the same message.
        case query(Query, behind: [Query])
        /// Several statements in one text, without values.
        case script(String)
    }

    /// What was sent for a request; each step has one result.
    enum Step {
        case prepare(PreparedStatement)
        /// Nil: a statement that is not kept prepared.
        case execute(PreparedStatement?)
    }

    let request: Request
    let answer: (Answer) -> Void

    var steps: [Step] = []
    private var resultCount = 0
    private var lastResult: QueryResult?
    private var error: PostgresError?
    var sent = MonotonicTime.now
    /// The statements that the server has not, or may not have, as its answer says.
    private(set) var missingStatements: [PreparedStatement] = []

    init(_ request: Request, answer: @escaping (Answer) -> Void) {
        self.request = request
        self.answer = answer
    }

    func receive(_ result: QueryResult) {
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

    private func fail(_ failure: PostgresError) {
        guard error == nil else { return }
        error = failure
        guard steps.indices.contains(resultCount) else { return }
        if case .execute(let statement?) = steps[resultCount], ["26000", "0A000"].contains(failure.sqlState),
            !steps.contains(where: { $0.prepared === statement })
        {
            // A pooler or DISCARD dropped it, and the others with it; or a migration changed its columns.
            error = PostgresError(.staleStatement, failure.message, sqlState: failure.sqlState)
            missingStatements = steps.compactMap(\.statement)
        } else {
            // The server looked at nothing behind the step that failed.
            missingStatements = steps.dropFirst(resultCount).compactMap(\.prepared)
        }
    }

    /// A server that was asked to write is a standby, or its sessions only read.
    var hasMetReadOnlyServer: Bool { error?.sqlState == "25006" }

    func finish() {
        answer(error.map { .failure($0) } ?? .success(lastResult.map(Rows.init)))
    }
}

extension PipelineEntry.Step {
    /// The statement that the step prepares.
    var prepared: PreparedStatement? { if case .prepare(let statement) = self { statement } else { nil } }

    /// The statement that the step prepares or runs.
    var statement: PreparedStatement? {
        switch self {
        case .prepare(let statement): statement
        case .execute(let statement): statement
        }
    }
}
