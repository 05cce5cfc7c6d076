package import FetchEngine
package import FetchJobs
package import FetchRuntime
import ServiceLifecycle
import Synchronization

/// The ephemeral sessions of this node, with their jobs: in memory, and gone with the process (SES-3).
package final class EphemeralSessions: Service {
    private struct State {
        var sessions: [SessionAddress: EphemeralSession] = [:]
        var owners: [Job.ID: SessionAddress] = [:]
    }

    /// How many ephemeral sessions a node has, those included that are invalidated and not removed.
    package static let maximumSessions = 1000

    let node: Node.ID
    private let runner: JobRunner
    private let defaults: SessionConfiguration
    private let makeSession: @Sendable (SessionConfiguration) -> Session
    private let questions: EphemeralQuestions
    private let waiters: CompletionWaiters
    private let state = Mutex(State())
    private let started: AsyncStream<Job.ID>
    private let starts: AsyncStream<Job.ID>.Continuation

    /// - Parameters:
    ///   - node: This process.
    ///   - defaults: What sessions go by that set nothing.
    ///   - questions: What the jobs ask.
    ///   - waiters: Get every job that has reached its final state.
    ///   - makeSession: Makes a session of the engine.
    package init(
        node: Node.ID,
        runner: JobRunner,
        defaults: SessionConfiguration,
        questions: EphemeralQuestions,
        waiters: CompletionWaiters,
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        self.node = node
        self.runner = runner
        self.defaults = defaults
        self.questions = questions
        self.waiters = waiters
        self.makeSession = makeSession
        (started, starts) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                await withTaskExecutorPreference(runner.loop.eventLoop) {
                    for await id in started {
                        group.addTask { await self.run(id, on: self.runner.loop) }
                    }
                }
            }
        } onGracefulShutdown: {
            self.starts.finish()
            // Nobody can ask for their results any more.
            for entry in self.running() { entry.stop.stop(.drained) }
        }
    }

    private func running() -> [EphemeralSession.Entry] {
        state.withLock { state in
            state.sessions.values.flatMap { $0.jobs.values.filter { !$0.job.state.isFinal } }
        }
    }

    private func run(_ id: Job.ID, on loop: isolated TransferLoop) async {
        guard let (entry, terms) = claimed(id) else { return }
        if let time = entry.job.nextAttemptAt { await pause(id, entry.stop, until: time) }
        var (tries, deadline) = (0, entry.claimed.expiresAt)
        while true {
            let job = entry.claimed.tried(tries, until: deadline)
            let outcome = await runner.run(job, by: terms, upTo: EphemeralSession.maximumBody, stop: entry.stop).value
            guard let wait = outcome.retryAfter, entry.stop.reason == nil else {
                change(id) { $0.finish(id, outcome) }
                runner.spans?.recordEnd(of: job, outcome)
                break
            }
            tries += 1
            deadline = outcome.deadline ?? deadline
            let next = Timestamp.now.advanced(by: wait)
            change(id) { $0.schedule(id, after: outcome, at: next) }
            await pause(id, entry.stop, until: next)
        }
        endSessions()
        waiters.finish([id])
    }

    /// A job and its terms; nil when it is gone.
    @inline(never)
    private func claimed(_ id: Job.ID) -> (EphemeralSession.Entry, JobTerms)? {
        let claimed = state.withLock { state in
            state.owners[id].flatMap { state.sessions[$0] }.flatMap { session in
                session.jobs[id].map { (session, $0) }
            }
        }
        guard let (session, entry) = claimed, let engine = session.engine else { return nil }
        let terms = runner.terms(
            of: entry.claimed,
            in: EngineSession(engine: engine, configuration: session.session.spec.configuration, kind: .ephemeral),
            session.configuration(of: entry.claimed))
        return (entry, terms)
    }

    /// Waits for a job's time; not for long when it is stopped.
    private func pause(_ id: Job.ID, _ stop: StopSwitch, until time: Timestamp) async {
        await stop.pause(for: .microseconds(max(0, time.microseconds - Timestamp.now.microseconds)))
        change(id) { $0.begin(id) }
    }

    private func change(_ id: Job.ID, _ change: (inout EphemeralSession) -> Void) {
        state.withLock { state in
            guard let owner = state.owners[id], var session = state.sessions[owner] else { return }
            // Taken out meanwhile, so that it is changed in place.
            state.sessions[owner] = nil
            change(&session)
            state.sessions[owner] = session
        }
    }

    // MARK: Sessions

    /// Whether one more has room; the oldest that is invalidated makes some.
    func makeRoom() -> Bool {
        state.withLock { state in
            guard state.sessions.count >= Self.maximumSessions else { return true }
            let over = state.sessions.filter { $0.value.session.state == .invalidated }
            guard let oldest = over.min(by: { $0.key.session < $1.key.session }) else { return false }
            remove(oldest.key, from: &state)
            return true
        }
    }

    func add(_ session: TenantSession) {
        var configuration = defaults.configured(by: session.spec)
        configuration.fileMount = defaults.fileMount(of: session.tenant)
        configuration.owner = session.tenant.description
        configuration.take(runner.protocols, of: session.tenant, for: session.spec)
        let engine = makeSession(configuration)
        let address = SessionAddress(tenant: session.tenant, session: session.id)
        state.withLock {
            $0.sessions[address] = EphemeralSession(session: session, engine: engine, questions: questions)
        }
    }

    /// The session as it stands, when it is one of this node's.
    func session(_ address: SessionAddress) -> TenantSession? { state.withLock { $0.sessions[address]?.session } }

    func invalidate(_ address: SessionAddress, _ mode: Invalidation) {
        let stopping = state.withLock { state -> [EphemeralSession.Entry] in
            guard let session = state.sessions[address]?.session,
                session.state == .active || session.state == .finishing && mode == .cancel
            else { return [] }
            state.sessions[address]?.session.state = mode.state
            state.sessions[address]?.session.invalidatedAt = session.invalidatedAt ?? .now
            guard mode == .cancel else { return [] }
            return state.sessions[address]?.jobs.values.filter { !$0.job.state.isFinal } ?? []
        }
        for entry in stopping { entry.stop.stop(.cancelled(.plainly)) }
        endSessions()
    }

    /// Ends those that take no job and have none: the state of their engine's sessions is forgotten.
    private func endSessions() {
        let ended = state.withLock { state -> [Session] in
            let addresses = state.sessions.filter { $0.value.isOver }.map(\.key)
            return addresses.compactMap { state.sessions[$0]?.end() }
        }
        for engine in ended { engine.invalidateAndCancel() }
    }

    func remove(_ address: SessionAddress) -> Bool {
        state.withLock { state in
            guard state.sessions[address]?.session.state == .invalidated else { return false }
            remove(address, from: &state)
            return true
        }
    }

    private func remove(_ address: SessionAddress, from state: inout State) {
        for id in state.sessions[address]?.jobs.keys.map({ $0 }) ?? [] {
            state.owners[id] = nil
            questions.forget(id)
        }
        state.sessions[address] = nil
    }

    // MARK: Jobs

    /// Stores a job and starts it; nil when its session is not one of this node's.
    func enqueue(_ job: NewJob) -> Enqueued? {
        guard let id = job.spec.session else { return nil }
        let address = SessionAddress(tenant: job.tenant, session: id)
        let result = state.withLock { state -> Enqueued? in
            guard let result = state.sessions[address]?.add(job) else { return nil }
            if case .accepted(let id) = result { state.owners[id] = address }
            return result
        }
        if case .accepted(let id) = result { starts.yield(id) }
        return result
    }

    func entry(_ id: Job.ID, of tenant: Tenant.ID) -> EphemeralSession.Entry? {
        state.withLock { state in
            guard let owner = state.owners[id], owner.tenant == tenant else { return nil }
            return state.sessions[owner]?.jobs[id].map { asking($0) }
        }
    }

    /// A job as it stands, with the question that it waits for.
    private func asking(_ entry: EphemeralSession.Entry) -> EphemeralSession.Entry {
        guard entry.job.state == .running, let question = questions.open(of: entry.job.id) else { return entry }
        var entry = entry
        entry.job.state = .awaitingDecision
        entry.job.waitingFor = question
        return entry
    }

    func jobs(of tenant: Tenant.ID) -> [Job] {
        state.withLock { state in
            state.sessions.filter { $0.key.tenant == tenant }.values.flatMap { $0.jobs.values.map { asking($0).job } }
        }
    }

    func setSuspended(_ id: Job.ID, of tenant: Tenant.ID, _ isSuspended: Bool) {
        if entry(id, of: tenant) != nil { change(id) { $0.setSuspended(id, isSuspended) } }
    }

    /// Forgets a job that is final.
    func remove(_ id: Job.ID, of tenant: Tenant.ID) -> Bool {
        guard entry(id, of: tenant) != nil else { return false }
        var isRemoved = false
        change(id) { isRemoved = $0.remove(id) }
        if isRemoved { state.withLock { $0.owners[id] = nil } }
        return isRemoved
    }

    func cancel(_ id: Job.ID, of tenant: Tenant.ID) {
        guard let entry = entry(id, of: tenant), !entry.job.state.isFinal else { return }
        state.withLock { state in
            guard let owner = state.owners[id] else { return }
            state.sessions[owner]?.noteCancelling(id)
        }
        entry.stop.stop(.cancelled(.plainly))
    }
}
