import CLibPQ
import DequeModule
import EventLoop
import Glibc

/// Makes one connection: to the first server that takes it.
///
/// Servers are asked in their order. One that refuses is followed by the next at once. One that is silent for a moment is
/// waited for while the others are asked, and asked again: a server that hangs does not hide that another one has taken
/// over. libpq's own way through the list of hosts knows no limit of time where the caller does the waiting.
// @unchecked: on the loop's thread alone.
final class Dial: @unchecked Sendable {
    typealias Outcome = Result<(handle: OpaquePointer, place: ServerPlace?), PostgresError>

    /// How long a server is silent before the next one is asked beside it.
    private static let moment = Duration.milliseconds(300)
    /// The pause before those that have refused are asked again, while another is silent.
    private static let pause = Duration.milliseconds(400)

    private let parameters: ConnectionParameters
    private let memory: ServerMemory
    private let loop: EventLoop
    private var onEnd: ((Outcome) -> Void)?
    /// To be asked.
    private var waiting: Deque<ConnectionParameters.Candidate>
    /// Being asked.
    private var attempts: [ObjectIdentifier: DialAttempt] = [:]
    private var lookups = 0
    private var refused: [ConnectionParameters.Candidate] = []
    private var error: PostgresError?
    private var timer: LoopTimer?

    init(
        _ parameters: ConnectionParameters, _ memory: ServerMemory, on loop: EventLoop,
        _ onEnd: @escaping (Outcome) -> Void
    ) {
        self.parameters = parameters
        self.memory = memory
        self.loop = loop
        self.onEnd = onEnd
        waiting = Deque(parameters.candidates)
    }

    /// Begins; ends by its callback, perhaps before it returns.
    func start() {
        let timer = LoopTimer { [weak self] in self?.goOn() }
        self.timer = timer
        order()
        next()
    }

    /// Ends without a word.
    func cancel() {
        onEnd = nil
        stop()
    }

    private func stop() {
        if let timer { loop.set(timer, for: nil) }
        timer = nil
        waiting = []
        for attempt in attempts.values { attempt.cancel() }
        attempts = [:]
    }

    private func end(_ outcome: Outcome) {
        let tell = onEnd.take()
        stop()
        tell?(outcome)
    }

    /// Those that were silent lately are asked last.
    private func order() {
        waiting = Deque(
            waiting.filter { !memory.isSilent($0.place) } + waiting.filter { memory.isSilent($0.place) })
    }

    /// Asks the next server; when there is none and none is being asked, that is the end.
    private func next() {
        guard onEnd != nil else { return }
        if let candidate = waiting.popFirst() { return begin(candidate) }
        guard attempts.isEmpty, lookups == 0 else { return wait(Self.pause) }
        end(.failure(error ?? PostgresError(.unavailable, "The connection string names no server.")))
    }

    private func wait(_ time: Duration) { if let timer { loop.set(timer, for: .now.advanced(by: time)) } }

    /// Somebody has been silent for a moment.
    private func goOn() {
        if waiting.isEmpty {
            waiting = Deque(refused)
            refused = []
        }
        if !waiting.isEmpty { next() } else { wait(Self.pause) }
    }

    private func begin(_ candidate: ConnectionParameters.Candidate) {
        guard let place = candidate.place, place.isNamed else { return ask(candidate) }
        lookups += 1
        wait(Self.moment)
        AddressLookup.start(of: place.host) { [self] found in
            loop.perform {
                self.lookups -= 1
                guard self.onEnd != nil else { return }
                switch found {
                case .success(let addresses):
                    self.waiting.prepend(
                        contentsOf: addresses.map { address in
                            var place = place
                            place.address = address
                            return .init(place: place, session: candidate.session)
                        })
                    self.order()
                case .failure(let error):
                    self.error = error
                    self.refused.append(candidate)
                }
                self.next()
            }
        }
    }

