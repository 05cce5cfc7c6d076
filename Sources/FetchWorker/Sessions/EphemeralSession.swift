import FetchEngine
import FetchJobs
import FetchRuntime

/// An ephemeral session and its jobs, in memory and nowhere else (SES-3).
struct EphemeralSession {
    /// A job that lives in memory.
    struct Entry {
        /// Nil when the job is final, so that its spec is there once.
        fileprivate(set) var claimed: ClaimedJob?
        let idempotency: Idempotency?
        let unique: UniqueKey?
        let stop: StopSwitch
        var job: Job
        fileprivate(set) var body: [UInt8]?
        /// How many bytes its load has taken for a body that is not complete.
        fileprivate var taken = 0
    }

    /// How many jobs a session has at once, those that are final included.
    static let maximumJobs = 1000
    /// How many bytes of bodies a session holds; those of the oldest jobs make room.
    static let maximumBytes = 64 << 20
    /// The most bytes one body may have.
    static let maximumBody = 16 << 20
    /// What a session is charged with beside what it holds.
    private static let overhead = 16 << 10

    var session: TenantSession
    /// When it was asked for, or had a job that was not final.
    var usedAt = Timestamp.now
    /// What its tenant is charged with for it.
    var charged: (jobs: Int, bytes: Int)
    /// Jobs that it had, which are still found by their ids.
    var forgotten: [Job.ID] = []
    /// Nil once the session is over: its cookies, credentials and stored answers are gone with it.
    private(set) var engine: Session?
    /// How many of its jobs are not final.
    private(set) var running = 0
    private(set) var jobs: [Job.ID: Entry] = [:]
    /// In the order they were stored.
    private var order: [Job.ID] = []
    private var bytes = 0
    /// The cost of its jobs: of those that are final, which make room for others, and of those that are not.
    private(set) var costOfFinal = 0
    private var costOfRunning = 0
    private let ownCost: Int
    private var cache: MemoryResponseCache?
    private let questions: EphemeralQuestions

    init(session: TenantSession, engine: Session, cache: MemoryResponseCache?, questions: EphemeralQuestions) {
        self.session = session
        self.engine = engine
        self.cache = cache
        self.questions = questions
        ownCost = Self.cost(of: session.spec)
        charged = (0, ownCost)
    }

    /// How many bytes a session is charged with that has no job.
    static func cost(of spec: SessionSpec) -> Int { overhead + JSONWriter.object(spec.write).count }

    /// How many bytes it is to be charged with.
    var cost: Int { ownCost + costOfFinal + costOfRunning + Int(cache?.currentMemoryUsage ?? 0) }

    /// Whether it has place for one more job, when the oldest final one gives way.
    var hasPlace: Bool { running < Self.maximumJobs }

    /// It is as it was made, and has only final jobs; so long nobody has asked.
    func isIdle(for time: Duration) -> Bool {
        session.state == .active && running == 0 && usedAt.advanced(by: time) <= .now
    }

    /// Has it take no more jobs; beyond that, asking again changes nothing.
    ///
    /// - Returns: The jobs that are to stop.
    mutating func invalidate(_ mode: Invalidation) -> [Entry] {
        guard session.state == .active || session.state == .finishing && mode == .cancel else { return [] }
        session.state = mode.state
        session.invalidatedAt = session.invalidatedAt ?? .now
        return mode == .cancel ? jobs.values.filter { !$0.job.state.isFinal } : []
    }

    /// It takes no job and has none, and its end is not settled yet.
    var isOver: Bool { running == 0 && (session.state == .finishing || session.state == .cancelling) }

    /// Ends a session that is over.
    ///
    /// - Returns: The session of the engine, to be invalidated.
    mutating func end() -> Session? {
        session.state = .invalidated
        session.endedAt = .now
        cache = nil
        return engine.take()
    }

    /// What a job is answered that was submitted before, or that the session does not take.
    func answer(to new: Entry) -> Enqueued? {
        if let idempotency = new.idempotency,
            let first = jobs.first(where: { $0.value.idempotency?.key == idempotency.key })
        {
            let isSame = first.value.idempotency?.fingerprint == idempotency.fingerprint
            return isSame ? .replayed(first.key) : .conflict
        }
        if let first = first(like: new.unique) { return .duplicate(of: first) }
        return session.state == .active ? nil : .sessionInvalidated
    }

    /// Takes a job; the newest final ones stay as long as there is room.
    mutating func add(_ new: Entry) {
        if jobs.count >= Self.maximumJobs { forgetOldest() }
        jobs[new.job.id] = new
        count(new, 1)
        questions.begin(new.job.id)
        order.append(new.job.id)
        running += 1
        usedAt = .now
    }

