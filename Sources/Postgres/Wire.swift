import CLibPQ
import DequeModule
import EventLoop

/// One libpq connection as events: queries are sent at once, in pipeline mode, and answered in order.
///
/// Everything happens on the loop's thread. After a failure it is of no more use; a caller makes a new wire for
/// another connection.
// @unchecked: on the loop's thread alone.
final class Wire: DescriptorHandler, @unchecked Sendable {
    /// The callbacks to the owner, on the loop's thread.
    struct Observer {
        /// The connection is ready for queries.
        var opened: () -> Void = {}
        /// The connection could not be made or is gone; nothing follows.
        var closed: (PostgresError) -> Void = { _ in }
        var notified: (_ channel: String, _ payload: String) -> Void = { _, _ in }
    }

    private enum Phase {
        case new, connecting, open
        case closed(PostgresError)
    }

    private let configuration: Connection.Configuration
    private let loop: EventLoop
    var observer = Observer()

    private var phase = Phase.new
    private var handle: OpaquePointer?
    private var dial: Dial?
    /// The server that it is connected to, and how that is asked whether it lives.
    private var server: (place: ServerPlace, parameters: ConnectionParameters)?
    private var descriptor: Int32 = -1
    private var interest: Readiness = []
    /// Sent, not answered.
    private var inFlight = Deque<PipelineEntry>()
    /// Waiting for a script to end, or for its turn as one.
    private var backlog = Deque<PipelineEntry>()
    private var isRunningScript = false
    private var statements = PreparedStatements()
    private var watchdog: LoopTimer?
    private var isWatched = false
    /// When the server has sent something.
    private var lastReceived = MonotonicTime.now
    /// When its silence is a reason again to ask whether it lives.
    private var doubtsAt = MonotonicTime.now

    init(_ configuration: Connection.Configuration, loop: EventLoop) {
        self.configuration = configuration
        self.loop = loop
    }

    deinit {
        // Only reached after `close`, or when nothing was ever connected: the loop holds the handlers that it watches.
        if let handle { PQfinish(handle) }
    }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// Whether no query is under way and no transaction is open, so that another caller may use it.
    var isClean: Bool {
        isOpen && inFlight.isEmpty && backlog.isEmpty && PQtransactionStatus(handle) == PQTRANS_IDLE
    }

    // MARK: Opening and closing

    func open() {
        guard case .new = phase else { return }
        phase = .connecting
        let parameters: ConnectionParameters
        do { parameters = try configuration.parameters() } catch { return fail(error) }
        let dial = Dial(parameters, configuration.memory, on: loop) { [weak self] outcome in
            guard let self else {
                if case .success(let opened) = outcome { PQfinish(opened.handle) }
                return
            }
            self.dial = nil
            switch outcome {
            case .success(let opened):
                handle = opened.handle
                server = opened.place.map { ($0, parameters) }
                finishOpening()
            case .failure(let error): fail(error)
            }
        }
        self.dial = dial
        dial.start()
    }

    private func finishOpening() {
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { return fail(connectError()) }
        phase = .open
        watchdog = LoopTimer { [weak self] in self?.watch() }
        if let server {
            configuration.memory.add(ObjectIdentifier(self), at: server.place) { [weak self, loop] in
                loop.perform { [weak self] in self?.giveUp() }
            }
        }
        want(.readable)
        observer.opened()
        pump()
    }

    /// The request to cancel the statement under way; nil when there is none.
    func cancellation() -> StatementCancellation? {
        guard isOpen, !inFlight.isEmpty, let handle else { return nil }
        return StatementCancellation(of: handle)
    }

    /// Ends the connection; queries under way fail with ``PostgresError/Code/closed``.
    func close() { fail(PostgresError(.closed, "The connection was closed.")) }

    private func connectError() -> PostgresError {
        let reason = errorMessage
        return PostgresError(.unavailable, reason.isEmpty ? "The connection could not be made." : reason)
    }