    private func ask(_ candidate: ConnectionParameters.Candidate) {
        let attempt = DialAttempt(on: loop)
        let id = ObjectIdentifier(attempt)
        attempts[id] = attempt
        wait(Self.moment)
        attempt.start(parameters.values(for: candidate), within: parameters.patience) { [weak self] outcome in
            guard let self else { return attempt.discard(outcome) }
            attempts[id] = nil
            switch outcome {
            case .opened(let handle):
                memory.noteAnswer(of: candidate.place)
                end(.success((handle, candidate.place)))
            case .refused(let error):
                memory.noteAnswer(of: candidate.place)
                self.error = error
                refused.append(candidate)
                next()
            case .silent(let error):
                memory.noteSilence(of: candidate.place)
                if self.error == nil { self.error = error }
                next()
            }
        }
    }
}

/// One server that is asked for a connection.
///
/// On the loop's thread only.
final class DialAttempt: DescriptorHandler {
    enum Outcome {
        case opened(OpaquePointer)
        /// The server, or the system, has said no.
        case refused(PostgresError)
        /// Nothing has come in time.
        case silent(PostgresError)
    }

    private let loop: EventLoop
    private var handle: OpaquePointer?
    private var descriptor: Int32 = -1
    private var timer: LoopTimer?
    private var onEnd: ((Outcome) -> Void)?

    init(on loop: EventLoop) { self.loop = loop }

    deinit { if let handle { PQfinish(handle) } }

    /// Begins to connect; ends by its callback, perhaps before it returns.
    func start(_ values: [String: String], within limit: Duration?, _ onEnd: @escaping (Outcome) -> Void) {
        self.onEnd = onEnd
        handle = Self.connect(values)
        guard let handle, PQstatus(handle) != CONNECTION_BAD else { return refuse() }
        // libpq would print them on standard error.
        _ = PQsetNoticeProcessor(handle, { _, _ in }, nil)
        if let limit {
            let timer = LoopTimer { [weak self] in
                self?.end(.silent(PostgresError(.unavailable, "The server did not answer within \(limit).")))
            }
            self.timer = timer
            loop.set(timer, for: .now.advanced(by: limit))
        }
        // As if the poll had said so: the documented way to begin.
        want(.writable)
    }

    func cancel() {
        onEnd = nil
        letGo()
    }

    /// Ends what nobody waits for any more.
    func discard(_ outcome: Outcome) { if case .opened(let handle) = outcome { PQfinish(handle) } }

    private static func connect(_ values: [String: String]) -> OpaquePointer? {
        let keywords = values.keys.map { strdup($0) }
        let texts = values.values.map { strdup($0) }
        defer { (keywords + texts).forEach { free($0) } }
        return PQconnectStartParams(
            keywords.map { UnsafePointer($0) } + [nil], texts.map { UnsafePointer($0) } + [nil], 0)
    }

    func descriptor(_ descriptor: Int32, isReady readiness: Readiness) {
        // libpq may close this descriptor and be given the same number again.
        forgetDescriptor()
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_READING: want(.readable)
        case PGRES_POLLING_WRITING: want(.writable)
        case PGRES_POLLING_OK:
            guard let handle = handle.take() else { return }
            end(.opened(handle))
        default: refuse()
        }
    }

    private func want(_ readiness: Readiness) {
        descriptor = PQsocket(handle)
        guard descriptor >= 0 else { return refuse() }
        loop.watch(descriptor, for: readiness, handler: self)
    }

    private func forgetDescriptor() {
        if descriptor >= 0 { loop.unwatch(descriptor) }
        descriptor = -1
    }

    private func refuse() {
        let reason = handle.map { String(cString: PQerrorMessage($0)) } ?? "There is no memory for a connection."
        let line = reason.split(separator: "\n").joined(separator: " ")
        end(.refused(PostgresError(.unavailable, line.isEmpty ? "The connection could not be made." : line)))
    }

    private func end(_ outcome: Outcome) {
        let tell = onEnd.take()
        letGo()
        if let tell { tell(outcome) } else { discard(outcome) }
    }

    private func letGo() {
        forgetDescriptor()
        if let timer { loop.set(timer, for: nil) }
        timer = nil
        if let handle = handle.take() { PQfinish(handle) }
    }
}