    /// The job that has the same key, as long as it is remembered and its window is not over.
    private func first(like unique: UniqueKey?) -> Job.ID? {
        guard let unique else { return nil }
        return jobs.values.first { entry in
            guard let other = entry.unique, other.key == unique.key else { return false }
            return entry.job.createdAt.advanced(by: other.window) > .now
        }?.job.id
    }

    /// Keeps the outcome of a job.
    ///
    /// - Parameter summary: The summary of its body, where it was made before.
    mutating func finish(_ id: Job.ID, _ outcome: JobOutcome, _ summary: Job.BodySummary? = nil) {
        guard let entry = jobs[id], !entry.job.state.isFinal else { return }
        running -= 1
        usedAt = .now
        update(id) { entry in
            entry.job.end(outcome, attempt: entry.job.attempts.count + 1, body: summary)
            entry.claimed = nil
            entry.taken = 0
            if case .inline(let body) = outcome.body { entry.body = body }
        }
        bytes += jobs[id]?.body?.count ?? 0
        for old in order where bytes > Self.maximumBytes && old != id && jobs[old]?.job.state.isFinal == true {
            forget(old)
        }
    }

    /// Has the load of a job take bytes for its body.
    mutating func take(_ count: Int, for id: Job.ID) { update(id) { $0.taken += count } }

    /// Lets a job wait for its next attempt.
    mutating func schedule(_ id: Job.ID, after outcome: JobOutcome, at time: Timestamp) {
        update(id) { entry in
            entry.job.attempts.append(Job.Attempt(outcome, number: entry.job.attempts.count + 1, next: time))
            entry.job.nextAttemptAt = time
            entry.taken = 0
            entry.updateState()
        }
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

    /// It is removed, and its jobs with it.
    func forgetQuestions() { for id in jobs.keys { questions.forget(id) } }

    /// Forgets the oldest job that is final, if there is one.
    mutating func forgetOldest() {
        if let oldest = order.first(where: { jobs[$0]?.job.state.isFinal == true }) { forget(oldest) }
    }

    private mutating func forget(_ id: Job.ID) {
        questions.forget(id)
        if let entry = jobs.removeValue(forKey: id) {
            bytes -= entry.body?.count ?? 0
            count(entry, -1)
        }
        order.removeAll { $0 == id }
        forgotten.append(id)
    }

    /// Changes a job, and its cost with it.
    private mutating func update(_ id: Job.ID, _ change: (inout Entry) -> Void) {
        guard var entry = jobs[id] else { return }
        count(entry, -1)
        change(&entry)
        count(entry, 1)
        jobs[id] = entry
    }

    private mutating func count(_ entry: Entry, _ sign: Int) {
        if entry.job.state.isFinal {
            costOfFinal += sign * entry.cost
        } else {
            costOfRunning += sign * entry.cost
        }
    }
}

extension EphemeralSession.Entry {
    /// What a job is charged with beside what it holds.
    private static let overhead = 4 << 10

    init(_ new: NewJob) {
        var job = Job(id: new.id, tenant: new.tenant, state: .running, spec: RawJSON(new.spec.json), createdAt: .now)
        if let time = new.spec.runAt, time > job.createdAt { job.nextAttemptAt = time }
        job.state = job.stateInMemory(isSuspended: new.spec.isSuspended)
        if job.state == .running { job.startedAt = job.createdAt }
        let stop = StopSwitch(tenant: new.tenant)
        if new.spec.isSuspended { stop.suspend() }
        let claimed = ClaimedJob(
            id: new.id, tenant: new.tenant, spec: new.spec, claim: 1, expiresAt: new.spec.expiresAt)
        self.init(
            claimed: claimed, idempotency: new.idempotency, unique: new.spec.unique, stop: stop, job: job, body: nil)
    }

    /// How many bytes its tenant is charged with for it.
    ///
    /// An array has at times twice the room of its bytes: what all sessions may have leaves a node enough for that.
    var cost: Int {
        let kept = Self.overhead + job.size + (body?.count ?? 0)
        // Its spec is there twice, and the load has so much of a body before it takes more.
        return job.state.isFinal ? kept : kept + job.spec.bytes.count + Blob.inlineLimit + taken
    }

    fileprivate mutating func updateState() { job.state = job.stateInMemory(isSuspended: stop.isSuspended) }
}

extension Job {
    /// How many bytes the texts have that are kept of it.
    fileprivate var size: Int {
        let texts = [spec, response, error, redirects, challenges] + attempts.flatMap { [$0.metrics, $0.decisions] }
        return texts.reduce(0) { $0 + ($1?.bytes.count ?? 0) }
    }

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
