package import FetchEngine
package import FetchJobs
package import FetchRuntime
import ServiceLifecycle
import Synchronization

/// The ephemeral sessions of this node, with their jobs: in memory, and gone with the process (SES-3).
package final class EphemeralSessions: Service {
    /// What a node has for them; a tenant may have as much of each as it leaves free.
    package struct Configuration: Sendable {
        /// How many sessions there may be, those included that are invalidated and not removed; 1000.
        package var maximumSessions = 1000
        /// How many of their jobs may be not final, those included that wait for their time; 4000.
        package var maximumJobs = 4000
        /// How many bytes of memory they may have, with what their loads buffer; 512 MiB.
        package var maximumBytes = 512 << 20
        /// How long a session without running jobs was not asked for that gives way to others; an hour.
        package var idleTime = Duration.seconds(3600)

        package init() {}
    }

    let node: Node.ID
    private let runner: JobRunner
    private let defaults: SessionConfiguration
    private let makeSession: @Sendable (SessionConfiguration) -> Session
    private let questions: EphemeralQuestions
    private let waiters: CompletionWaiters
    private let idleTime: Duration
    private let state: Mutex<EphemeralState>
    private let started: AsyncStream<Job.ID>
    private let starts: AsyncStream<Job.ID>.Continuation

    /// - Parameters:
    ///   - configuration: How much of the node they may have.
    ///   - node: This process.
    ///   - defaults: What sessions go by that set nothing.
    ///   - questions: What the jobs ask.
    ///   - waiters: Get every job that has reached its final state.
    ///   - makeSession: Makes a session of the engine.
    package init(
        configuration: Configuration = Configuration(),
        node: Node.ID,
        runner: JobRunner,
        defaults: SessionConfiguration,
        questions: EphemeralQuestions,
        waiters: CompletionWaiters,
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        idleTime = configuration.idleTime
        state = Mutex(EphemeralState(configuration))
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
        guard let (claimed, start, stop, terms) = claimed(id) else { return }
        if let start { await pause(id, stop, until: start) }
        var (tries, deadline) = (0, claimed.expiresAt)
        while true {
            let job = claimed.tried(tries, until: deadline)
            let outcome = await runner.run(
                job, by: terms, upTo: EphemeralSession.maximumBody,
                taking: { count in self.state.withLock { $0.take(count, for: id) } }, stop: stop
            ).value
            guard let wait = outcome.retryAfter, stop.reason == nil else {
                // Its digest is not made while all others wait for the lock.
                let body = outcome.body.map(Job.BodySummary.init)
                change(id) { $0.finish(id, outcome, body) }
                runner.spans?.recordEnd(of: job, outcome)
                break
            }
            tries += 1
            deadline = outcome.deadline ?? deadline
            let next = Timestamp.now.advanced(by: wait)
            change(id) { $0.schedule(id, after: outcome, at: next) }
            await pause(id, stop, until: next)
        }
        endWhenOver(claimed.session)
        waiters.finish([id])
    }

    /// A job, when it is to start, and its terms; nil when it is gone.
    @inline(never)
    private func claimed(_ id: Job.ID) -> (ClaimedJob, start: Timestamp?, StopSwitch, JobTerms)? {
        let found = state.withLock { state in
            state.owner(of: id).flatMap { state.sessions[$0] }.flatMap { session in
                session.jobs[id].map { (session, $0) }
            }
        }
        guard let (session, entry) = found, let job = entry.claimed, let engine = session.engine else { return nil }
        let terms = runner.terms(
            of: job,
            in: EngineSession(engine: engine, configuration: session.session.spec.configuration, kind: .ephemeral),
            session.configuration(of: job))
        return (job, entry.job.nextAttemptAt, entry.stop, terms)
    }

    /// Waits for a job's time; not for long when it is stopped.
    private func pause(_ id: Job.ID, _ stop: StopSwitch, until time: Timestamp) async {
        await stop.pause(for: .microseconds(max(0, time.microseconds - Timestamp.now.microseconds)))
        change(id) { $0.begin(id) }
    }

    private func change(_ id: Job.ID, _ change: (inout EphemeralSession) -> Void) {
        state.withLock { state in
            if let owner = state.owner(of: id) { state.change(owner, change) }
        }
    }

    // MARK: Sessions

    /// Takes a place for one more, to add it or to give the place back.
    ///
    /// - Returns: What there is too little of; nil when the place is taken.
    func takePlace(for new: NewSession) -> EphemeralRoom? {
        state.withLock { $0.takePlace(for: new.spec, of: new.tenant) }
    }

    func giveBackPlace(for new: NewSession) { state.withLock { $0.giveBackPlace(for: new.spec, of: new.tenant) } }

    /// Adds one to the place that was taken for it.
    func add(_ session: TenantSession) {
        var configuration = defaults.configured(by: session.spec)
        configuration.fileMount = defaults.fileMount(of: session.tenant)
        configuration.owner = session.tenant.description
        configuration.take(runner.protocols, of: session.tenant, for: session.spec)
        let engine = makeSession(configuration)
        let cache = configuration.urlCache as? MemoryResponseCache
        let address = SessionAddress(tenant: session.tenant, session: session.id)
        state.withLock {
            $0.add(
                EphemeralSession(session: session, engine: engine, cache: cache, questions: questions), at: address)
        }
    }

    /// Ends and removes an idle one that gives way to a tenant, for which there is no room.
    ///
    /// - Parameter stored: Where it is stored which node has it.
    /// - Returns: false when there is none.
    func removeIdle(before tenant: Tenant.ID, from stored: any SessionStore) async throws(StoreError) -> Bool {
        guard let address = state.withLock({ $0.endIdle(for: idleTime, before: tenant) }) else { return false }
        endWhenOver(address)
        // No tenant is told in its audit log who another one is.
        try await AuditActor.$current.withValue(.service) { () async -> Result<Void, StoreError> in
            do throws(StoreError) {
                _ = try await stored.invalidate(address.session, of: address.tenant, .finish)
                return .success(())
            } catch {
                return .failure(error)
            }
        }.get()
        return remove(address)
    }

    /// The session as it stands, when it is one of this node's.
    ///
    /// - Parameter isUse: Whether somebody asks for this one.
    func session(_ address: SessionAddress, isUse: Bool = true) -> TenantSession? {
        state.withLock { state in
            if isUse { state.change(address) { $0.usedAt = .now } }
            return state.sessions[address]?.session
        }
    }

    func invalidate(_ address: SessionAddress, _ mode: Invalidation) {
        let stopping = state.withLock { state in state.change(address) { $0.invalidate(mode) } }
        for entry in stopping ?? [] { entry.stop.stop(.cancelled(.plainly)) }
        endWhenOver(address)
    }

    /// Ends a session that takes no job and has none: the state of its engine's session is forgotten.
    private func endWhenOver(_ address: SessionAddress) {
        let ended = state.withLock { state in
            state.change(address) { session -> Session? in session.isOver ? session.end() : nil }
        }
        if let engine = ended ?? nil { engine.invalidateAndCancel() }
    }

    func remove(_ address: SessionAddress) -> Bool {
        state.withLock { state in
            guard state.sessions[address]?.session.state == .invalidated else { return false }
            state.remove(address)
            return true
        }
    }

    // MARK: Jobs

    /// Stores a job and starts it; nil when its session is not one of this node's.
    func enqueue(_ job: NewJob) -> Enqueued? {
        guard let id = job.spec.session else { return nil }
        let address = SessionAddress(tenant: job.tenant, session: id)
        guard state.withLock({ $0.sessions[address] != nil }) else { return nil }
        let entry = EphemeralSession.Entry(job)
        let result = state.withLock { $0.add(entry, to: address) }
        if case .accepted(let id) = result { starts.yield(id) }
        return result
    }

    func entry(_ id: Job.ID, of tenant: Tenant.ID) -> EphemeralSession.Entry? {
        let entry = state.withLock { state -> EphemeralSession.Entry? in
            guard let owner = state.owner(of: id), owner.tenant == tenant else { return nil }
            state.change(owner) { $0.usedAt = .now }
            return state.sessions[owner]?.jobs[id]
        }
        return entry.map { asking($0) }
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
        // Others wait for the lock: what takes longer is done without it, and the jobs are not copied yet.
        let sessions = state.withLock { state in
            state.sessions.compactMap { $0.key.tenant == tenant ? $0.value.jobs : nil }
        }
        return sessions.flatMap { jobs in jobs.values.map { asking($0).job } }
    }

    func setSuspended(_ id: Job.ID, of tenant: Tenant.ID, _ isSuspended: Bool) {
        if entry(id, of: tenant) != nil { change(id) { $0.setSuspended(id, isSuspended) } }
    }

    /// Forgets a job that is final.
    func remove(_ id: Job.ID, of tenant: Tenant.ID) -> Bool {
        guard entry(id, of: tenant) != nil else { return false }
        var isRemoved = false
        change(id) { isRemoved = $0.remove(id) }
        return isRemoved
    }

    func cancel(_ id: Job.ID, of tenant: Tenant.ID) {
        guard let entry = entry(id, of: tenant), !entry.job.state.isFinal else { return }
        change(id) { $0.noteCancelling(id) }
        entry.stop.stop(.cancelled(.plainly))
    }
}
