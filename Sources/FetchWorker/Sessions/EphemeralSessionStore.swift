import FetchEngine
package import FetchJobs
import HTTPTypes

/// Adds the ephemeral sessions of this node to the stored ones.
///
/// Of each there is a stored row that says which node has it, so that other nodes can.
package struct EphemeralSessionStore: SessionStore {
    private let stored: any SessionStore
    private let ephemeral: EphemeralSessions

    package init(stored: any SessionStore, ephemeral: EphemeralSessions) {
        self.stored = stored
        self.ephemeral = ephemeral
    }

    package func create(_ session: NewSession) async throws(StoreError) -> SessionCreation {
        guard session.spec.kind == .ephemeral else { return try await stored.create(session) }
        if ephemeral.takePlace(for: session) != nil {
            if let row = try await stored.replay(session) { return .made(.replayed(try here(row))) }
            if let room = try await makePlace(for: session) { return .full(room) }
        }
        var isPlaceTaken = false
        defer { if !isPlaceTaken { ephemeral.giveBackPlace(for: session) } }
        switch try await stored.create(session) {
        case .made(.created(let row)):
            let session = TenantSession(
                id: row.id, tenant: row.tenant, spec: session.spec, createdAt: row.createdAt, node: row.node)
            isPlaceTaken = true
            ephemeral.add(session)
            return .made(.created(session))
        case .made(.replayed(let row)): return .made(.replayed(try here(row)))
        case .made(.conflict): return .made(.conflict)
        case .identifierInUse: return .identifierInUse
        case .full(let room): return .full(room)
        case .tooMany(let maximum): return .tooMany(maximum: maximum)
        }
    }

    package func replay(_ session: NewSession) async throws(StoreError) -> TenantSession? {
        try await stored.replay(session).map { row throws(StoreError) in try here(row) }
    }

    /// Takes a place for a session, for which idle ones give way; else what there is too little of.
    private func makePlace(for session: NewSession) async throws(StoreError) -> EphemeralRoom? {
        while let room = ephemeral.takePlace(for: session) {
            guard try await ephemeral.removeIdle(before: session.tenant, from: stored) else { return room }
        }
        return nil
    }

    package func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> TenantSession? {
        if let session = ephemeral.session(SessionAddress(tenant: tenant, session: id)) { return session }
        guard let session = try await stored.session(id, of: tenant) else { return nil }
        return try here(session)
    }

    package func sessions(
        of tenant: Tenant.ID,
        matching filter: SessionFilter,
        page: SessionPage
    ) async throws(StoreError) -> [TenantSession] {
        try await stored.sessions(of: tenant, matching: filter, page: page).map { row in
            ephemeral.session(SessionAddress(tenant: tenant, session: row.id), isUse: false) ?? row
        }
    }

    package func ephemeralOwner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> Node.ID? {
        try await stored.ephemeralOwner(of: job, tenant: tenant)
    }

    package func invalidate(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID,
        _ mode: Invalidation
    ) async throws(StoreError) -> TenantSession? {
        let address = SessionAddress(tenant: tenant, session: id)
        guard let session = try await session(id, of: tenant) else { return nil }
        guard session.spec.kind == .ephemeral else { return try await stored.invalidate(id, of: tenant, mode) }
        ephemeral.invalidate(address, mode)
        _ = try await stored.invalidate(id, of: tenant, mode)
        return ephemeral.session(address)
    }

    package func acknowledge(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> EventsAcknowledgement {
        try await stored.acknowledge(id, of: tenant)
    }

    package func remove(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        guard let session = try await session(id, of: tenant) else { return false }
        if session.spec.kind == .ephemeral {
            guard ephemeral.remove(SessionAddress(tenant: tenant, session: id)) else { return false }
        }
        return try await stored.remove(id, of: tenant)
    }

    package func settle(_ sessions: [SessionAddress]) async throws(StoreError) { try await stored.settle(sessions) }

    package func settle(
        after last: SessionAddress?, limit: Int
    ) async throws(StoreError) -> SessionAddress? {
        try await stored.settle(after: last, limit: limit)
    }

    /// Refuses a session that is in the memory of another node.
    ///
    /// One that should be here and is not has made room for others: its row is all that is left of it.
    private func here(_ session: TenantSession) throws(StoreError) -> TenantSession {
        guard let node = session.node else { return session }
        if let session = ephemeral.session(SessionAddress(tenant: session.tenant, session: session.id)) {
            return session
        }
        guard node == ephemeral.node else { throw StoreError(elsewhere: node) }
        return session
    }
}

/// Adds the jobs of ephemeral sessions to the stored ones.
package struct EphemeralJobStore: JobStore {
    private let stored: any JobStore
    private let sessions: any SessionStore
    private let ephemeral: EphemeralSessions

    /// - Parameter sessions: The stored sessions, which say where the ephemeral ones are.
    package init(stored: any JobStore, sessions: any SessionStore, ephemeral: EphemeralSessions) {
        self.stored = stored
        self.sessions = sessions
        self.ephemeral = ephemeral
    }

    package func enqueue(_ jobs: [NewJob]) async throws(StoreError) -> [Enqueued] {
        guard jobs.contains(where: { $0.spec.session != nil }) else { return try await stored.enqueue(jobs) }
        var mine = jobs.map { ephemeral.enqueue($0) }
        for index in mine.indices {
            while case .noRoom(.bytes) = mine[index],
                try await ephemeral.removeIdle(before: jobs[index].tenant, from: sessions)
            {
                mine[index] = ephemeral.enqueue(jobs[index])
            }
        }
        let others = zip(jobs, mine).filter { $0.1 == nil }.map(\.0)
        var rest = (others.isEmpty ? [] : try await stored.enqueue(others)).makeIterator()
        return mine.map { $0 ?? rest.next() ?? .sessionInvalidated }
    }

    package func job(_ id: Job.ID, of tenant: Tenant.ID) async throws(StoreError) -> Job? {
        if let entry = ephemeral.entry(id, of: tenant) { return entry.job }
        if let job = try await stored.job(id, of: tenant) { return job }
        try await refuseElsewhere(id, of: tenant)
        return nil
    }

    package func jobs(
        of tenant: Tenant.ID,
        matching filter: JobFilter,
        page: JobPage
    ) async throws(StoreError) -> JobList {
        let stored = try await stored.jobs(of: tenant, matching: filter, page: page)
        // Those behind the end of what is stored come with the next page.
        let next = stored.rest.map { page.place.isBackward ? JobPage.Place.before($0) : .after($0) }
        let mine = ephemeral.jobs(of: tenant).filter { job in
            filter.matches(job) && page.place.allows(job.id) && next?.allows(job.id) != true
        }
        guard !mine.isEmpty else { return stored }
        // Specs are read of no more than a page shows, and of one that tells that the list goes on.
        let seen = JobPage(limit: page.limit + 1, at: page.place).cut(mine.sorted { $0.id > $1.id })
        let all = (stored.jobs + seen.map { JobSummary($0) }).sorted { $0.id > $1.id }
        return JobList(all, of: page, end: stored.rest)
    }

    package func count(
        of tenant: Tenant.ID, matching filter: JobFilter, limit: Int
    ) async throws(StoreError) -> JobCount {
        let mine = ephemeral.jobs(of: tenant).count { filter.matches($0) }
        let stored = try await stored.count(of: tenant, matching: filter, limit: limit)
        let number = mine + stored.number
        return JobCount(min(number, limit), isWhole: stored.isWhole && number < limit)
    }

    package func cancel(_ ids: [Job.ID], of tenant: Tenant.ID, _ manner: Cancellation) async throws(StoreError) {
        let others = ids.filter { ephemeral.entry($0, of: tenant) == nil }
        for id in ids { ephemeral.cancel(id, of: tenant) }
        if !others.isEmpty { try await stored.cancel(others, of: tenant, manner) }
    }

    package func setSuspended(_ ids: [Job.ID], of tenant: Tenant.ID, _ isSuspended: Bool) async throws(StoreError) {
        let others = ids.filter { ephemeral.entry($0, of: tenant) == nil }
        for id in ids { ephemeral.setSuspended(id, of: tenant, isSuspended) }
        if !others.isEmpty { try await stored.setSuspended(others, of: tenant, isSuspended) }
    }

    /// Jobs of ephemeral sessions are in no queue.
    package func order(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> [Job.ID] {
        try await stored.order(ids, of: tenant)
    }

    package func reorder(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) {
        try await stored.reorder(ids, of: tenant)
    }

    /// Jobs of ephemeral sessions stay as they were submitted.
    package func change(
        _ id: Job.ID,
        of tenant: Tenant.ID,
        from old: RawJSON,
        to spec: JobSpec,
        _ change: JobChange
    ) async throws(StoreError) -> Bool {
        guard ephemeral.entry(id, of: tenant) == nil else { return false }
        return try await stored.change(id, of: tenant, from: old, to: spec, change)
    }

    package func remove(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> Set<Job.ID> {
        let removed = ids.filter { ephemeral.remove($0, of: tenant) }
        let others = Set(ids).subtracting(removed)
        return others.isEmpty ? Set(removed) : try await stored.remove(Array(others), of: tenant).union(removed)
    }

    /// Jobs of ephemeral sessions are not redriven: their specs are as short-lived as their session.
    package func redrive(_ jobs: [NewJob]) async throws(StoreError) -> Set<Job.ID> {
        try await stored.redrive(jobs.filter { ephemeral.entry($0.id, of: $0.tenant) == nil })
    }

    package func body(of id: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> StoredBody? {
        guard let entry = ephemeral.entry(id, of: tenant) else { return try await stored.body(of: id, tenant: tenant) }
        guard let body = entry.body, let summary = entry.job.body else { return nil }
        let type = entry.job.response.flatMap { ResponseType(response: $0) }
        return StoredBody(
            location: .inline(body), bytes: summary.bytes, digest: summary.digest, contentType: type?.field)
    }

    /// Refuses a job of a session that is in the memory of another node; called only for unknown ids.
    private func refuseElsewhere(_ id: Job.ID, of tenant: Tenant.ID) async throws(StoreError) {
        guard let node = try await sessions.ephemeralOwner(of: id, tenant: tenant), node != ephemeral.node else {
            return
        }
        throw StoreError(elsewhere: node)
    }
}

extension StoreError {
    fileprivate init(elsewhere node: Node.ID) {
        self.init(.elsewhere, "The session lives in the memory of the node \(node); only that one can answer.")
    }
}

/// The content type of a response, out of its JSON.
private struct ResponseType {
    let field: String

    init?(response: RawJSON) {
        // It was written by this process: JSON that cannot be read counts as absent.
        guard case .object(let members)? = try? JSONParser.parse(response.bytes) else { return nil }
        func text(_ name: String) -> String? {
            guard case .string(let text)? = members.first(where: { $0.name == name })?.value else { return nil }
            return text
        }
        guard let type = text("mimeType") else { return nil }
        field = text("textEncodingName").map { "\(type); charset=\($0)" } ?? type
    }
}

extension JobSummary {
    /// - Parameter job: A job of this process, whose spec reads back.
    fileprivate init(_ job: Job) {
        let request = job.storedSpec?.request
        self.init(
            id: job.id,
            state: job.state,
            createdAt: job.createdAt,
            finishedAt: job.finishedAt,
            method: request?.method.rawValue ?? "GET",
            url: request.map { String($0.url.description.prefix { $0 != "?" && $0 != "#" }) } ?? "",
            status: nil,
            errorName: job.attempts.last?.errorName
        )
    }
}
