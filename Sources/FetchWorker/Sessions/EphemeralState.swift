import FetchEngine
import FetchJobs
import FetchRuntime

/// The ephemeral sessions of a node, and what their tenants are charged with.
struct EphemeralState {
    private(set) var sessions: [SessionAddress: EphemeralSession] = [:]
    private var owners: [Job.ID: SessionAddress] = [:]
    private var places: TenantBudget
    private(set) var jobs: TenantBudget
    private(set) var bytes: TenantBudget

    init(_ configuration: EphemeralSessions.Configuration) {
        places = TenantBudget(configuration.maximumSessions)
        jobs = TenantBudget(configuration.maximumJobs)
        bytes = TenantBudget(configuration.maximumBytes)
    }

    func owner(of job: Job.ID) -> SessionAddress? { owners[job] }

    /// Changes a session, and charges its tenant with what it has then.
    ///
    /// Everything that changes one does it here, so nothing that it gives up is forgotten.
    ///
    /// - Returns: Nil when there is no such session.
    @discardableResult
    mutating func change<Result>(
        _ address: SessionAddress, _ change: (inout EphemeralSession) -> Result
    ) -> Result? {
        // Taken out meanwhile, so that it is changed in place.
        guard var session = sessions.removeValue(forKey: address) else { return nil }
        let result = change(&session)
        let now = (jobs: session.running, bytes: session.cost)
        jobs.charge(now.jobs - session.charged.jobs, to: address.tenant)
        bytes.charge(now.bytes - session.charged.bytes, to: address.tenant)
        session.charged = now
        for id in session.forgotten { owners[id] = nil }
        session.forgotten = []
        sessions[address] = session
        return result
    }

    // MARK: Sessions

    /// Takes a place for one more session; the oldest that are invalidated give way, those of the tenant first.
    ///
    /// - Returns: What there is too little of; nil when the place is taken.
    mutating func takePlace(for spec: SessionSpec, of tenant: Tenant.ID) -> EphemeralRoom? {
        while !places.allows(1, of: tenant) {
            let over = sessions.filter { $0.value.session.state == .invalidated && givesWay($0.key, to: tenant) }.keys
            let oldest = over.min { ($0.rank(for: tenant), $0.session) < ($1.rank(for: tenant), $1.session) }
            guard let oldest else { return .sessions(places.total) }
            remove(oldest)
        }
        let cost = EphemeralSession.cost(of: spec)
        guard makeRoom(cost, of: tenant) else { return .bytes(bytes.total) }
        places.charge(1, to: tenant)
        bytes.charge(cost, to: tenant)
        return nil
    }

    /// Gives a place back that no session came to.
    mutating func giveBackPlace(for spec: SessionSpec, of tenant: Tenant.ID) {
        places.charge(-1, to: tenant)
        bytes.charge(-EphemeralSession.cost(of: spec), to: tenant)
    }

    /// Adds a session to the place that was taken for it.
    mutating func add(_ session: EphemeralSession, at address: SessionAddress) { sessions[address] = session }

    mutating func remove(_ address: SessionAddress) {
        guard let session = sessions.removeValue(forKey: address) else { return }
        places.charge(-1, to: address.tenant)
        jobs.charge(-session.charged.jobs, to: address.tenant)
        bytes.charge(-session.charged.bytes, to: address.tenant)
        for id in session.jobs.keys { owners[id] = nil }
        session.forgetQuestions()
    }

    /// Ends the session that has been idle for longest, and for so long, of those that give way to a tenant.
    mutating func endIdle(for time: Duration, before tenant: Tenant.ID) -> SessionAddress? {
        let idle = sessions.filter { $0.value.isIdle(for: time) && givesWay($0.key, to: tenant) }
        guard let address = idle.min(by: { $0.value.usedAt < $1.value.usedAt })?.key else { return nil }
        change(address) { _ = $0.invalidate(.finish) }
        return address
    }

    /// Those of the tenant do, and those of tenants that have more memory.
    private func givesWay(_ address: SessionAddress, to tenant: Tenant.ID) -> Bool {
        address.tenant == tenant || bytes.part(of: address.tenant) > bytes.part(of: tenant)
    }

    // MARK: Jobs

    /// Adds a job to a session; nil when there is no such session.
    mutating func add(_ entry: EphemeralSession.Entry, to address: SessionAddress) -> Enqueued? {
        change(address) { $0.usedAt = .now }
        guard let session = sessions[address] else { return nil }
        if let answer = session.answer(to: entry) { return answer }
        guard session.hasPlace else { return .sessionFull }
        guard jobs.allows(1, of: address.tenant) else { return .noRoom(.jobs(jobs.total)) }
        guard makeRoom(entry.cost, of: address.tenant) else { return .noRoom(.bytes(bytes.total)) }
        change(address) { $0.add(entry) }
        owners[entry.job.id] = address
        return .accepted(entry.job.id)
    }

    /// Has the load of a job take bytes for its body; false when there is no room for them.
    mutating func take(_ count: Int, for id: Job.ID) -> Bool {
        guard let owner = owners[id], makeRoom(count, of: owner.tenant) else { return false }
        return change(owner) { $0.take(count, for: id) } != nil
    }

    /// Makes room in memory: final jobs go, first of the session that was used the longest ago; none if that is no use.
    private mutating func makeRoom(_ amount: Int, of tenant: Tenant.ID) -> Bool {
        if bytes.allows(amount, of: tenant) { return true }
        let own = sessions.filter { $0.key.tenant == tenant && $0.value.costOfFinal > 0 }
            .map { (address: $0.key, usedAt: $0.value.usedAt, cost: $0.value.costOfFinal) }
            .sorted { $0.usedAt < $1.usedAt }
        guard bytes.allows(amount - own.reduce(0) { $0 + $1.cost }, of: tenant) else { return false }
        for (address, _, _) in own {
            while sessions[address]?.costOfFinal ?? 0 > 0 {
                change(address) { $0.forgetOldest() }
                if bytes.allows(amount, of: tenant) { return true }
            }
        }
        return false
    }
}

extension SessionAddress {
    /// Those of the tenant come first.
    fileprivate func rank(for tenant: Tenant.ID) -> Int { self.tenant == tenant ? 0 : 1 }
}
