import FetchEngine
import FetchJobs
import FetchRuntime

/// An ephemeral session and its jobs, in memory and nowhere else (SES-3).
struct EphemeralSession {
    /// A job that lives in memory.
    struct Entry {
        let claimed: ClaimedJob
        let idempotency: Idempotency?
        let stop: StopSwitch
        var job: Job
        var body: [UInt8]?
    }

    /// How many jobs a session has at once, those that are final included.
    static let maximumJobs = 1000
    /// How many bytes of bodies a session holds; those of the oldest jobs make room.
    static let maximumBytes = 64 << 20
    /// The most bytes one body may have.
    static let maximumBody = 16 << 20

    var session: TenantSession
    /// Nil once the session is over: its cookies, credentials and stored answers are gone with it.
    private(set) var engine: Session?
    /// How many of its jobs are not final.
    private(set) var running = 0
    private(set) var jobs: [Job.ID: Entry] = [:]
    /// In the order they were stored.
    private var order: [Job.ID] = []
    private var bytes = 0
    private let questions: EphemeralQuestions

    init(session: TenantSession, engine: Session, questions: EphemeralQuestions) {
        self.session = session
        self.engine = engine
        self.questions = questions
    }

    /// It takes no job and has none, and its end is not settled yet.
    var isOver: Bool { running == 0 && (session.state == .finishing || session.state == .cancelling) }

    /// Ends a session that is over.
    ///
    /// - Returns: The session of the engine, to be invalidated.
    mutating func end() -> Session? {
        session.state = .invalidated
        session.endedAt = .now
        return engine.take()
    }

    /// Takes a job; the newest final ones stay as long as there is room.
    mutating func add(_ new: NewJob) -> Enqueued {
        if let idempotency = new.idempotency,
            let first = jobs.first(where: { $0.value.idempotency?.key == idempotency.key })
        {
            let isSame = first.value.idempotency?.fingerprint == idempotency.fingerprint
            return isSame ? .replayed(first.key) : .conflict
        }
        if let first = first(like: new.spec.unique) { return .duplicate(of: first) }
        guard session.state == .active else { return .sessionInvalidated }
        if jobs.count >= Self.maximumJobs {
            guard let oldest = order.first(where: { jobs[$0]?.job.state.isFinal == true }) else {
                return .sessionFull
            }
            forget(oldest)
        }
        var job = Job(
            id: new.id, tenant: new.tenant, state: .running, spec: RawJSON(new.spec.json), createdAt: .now)
        if let time = new.spec.runAt, time > job.createdAt { job.nextAttemptAt = time }
        job.state = job.stateInMemory(isSuspended: new.spec.isSuspended)
        if job.state == .running { job.startedAt = job.createdAt }
        let claimed = ClaimedJob(
            id: new.id, tenant: new.tenant, spec: new.spec, claim: 1, expiresAt: new.spec.expiresAt)
        let stop = StopSwitch(tenant: new.tenant)
        if new.spec.isSuspended { stop.suspend() }
        jobs[new.id] = Entry(claimed: claimed, idempotency: new.idempotency, stop: stop, job: job)
        questions.begin(new.id)
        order.append(new.id)
        running += 1
        return .accepted(new.id)
    }

    /// The job that has the same key, as long as it is remembered and its window is not over.
    private func first(like unique: UniqueKey?) -> Job.ID? {
        guard let unique else { return nil }
        return jobs.values.first { entry in
            guard let other = entry.claimed.spec.unique, other.key == unique.key else { return false }
            return entry.job.createdAt.advanced(by: other.window) > .now
        }?.job.id
    }

    /// Keeps the outcome of a job.
    mutating func finish(_ id: Job.ID, _ outcome: JobOutcome) {
        guard var entry = jobs[id], !entry.job.state.isFinal else { return }
        running -= 1
        entry.job.end(outcome, attempt: entry.job.attempts.count + 1)
        if case .inline(let body) = outcome.body {
            entry.body = body
            bytes += body.count
        }
        jobs[id] = entry
        for old in order where bytes > Self.maximumBytes && old != id && jobs[old]?.job.state.isFinal == true {
            forget(old)
        }
    }

    /// Lets a job wait for its next attempt.
    mutating func schedule(_ id: Job.ID, after outcome: JobOutcome, at time: Timestamp) {
        let number = (jobs[id]?.job.attempts.count ?? 0) + 1
        jobs[id]?.job.attempts.append(Job.Attempt(outcome, number: number, next: time))
        jobs[id]?.job.nextAttemptAt = time
        jobs[id]?.updateState()
    }

    /// Lets a job run whose time has come.
    mutating func begin(_ id: Job.ID) {
        jobs[id]?.job.nextAttemptAt = nil
        jobs[id]?.updateState()
        if jobs[id]?.job.startedAt == nil { jobs[id]?.job.startedAt = .now }
    }

    /// Holds a job where it is, or lets it go on.
    mutating func setSuspended(_ id: Job.ID, _ isSuspended: Bool) {
        guard let entry = jobs[id], !entry.job.state.isFinal else { return }
        if isSuspended { entry.stop.suspend() } else { entry.stop.resume() }
        jobs[id]?.updateState()
    }

    /// Forgets a job that is final.
    mutating func remove(_ id: Job.ID) -> Bool {
        guard jobs[id]?.job.state.isFinal == true else { return false }
        forget(id)
        return true
    }

    /// The configuration of a job of the session, with that of the session.
    func configuration(of job: ClaimedJob) -> FetchJobs.Configuration {
        var merged = session.spec.configuration
        merged.override(by: job.spec.configuration)
        return merged
    }

    mutating func noteCancelling(_ id: Job.ID) {
        if jobs[id]?.job.state.isFinal == false { jobs[id]?.job.isCancelling = true }
    }

    private mutating func forget(_ id: Job.ID) {
        questions.forget(id)
        bytes -= jobs[id]?.body?.count ?? 0
        jobs[id] = nil
        order.removeAll { $0 == id }
    }
}

extension EphemeralSession.Entry {
    fileprivate mutating func updateState() { job.state = job.stateInMemory(isSuspended: stop.isSuspended) }
}

extension Job {
    /// The state of a job that is not final.
    fileprivate func stateInMemory(isSuspended: Bool) -> JobState {
        isSuspended ? .suspended : nextAttemptAt == nil ? .running : .scheduled
    }
}

extension ClaimedJob {
    /// The same job after so many attempts, which say when it is given up.
    func tried(_ tries: Int, until deadline: Timestamp?) -> ClaimedJob {
        ClaimedJob(
            id: id, tenant: tenant, spec: spec, claim: Int32(clamping: tries + 1), tries: tries, expiresAt: deadline)
    }
}
