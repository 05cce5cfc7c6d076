import CLibPQ
package import EventLoop
import Glibc

/// Something that runs queries: a ``Client``, or the ``Connection`` of a transaction.
package protocol QueryRunner: Sendable {
    /// Runs one statement and returns its rows.
    ///
    /// Outside a transaction it is one of its own. Cancelling the calling task neither cancels the statement nor
    /// returns early; the connection's time limits bound the wait.
    @discardableResult
    nonisolated(nonsending) func query(_ query: Query) async throws(PostgresError) -> Rows
}

/// Something that runs transactions: a ``Client``, or one with settings.
package protocol TransactionRunner: QueryRunner {
    /// Runs `body` in a transaction; see ``Connection/transaction(behind:_:)``.
    func transaction<R: Sendable>(_ body: @Sendable (Connection) async throws -> R) async throws -> R
}

/// One connection to the server.
///
/// It lives on an event loop. Queries are pipelined: several may be under way, they run and are answered in the order
/// they were asked, and one that fails leaves the next alone. When the connection breaks, all that are under way fail
/// with ``PostgresError/Code/connectionLost`` and the connection is of no more use.
package actor Connection: QueryRunner {
    /// How a connection is made.
    ///
    /// Neither description nor reflection shows the connection string, which may have a password.
    package struct Configuration: Sendable, CustomStringConvertible, CustomReflectable {
        /// A libpq connection string or URL; empty means libpq's own environment and defaults.
        package var connectionString: String
        /// Shown in `pg_stat_activity` unless the connection string says otherwise.
        package var applicationName = "fetchd"
        /// Keeps statements prepared on the server.
        ///
        /// Off for a pooler in transaction mode.
        package var preparesStatements = true
        /// Plans each prepared statement once for all parameters.
        ///
        /// For statements that run all the time: planning them anew costs about as much as running them. The plan may
        /// be made while the tables are empty and must do when they are full: no table is read as a whole, and the
        /// statement itself has to leave no choice but keys (`CROSS JOIN LATERAL (… OFFSET 0)`). Needs
        /// ``preparesStatements``.
        package var usesGenericPlan = false
        /// Plans those statements for their parameters all the same, which say on which servers the rows are, and has
        /// the server make one connection to each of those for a transaction.
        var isSharded = false
        /// How long a server may be silent while the connection is made, unless the connection string says otherwise
        /// (`connect_timeout`).
        package var connectTimeout: Duration = .seconds(10)
        /// How long an answer may take before the connection is given up.
        package var answerTimeout: Duration = .seconds(60)
        /// How long a server may be silent before it is asked whether it lives.
        package var doubt: Duration = .seconds(2)
        /// How long it may take to answer that; twice as long where there is no other server.
        package var probePatience: Duration = .seconds(3)
        /// What its connections learn about the servers.
        let memory = ServerMemory()
        /// Is told, on the loop, the name of each statement that was answered, by which its text begins
        /// (`-- jobs.claim`), and how long that took; `other` stands for those without a name.
        ///
        /// Nil: nobody.
        package var onStatement: (@Sendable (String, Duration) -> Void)?
        /// Is told, on the loop, why a statement failed.
        ///
        /// Nil: nobody.
        package var onFailure: (@Sendable (PostgresError) -> Void)?

        package init(connectionString: String) { self.connectionString = connectionString }

        package var description: String { "Configuration(\(applicationName))" }
        package var customMirror: Mirror { Mirror(self, children: ["applicationName": applicationName]) }

        /// What the connection string asks for, with what it leaves to us.
        ///
        /// - Throws: What is wrong with the string.
        func parameters() throws(PostgresError) -> ConnectionParameters {
            // A server that is gone without a word is found within 10 s, whether or not something was sent.
            var standards = [
                "fallback_application_name": applicationName, "tcp_user_timeout": "10000", "keepalives_idle": "4",
                "keepalives_interval": "2", "keepalives_count": "3",
            ]
            // No statement of ours runs long enough to be worth compiling, and to try costs some hundred milliseconds.
            // A pooler refuses the setting.
            if preparesStatements { standards["options"] = options }
            var parameters = try ConnectionParameters(
                connectionString, standards: standards, patience: connectTimeout)
            parameters.values["client_encoding"] = "UTF8"
            return parameters
        }

        /// How long a statement may wait for a lock.
        private static let lockTimeout: Duration = .seconds(30)
        /// How long a transaction may stand still: others wait for its locks.
        private static let idleTimeout: Duration = .seconds(60)

        private var options: String {
            // A statement that was given up here must not go on in the server.
            "-c statement_timeout=\(answerTimeout.components.seconds + 5)s"
                + " -c lock_timeout=\(Self.lockTimeout.components.seconds)s"
                + " -c idle_in_transaction_session_timeout=\(Self.idleTimeout.components.seconds)s"
                + " -c jit=off"
                + (usesGenericPlan ? " -c enable_seqscan=off" : "")
                + (usesGenericPlan && !isSharded ? " -c plan_cache_mode=force_generic_plan" : "")
                // Rows for several shards of a server would go over a connection each, made for that transaction alone.
                + (isSharded ? " -c citus.max_adaptive_executor_pool_size=1" : "")
        }
    }

    private let loop: EventLoop
    private let wire: Wire
    private let onStatement: (@Sendable (String, Duration) -> Void)?
    private let onFailure: (@Sendable (PostgresError) -> Void)?
    /// What begins a transaction, and travels with its first query.
    private var pendingOpening: [Query] = []
    private var isInTransaction = false
    /// Its first query has failed, perhaps because it did not begin: what follows must not run outside of it.
    private var isAborted = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ configuration: Configuration, on loop: EventLoop) {
        self.loop = loop
        wire = Wire(configuration, loop: loop)
        onStatement = configuration.onStatement
        onFailure = configuration.onFailure
    }

    /// The loop keeps the handlers that it watches, so a connection that was not closed is closed here.
    isolated deinit { wire.close() }

    /// Connects; one try, whose error says why.
    package static func open(
        _ configuration: Configuration, on loop: EventLoop
    ) async throws(PostgresError) -> Connection {
        let connection = Connection(configuration, on: loop)
        try await connection.open()
        return connection
    }

    private func open() async throws(PostgresError) {
        let outcome: Result<Void, PostgresError> = await withCheckedContinuation { continuation in
            start(
                Wire.Observer(
                    opened: { [wire] in
                        wire.observer = Wire.Observer()
                        continuation.resume(returning: .success(()))
                    },
                    closed: { continuation.resume(returning: .failure($0)) }))
        }
        try outcome.get()
    }

    /// Begins to connect and tells the observer, on the loop, how that and the connection's life go.
    func start(_ observer: Wire.Observer) {
        wire.observer = observer
        wire.open()
    }

    /// Closes the connection at once; queries under way fail with ``PostgresError/Code/closed``.
    package func close() { wire.close() }

    /// Asks the server to stop the statement it is running, which then fails with
    /// ``PostgresError/Code/queryCanceled``.
    ///
    /// The request races with the statement's own end, and then stops whichever runs next: use it on a connection that
    /// you hold alone, and only while you wait for that statement.
    package func cancelRunningStatement() async {
        _ = await wire.cancellation()?.send()
    }

    /// Returns when the connection is gone, or when the calling task is cancelled.
    package nonisolated func waitUntilClosed() async {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        await tellEnd { end.finish() }
        for await _ in ended {}
    }

    private func tellEnd(_ tell: @escaping @Sendable () -> Void) {
        guard wire.isOpen else { return tell() }
        wire.observer.closed = { _ in tell() }
    }

    /// Whether it may be lent again.
    var isClean: Bool { wire.isClean && !isInTransaction }

    // MARK: Queries

    typealias Answer = Result<Rows, PostgresError>

    @discardableResult
    package nonisolated(nonsending) func query(_ query: Query) async throws(PostgresError) -> Rows {
        let answer: Answer = await withCheckedContinuation { continuation in
            loop.perform { self.assumeIsolated { $0.ask(query) { continuation.resume(returning: $0) } } }
        }
        return try answer.get()
    }

    /// Runs a statement, behind others in the same transaction; the answer comes on the loop.
    func ask(_ query: Query, behind opening: [Query] = [], _ answer: @escaping @Sendable (Answer) -> Void) {
        send(query, behind: opening) { [self] first in
            assumeIsolated { connection in
                guard case .failure(let error) = first, error.code == .staleStatement, !connection.isInTransaction
                else {
                    return answer(first)
                }
                // Nothing was carried out; the connection has forgotten the statement and prepares it anew.
                connection.send(query, behind: opening, answer)
            }
        }
    }

    private func send(_ query: Query, behind opening: [Query], _ answer: @escaping @Sendable (Answer) -> Void) {
        guard !isAborted else {
            return answer(.failure(PostgresError(.transactionAborted, "The transaction's first statement failed.")))
        }
        let request = PipelineEntry.Request.query(query, behind: pendingOpening + opening)
        let begins = !pendingOpening.isEmpty
        pendingOpening = []
        let sent = onStatement == nil ? nil : MonotonicTime.now
        wire.ask(
            PipelineEntry(request) { [self] outcome in
                if let onStatement, let sent {
                    onStatement(query.name ?? "other", .nanoseconds(MonotonicTime.now.nanoseconds(since: sent)))
                }
                if case .failure(let error) = outcome {
                    onFailure?(error)
                    if begins { assumeIsolated { $0.isAborted = true } }
                }
                answer(
                    outcome.flatMap { rows in
                        rows.map { .success($0) }
                            ?? .failure(PostgresError(.unexpectedResult, "The server answered without a result."))
                    })
            })
    }

    /// Runs several statements given as one text, in one transaction unless the text says otherwise.
    ///
    /// It waits until earlier queries are answered, and holds back later ones.
    package func execute(script: String) async throws(PostgresError) {
        try await openPendingTransaction()
        let answer = await withCheckedContinuation { continuation in
            wire.ask(PipelineEntry(.script(script)) { continuation.resume(returning: $0) })
        }
        _ = try answer.get()
    }

    private func openPendingTransaction() async throws(PostgresError) {
        if !pendingOpening.isEmpty { try await query("SELECT") }
    }

    // MARK: Transactions

    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// BEGIN travels with the first query. A transaction in which a statement failed cannot be committed, even when
    /// `body` caught the error: then ``PostgresError/Code/transactionAborted`` is thrown.
    ///
    /// - Parameter opening: Statements that run at its beginning, for what they do; they travel with BEGIN.
    package func transaction<R: Sendable>(
        behind opening: [Query] = [], _ body: @Sendable (Connection) async throws -> R
    ) async throws -> R {
        precondition(!isInTransaction, "transactions do not nest")
        isInTransaction = true
        pendingOpening = ["BEGIN"] + opening
        do {
            let value = try await body(self)
            try await commit()
            return value
        } catch {
            await rollBack()
            throw error
        }
    }

    private func commit() async throws(PostgresError) {
        guard pendingOpening.isEmpty else { return endTransaction() }
        let rows = try await query("COMMIT")
        endTransaction()
        // The answer to a COMMIT that could not be honoured is a success that says ROLLBACK.
        guard rows.commandTag == "COMMIT" else {
            throw PostgresError(.transactionAborted, "A statement of the transaction failed, so it was rolled back.")
        }
    }

    private func rollBack() async {
        guard isInTransaction else { return }
        defer { endTransaction() }
        isAborted = false
        guard pendingOpening.isEmpty, wire.isOpen else { return }
        do {
            try await query("ROLLBACK")
        } catch {
            // The server rolls back the transaction of a lost connection.
            wire.close()
        }
    }

    private func endTransaction() {
        isInTransaction = false
        isAborted = false
        pendingOpening = []
    }
}
