package import EventLoop
package import FoundationEssentials
package import Logging
import ServiceLifecycle
import Synchronization

/// A pool of connections that comes back by itself when the server does.
///
/// Connections are opened on demand, so a client works without ``run()``; running it keeps the minimum open and closes
/// everything at graceful shutdown.
package actor Client: TransactionRunner, Service {
    /// How connections are made, and how many.
    ///
    /// Neither description nor reflection shows the connection strings, which may have passwords.
    package struct Configuration: Sendable, CustomStringConvertible, CustomReflectable {
        /// How each connection is made.
        package var connection: Connection.Configuration
        /// For commands that a pooler in transaction mode cannot carry (LISTEN).
        ///
        /// Nil: the same as the others.
        package var directConnectionString: String?
        package var minimumConnections = 1
        package var maximumConnections = 10
        /// How long a query waits for a connection.
        package var acquireTimeout: Duration = .seconds(5)
        /// How many queries may wait for a connection; one more fails at once.
        package var maximumWaiting = 10_000
        /// The first pause after a connection could not be made; doubled for each further failure.
        package var initialBackoff: Duration = .milliseconds(100)
        package var maximumBackoff: Duration = .seconds(1)

        package init(connectionString: String) {
            connection = Connection.Configuration(connectionString: connectionString)
        }

        package var description: String { "Configuration(\(connection.applicationName))" }
        package var customMirror: Mirror { Mirror(self, children: ["connection": connection]) }

        /// How a connection is made that nothing stands between; nil when all are.
        package var direct: Connection.Configuration? {
            guard let directConnectionString else { return nil }
            var direct = connection
            direct.connectionString = directConnectionString
            direct.preparesStatements = true
            return direct
        }
    }

    /// Whether the server can be reached, as far as the last attempt told.
    package enum State: Sendable {
        case available
        case unavailable(since: Date, reason: PostgresError?)
    }

    let configuration: Configuration
    let loop: EventLoop
    let logger: Logger
    /// How its connections are used.
    package nonisolated let usage = PoolUsage()
    private let currentState = Mutex(State.unavailable(since: Date(), reason: nil))
    private let sharded = Atomic(false)

    /// Open and idle; the one used last is lent first.
    private var idle: [Connection] = []
    /// All that are open or being opened, lent or not.
    private var connections: [ObjectIdentifier: Connection] = [:]
    private var opening = 0
    private let waiting: WaitingLine<Connection>
    private var backoff: Backoff
    private var retryTimer: LoopTimer?
    private var isRetryPending = false
    private var isClosing = false
    private var isLeaving = false
    private var endTimer: LoopTimer?
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []
    private var listener: Listener?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    package init(_ configuration: Configuration, loop: EventLoop, logger: Logger) {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        backoff = Backoff(configuration)
        waiting = WaitingLine(patience: configuration.acquireTimeout, loop: loop)
    }

    package nonisolated var state: State { currentState.withLock { $0 } }

    /// Whether tables may be spread over several servers (Citus), whose planner takes fewer forms of statements and plans
    /// each for its parameters.
    ///
    /// Set before the statements that depend on it run; connections that are open by then are as they were made.
    package nonisolated var isSharded: Bool {
        get { sharded.load(ordering: .relaxed) }
        set { sharded.store(newValue, ordering: .relaxed) }
    }

    // MARK: Life

    package func run() async throws {
        for _ in connections.count..<max(connections.count, configuration.minimumConnections) { openConnection() }
        do {
            try await gracefulShutdown()
        } catch {
            // Cancelled instead: the end is the same.
        }
        await close()
    }

    /// Refuses new queries, waits for those under way, and closes every connection.
    package func close() async {
        isClosing = true
        waiting.dismissAll()
        listener?.close()
        listener = nil
        closeIdle()
        closeOpening()
        await withCheckedContinuation { continuation in
            whenEmpty.append(continuation)
            finishClosing()
        }
    }

    /// Ends the attempts to connect: nobody waits for them.
    private func closeOpening() {
        for (id, connection) in connections where !opened.contains(id) { connection.assumeIsolated { $0.close() } }
    }

    /// Is told that its process is about to end: from now on nothing waits for a server that cannot be reached, and after
    /// this time for nothing.
    package nonisolated func leave(within time: Duration) {
        loop.perform { self.assumeIsolated { $0.beginLeaving(within: time) } }
    }

    private func beginLeaving(within time: Duration) {
        isLeaving = true
        if opened.isEmpty { refuseWaiting() }
        let timer = LoopTimer { [weak self] in self?.assumeIsolated { $0.cut() } }
        endTimer = timer
        loop.set(timer, for: .now.advanced(by: time))
    }

    /// Nobody is kept waiting for what will not come before the end.
    private func refuseWaiting() { waiting.expireAll() }

    private func cut() {
        guard !connections.isEmpty || waiting.count > 0 else { return }
        logger.warning("database connections were cut at the end")
        isClosing = true
        waiting.dismissAll()
        for connection in connections.values { connection.assumeIsolated { $0.close() } }
    }

    private func closeIdle() {
        for connection in idle { connection.assumeIsolated { $0.close() } }
    }

    private static var closedError: PostgresError { PostgresError(.closed, "The database client is closed.") }

    // MARK: Queries

    @discardableResult
    package nonisolated(nonsending) func query(_ query: Query) async throws(PostgresError) -> Rows {
        try await self.query(query, behind: [])
    }

    /// Runs a statement behind others, which travel in the same message and are one transaction with it.
    @discardableResult
    nonisolated(nonsending) func query(_ query: Query, behind opening: [Query]) async throws(PostgresError) -> Rows {
        // Asked and answered on the loop, but awaited where the caller is: a wait within the actor ends on a thread of
        // the pool, which has to wake the loop, which has to wake the caller.
        let answer: Connection.Answer = await withCheckedContinuation { continuation in
            loop.perform {
                self.assumeIsolated { $0.ask(query, behind: opening) { continuation.resume(returning: $0) } }
            }
        }
        return try answer.get()
    }

    /// Runs a statement over the next connection that is free.
    private func ask(
        _ query: Query, behind opening: [Query], _ answer: @escaping @Sendable (Connection.Answer) -> Void
    ) {
        borrow { loan in
            switch loan {
            case .success(let connection):
                self.assumeIsolated { $0.ask(query, behind: opening, over: connection, answer) }
            case .failure(let error): answer(.failure(error))
            }
        }
    }

    private func ask(
        _ query: Query, behind opening: [Query], over connection: Connection,
        _ answer: @escaping @Sendable (Connection.Answer) -> Void
    ) {
        connection.assumeIsolated { connection in
            connection.ask(query, behind: opening) { [self, connection] result in
                assumeIsolated { client in
                    client.release(connection)
                    if case .failure(let error) = result, error.code == .unavailable {
                        // The connection broke while it was being lent, so nothing was sent; the next one waits if it
                        // must.
                        client.ask(query, behind: opening, answer)
                    } else {
                        answer(result)
                    }
                }
            }
        }
    }

    /// Lends one connection while `body` runs.
    package func withConnection<R: Sendable>(_ body: @Sendable (Connection) async throws -> R) async throws -> R {
        let connection = try await acquire()
        defer { release(connection) }
        return try await body(connection)
    }

    package func transaction<R: Sendable>(_ body: @Sendable (Connection) async throws -> R) async throws -> R {
        try await transaction(behind: [], body)
    }

    /// Runs `body` in a transaction that begins with other statements.
    func transaction<R: Sendable>(
        behind opening: [Query], _ body: @Sendable (Connection) async throws -> R
    ) async throws -> R {
        try await withConnection { try await $0.transaction(behind: opening, body) }
    }

    /// The same connections, where each statement and each transaction begins with `opening`.
    ///
    /// - Parameter opening: Makes settings that end with the transaction (`set_config(…, true)`).
    package nonisolated func scoped(by opening: Query) -> ScopedClient { ScopedClient(client: self, opening: opening) }

    // MARK: Lending

    private func acquire() async throws(PostgresError) -> Connection {
        let loan: Result<Connection, PostgresError> = await withCheckedContinuation { continuation in
            borrow { continuation.resume(returning: $0) }
        }
        return try loan.get()
    }

    /// Lends a connection, now or when one comes free.
    private func borrow(_ borrower: @escaping @Sendable (Result<Connection, PostgresError>) -> Void) {
        defer { noteUsage() }
        guard !isClosing else { return borrower(.failure(Self.closedError)) }
        if let connection = idle.popLast() { return borrower(.success(connection)) }
        if isLeaving, opened.isEmpty, case .unavailable = state { return borrower(.failure(waitedTooLong)) }
        guard waiting.count < configuration.maximumWaiting else {
            let error = PostgresError(.unavailable, "\(waiting.count) queries wait for a connection already.")
            return borrower(.failure(error))
        }
        waiting.append { [self] outcome in
            switch outcome {
            case .served(let connection): borrower(.success(connection))
            case .expired:
                borrower(
                    .failure(
                        assumeIsolated { client in
                            client.noteUsage()
                            return client.waitedTooLong
                        }))
            case .dismissed: borrower(.failure(Self.closedError))
            }
        }
        openForWaiters()
    }

    private func noteUsage() {
        usage.note(open: opened.count, idle: idle.count, opening: opening, waiting: waiting.count)
    }

    private func release(_ connection: Connection) {
        defer { noteUsage() }
        guard connections[ObjectIdentifier(connection)] != nil else { return openForWaiters() }
        // A transaction left open would become the next borrower's.
        guard !isClosing, connection.assumeIsolated({ $0.isClean }) else {
            return connection.assumeIsolated { $0.close() }
        }
        lend(connection)
    }

    private func lend(_ connection: Connection) {
        if !waiting.serve(connection) { idle.append(connection) }
    }

    private var waitedTooLong: PostgresError {
        let limit = configuration.acquireTimeout
        return switch state {
        case .unavailable(_, let reason?):
            PostgresError(.unavailable, "The database cannot be reached: \(reason.message)", sqlState: reason.sqlState)
        case .unavailable(_, nil): PostgresError(.unavailable, "The database did not answer within \(limit).")
        case .available: PostgresError(.unavailable, "All connections were busy for \(limit).")
        }
    }

    // MARK: Opening

    private func openForWaiters() {
        // A connection may fail while it is being begun; then a retry is pending and this stops.
        // One finds out whether the server is there; the others follow it.
        let most = opened.isEmpty ? 1 : configuration.maximumConnections
        while !isRetryPending, opening < min(most, waiting.count), connections.count < configuration.maximumConnections
        {
            openConnection()
        }
    }

    private func openConnection() {
        guard !isClosing else { return }
        var making = configuration.connection
        making.isSharded = isSharded
        let connection = Connection(making, on: loop)
        let id = ObjectIdentifier(connection)
        connections[id] = connection
        opening += 1
        connection.assumeIsolated { connection in
            connection.start(
                Wire.Observer(
                    opened: { [weak self] in self?.assumeIsolated { $0.didOpen(id) } },
                    closed: { [weak self] error in self?.assumeIsolated { $0.didClose(id, error) } }))
        }
    }

    private func didOpen(_ id: ObjectIdentifier) {
        guard let connection = connections[id] else { return }
        defer { noteUsage() }
        opening -= 1
        opened.insert(id)
        backoff.reset()
        currentState.withLock { $0 = .available }
        guard !isClosing else { return connection.assumeIsolated { $0.close() } }
        lend(connection)
        openForWaiters()
    }

    private var opened: Set<ObjectIdentifier> = []

    private func didClose(_ id: ObjectIdentifier, _ error: PostgresError) {
        defer { noteUsage() }
        connections[id] = nil
        idle.removeAll { ObjectIdentifier($0) == id }
        if opened.remove(id) == nil { opening -= 1 }
        guard !isClosing else { return finishClosing() }
        if opened.isEmpty {
            becomeUnavailable(error)
            if isLeaving { refuseWaiting() }
        }
        if error.code != .closed { logger.info("database connection lost", metadata: ["error": "\(error)"]) }
        retryLater()
    }

    private func finishClosing() {
        guard connections.isEmpty else { return }
        whenEmpty.forEach { $0.resume() }
        whenEmpty = []
    }

    private func becomeUnavailable(_ error: PostgresError) {
        currentState.withLock { state in
            if case .unavailable(let since, _) = state {
                state = .unavailable(since: since, reason: error)
            } else {
                state = .unavailable(since: Date(), reason: error)
            }
        }
    }

    private func retryLater() {
        guard !isRetryPending else { return }
        isRetryPending = true
        let timer = retryTimer ?? LoopTimer { [weak self] in self?.assumeIsolated { $0.retry() } }
        retryTimer = timer
        loop.set(timer, for: .now.advanced(by: backoff.next()))
    }

    /// Opens one connection, to see whether the server is back; the rest follow when it is.
    private func retry() {
        isRetryPending = false
        guard !isClosing else { return }
        if opened.isEmpty {
            if opening == 0 { openConnection() }
        } else {
            openForWaiters()
        }
    }

    // MARK: Notifications

    /// The notifications on a channel from now on, over one connection of its own.
    ///
    /// The stream holds 64 events; when its reader is slower, the oldest are dropped. It ends when the client closes,
    /// and at once when a pooler stands before all connections: it would not pass notifications on.
    package func notifications(on channel: String) -> AsyncStream<ChannelEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChannelEvent.self, bufferingPolicy: .bufferingNewest(64))
        guard !isClosing, configuration.direct != nil || configuration.connection.preparesStatements else {
            continuation.finish()
            return stream
        }
        let listener = listener ?? Listener(configuration, loop: loop)
        self.listener = listener
        listener.add(continuation, channel: channel)
        return stream
    }
}