    private var errorMessage: String {
        guard let handle else { return "There is no memory for a connection." }
        return String(cString: PQerrorMessage(handle)).split(separator: "\n").joined(separator: " ")
    }

    private func fail(_ error: PostgresError) {
        if case .closed = phase { return }
        phase = .closed(error)
        dial?.cancel()
        dial = nil
        if let server { configuration.memory.remove(ObjectIdentifier(self), at: server.place) }
        forgetDescriptor()
        if let watchdog { loop.set(watchdog, for: nil) }
        watchdog = nil
        if let handle { PQfinish(handle) }
        handle = nil
        let unanswered = [inFlight, backlog].joined()
        inFlight = []
        backlog = []
        for exchange in unanswered { exchange.answer(.failure(error)) }
        observer.closed(error)
        observer = Observer()
    }

    private func lose() {
        let message = errorMessage
        fail(PostgresError(.connectionLost, message.isEmpty ? "The connection broke." : message))
    }

    // MARK: Readiness

    func descriptor(_ descriptor: Int32, isReady readiness: Readiness) {
        switch phase {
        case .open:
            guard readiness != .writable else { return flush() }
            receive()
            if isOpen, interest.contains(.writable) { flush() }
        case .new, .connecting, .closed: break
        }
    }

    private func want(_ readiness: Readiness) {
        let current = PQsocket(handle)
        guard current >= 0 else { return lose() }
        guard current != descriptor || readiness != interest else { return }
        descriptor = current
        interest = readiness
        loop.watch(current, for: readiness, handler: self)
    }

    private func forgetDescriptor() {
        if descriptor >= 0 { loop.unwatch(descriptor) }
        descriptor = -1
        interest = []
    }

    private func flush() {
        switch PQflush(handle) {
        case 0: want(.readable)
        case 1: want([.readable, .writable])
        default: lose()
        }
    }

    // MARK: Asking

    func ask(_ exchange: PipelineEntry) {
        if case .closed(let error) = phase {
            let code: PostgresError.Code = error.code == .closed ? .closed : .unavailable
            return exchange.answer(.failure(PostgresError(code, error.message)))
        }
        backlog.append(exchange)
        pump()
    }

    /// Sends what may be sent now.
    ///
    /// A script has the connection for itself.
    private func pump() {
        while isOpen, !isRunningScript, let next = backlog.first {
            switch next.request {
            case .query(let query, let opening):
                backlog.removeFirst()
                send(next, query, behind: opening)
            case .script(let script):
                guard inFlight.isEmpty else { return }
                backlog.removeFirst()
                send(next, script)
            }
        }
    }

    private func send(_ exchange: PipelineEntry, _ query: Query, behind opening: [Query]) {
        exchange.sent = .now
        let isSent =
            opening.allSatisfy { send($0, for: exchange) } && send(query, for: exchange)
            && PQpipelineSync(handle) == 1
        inFlight.append(exchange)
        guard isSent else { return lose() }
        watchForAnswer()
        flush()
    }

    private func send(_ query: Query, for exchange: PipelineEntry) -> Bool {
        var statement: PreparedStatement?
        if configuration.preparesStatements, query.isStatic {
            statement = statements[query]
            if statement == nil, let new = statements.insert(query) {
                statement = new
                exchange.steps.append(.prepare(new))
                guard sendPrepare(new, query) else { return false }
            }
        }
        exchange.steps.append(.execute(statement))
        return sendExecute(query, statement)
    }

    private func sendPrepare(_ statement: PreparedStatement, _ query: Query) -> Bool {
        query.withParameters { count, types, _, _, _ in
            PQsendPrepare(handle, statement.name, query.sql, count, types)
        } == 1
    }

    private func sendExecute(_ query: Query, _ statement: PreparedStatement?) -> Bool {
        query.withParameters { count, types, values, lengths, formats in
            guard let statement else {
                return PQsendQueryParams(handle, query.sql, count, types, values, lengths, formats, 1)
            }
            return PQsendQueryPrepared(handle, statement.name, count, values, lengths, formats, 1)
        } == 1
    }

    private func send(_ exchange: PipelineEntry, _ script: String) {
        isRunningScript = true
        inFlight.append(exchange)
        guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, script) == 1 else { return lose() }
        watchForAnswer()
        flush()
    }

    // MARK: Being answered

    private func receive() {
        guard PQconsumeInput(handle) == 1 else { return lose() }
        lastReceived = .now
        while isOpen, !inFlight.isEmpty, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle).map(QueryResult.init) else {
                if isRunningScript { finishScript() }
                continue
            }
            if result.status == PGRES_PIPELINE_SYNC {
                finishFirst()
            } else {
                inFlight[0].receive(result)
            }
        }
        deliverNotifications()
    }

    private func finishScript() {
        isRunningScript = false
        guard PQenterPipelineMode(handle) == 1 else { return lose() }
        finishFirst()
    }

    private func finishFirst() {
        let exchange = inFlight.removeFirst()
        for statement in exchange.missingStatements { statements.remove(statement) }
        exchange.finish()
        // It was the primary and is no more; another connection finds the one that is.
        if exchange.hasMetReadOnlyServer, isOpen {
            return fail(PostgresError(.connectionLost, "The server takes no writes any more."))
        }
        pump()
    }

    private func deliverNotifications() {
        while isOpen, let notification = PQnotifies(handle) {
            defer { PQfreemem(notification) }
            observer.notified(
                String(cString: notification.pointee.relname), String(cString: notification.pointee.extra))
        }
        // The server may have said good-bye between queries; libpq notices when it parses that.
        if isOpen, PQstatus(handle) == CONNECTION_BAD { lose() }
    }

    // MARK: The time limit

    /// One timer per connection for any number of queries; it checks the oldest when it fires.
    private func watchForAnswer() {
        guard !isWatched, let watchdog, let oldest = inFlight.first else { return }
        isWatched = true
        let doubt = max(doubtTime(oldest), doubtsAt)
        loop.set(watchdog, for: min(oldest.sent.advanced(by: configuration.answerTimeout), doubt))
    }

    private func doubtTime(_ oldest: PipelineEntry) -> MonotonicTime {
        max(oldest.sent, lastReceived).advanced(by: configuration.doubt)
    }

    private func watch() {
        isWatched = false
        guard isOpen, let oldest = inFlight.first else { return }
        let (now, limit) = (MonotonicTime.now, configuration.answerTimeout)
        guard now < oldest.sent.advanced(by: limit) else {
            return fail(PostgresError(.timedOut, "The server did not answer within \(limit)."))
        }
        if doubtTime(oldest) <= now, doubtsAt <= now { askWhetherServerLives(at: now) }
        watchForAnswer()
    }

    /// Asks for another connection while a statement takes long.
    ///
    /// A server that lives answers, if only by refusing. One that hangs, or is gone without a word, does not, and then
    /// all connections to it are given up.
    private func askWhetherServerLives(at now: MonotonicTime) {
        doubtsAt = now.advanced(by: configuration.doubt * 4)
        guard let server, configuration.memory.beginAsking(server.place) else { return }
        let (memory, loop) = (configuration.memory, loop)
        var values = server.parameters.values(for: .init(place: server.place, session: "any"))
        // Whoever looks at the sessions of the server sees what it is for.
        values["application_name"] = "\(configuration.applicationName) probe"
        let patience = server.parameters.hasChoice ? configuration.probePatience : configuration.probePatience * 2
        let attempt = DialAttempt(on: loop)
        // The closure keeps the attempt until its end.
        attempt.start(values, within: patience) { [attempt] outcome in
            memory.endAsking(server.place)
            attempt.discard(outcome)
            if case .silent = outcome { memory.drop(server.place) }
        }
    }

    private func giveUp() {
        fail(PostgresError(.timedOut, "The server answers neither statements nor requests for a connection."))
    }
}
