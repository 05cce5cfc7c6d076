package import FetchJobs

/// The contract of every form of ``SessionStore``, with the jobs of its sessions, and of ``SnapshotStore`` with them.
package enum SessionStoreContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let store: any SessionStore
        let snapshots: any SnapshotStore

        package init(jobs: JobsSubject, store: any SessionStore, snapshots: any SnapshotStore) {
            self.jobs = jobs
            self.store = store
            self.snapshots = snapshots
        }

        fileprivate var tenant: Tenant.ID { jobs.tenant }

        fileprivate func new(_ text: String = "{}", _ idempotency: Idempotency? = nil) throws -> NewSession {
            let spec = try SessionSpec(json: try JSONParser.parse(text.utf8))
            return NewSession(tenant: tenant, spec: spec, idempotency: idempotency)
        }

        /// The definition of a background session with this identifier.
        fileprivate func background(_ identifier: String, _ idempotency: Idempotency? = nil) throws -> NewSession {
            let webhook = #""webhook": {"endpoint": "\#(WebhookEndpoint.ID())"}"#
            return try new(#"{"kind": "background", "identifier": "\#(identifier)", \#(webhook)}"#, idempotency)
        }

        fileprivate func create(_ new: NewSession? = nil) async throws -> TenantSession.ID {
            let new = try new ?? self.new()
            _ = try await store.create(new)
            return new.id
        }

        fileprivate func list(_ filter: SessionFilter = SessionFilter(), _ page: SessionPage = SessionPage(limit: 9))
            async throws -> [TenantSession.ID]
        {
            try await store.sessions(of: tenant, matching: filter, page: page).map(\.id)
        }

        fileprivate func enqueue(_ session: TenantSession.ID) async throws -> Enqueued? {
            try await jobs.store.enqueue([.make(more: #", "session": "\#(session)""#)]).first
        }

        fileprivate func state(_ id: TenantSession.ID) async throws -> SessionState? {
            try await store.session(id, of: tenant)?.state
        }

        fileprivate func acknowledge(_ id: TenantSession.ID) async throws -> EventsAcknowledgement {
            try await store.acknowledge(id, of: tenant)
        }
    }

    package static let clauses: [Clause<Subject>] = making + ending + events + snapshots

    // MARK: Making

    private static let making: [Clause<Subject>] = [
        Clause("a session is stored as it was asked for, and is its tenant's alone") { subject in
            let new = try subject.new(#"{"description": "d", "configuration": {"redirects": {"maximum": 2}}}"#)
            guard case .made(.created(let created)) = try await subject.store.create(new) else {
                return ["not created"]
            }
            let (found, other) = (try await subject.store.session(new.id, of: subject.tenant), subject.jobs.other)
            let list = try await subject.store.sessions(
                of: other, matching: SessionFilter(), page: SessionPage(limit: 9))
            return compare("created", created.id, new.id) + compare("spec", found?.spec, new.spec)
                + compare("state", found?.state, .active) + compare("list", list.map(\.id), [])
                + compare("another's", try await subject.store.session(new.id, of: other) == nil, true)
                + compare("invalidated", try await subject.store.invalidate(new.id, of: other, .cancel) == nil, true)
        },
        Clause("pages of a list meet, the newest first, and a list can be of one kind or identifier") { subject in
            var ids: [TenantSession.ID] = []
            for _ in 0..<3 { ids.append(try await subject.create()) }
            let other = try await subject.create(subject.background("b"))
            let first = try await subject.list(SessionFilter(kind: .default), SessionPage(limit: 2))
            let rest = try await subject.list(SessionFilter(kind: .default), SessionPage(limit: 2, after: first.last))
            return compare("first", first, [ids[2], ids[1]]) + compare("rest", rest, [ids[0]])
                + compare("kind", try await subject.list(SessionFilter(kind: .background)), [other])
                + compare("identifier", try await subject.list(SessionFilter(identifier: "b")), [other])
                + compare("unknown", try await subject.list(SessionFilter(identifier: "c")), [])
        },
        Clause("a key makes one session") { subject in
            let key = { Idempotency(key: "k", fingerprint: SHA256Digest(of: [$0])) }
            guard case .made(.created(let first)) = try await subject.store.create(subject.new("{}", key(1))),
                case .made(.replayed(let again)) = try await subject.store.create(subject.new("{}", key(1))),
                case .made(.conflict) = try await subject.store.create(subject.new("{}", key(2)))
            else { return ["the key did not count"] }
            return compare("replayed", again.id, first.id)
        },
        Clause("a key of a request that was refused makes a session later") { subject in
            let key = Idempotency(key: "k", fingerprint: SHA256Digest(of: [1]))
            let first = try await subject.create(subject.background("b"))
            guard case .identifierInUse = try await subject.store.create(subject.background("b", key)),
                case .identifierInUse = try await subject.store.create(subject.background("b", key))
            else { return ["two have the identifier"] }
            _ = try await subject.store.invalidate(first, of: subject.tenant, .finish)
            guard case .made(.created) = try await subject.store.create(subject.background("b", key)) else {
                return ["the key is used up"]
            }
            return []
        },
        Clause("a live session has its identifier for itself") { subject in
            let first = try await subject.create(subject.background("b"))
            guard case .identifierInUse = try await subject.store.create(subject.background("b")) else {
                return ["two have it"]
            }
            _ = try await subject.store.invalidate(first, of: subject.tenant, .finish)
            guard case .made(.created) = try await subject.store.create(subject.background("b")) else {
                return ["an ended one has it"]
            }
            return []
        },
    ]

    // MARK: Ending

    private static let ending: [Clause<Subject>] = [
        Clause("a session that finishes takes no job, ends with its last one, and is forgotten then") { subject in
            let session = try await subject.create()
            let first = try await subject.enqueue(session)
            let finishing = try await subject.store.invalidate(session, of: subject.tenant, .finish)
            let late = try await subject.enqueue(session)
            let early = try await subject.store.remove(session, of: subject.tenant)
            try await subject.jobs.run(.make())
            try await subject.store.settle()
            let ended = try await subject.state(session)
            let removed = try await subject.store.remove(session, of: subject.tenant)
            return compare("taken", first?.isAccepted, true) + compare("finishing", finishing?.state, .finishing)
                + compare("late", late, .sessionInvalidated) + compare("ended", ended, .invalidated)
                + compare("removed", [early, removed], [false, true])
                + compare("then", try await subject.state(session), nil)
        },
        Clause("a session without jobs ends at once, and asking again changes nothing") { subject in
            let session = try await subject.create()
            let first = try await subject.store.invalidate(session, of: subject.tenant, .finish)
            let again = try await subject.store.invalidate(session, of: subject.tenant, .cancel)
            let unknown = try await subject.store.invalidate(TenantSession.ID(), of: subject.tenant, .finish)
            return compare("states", [first?.state, again?.state], [.invalidated, .invalidated])
                + compare("times", again?.invalidatedAt, first?.invalidatedAt)
                + compare("ended", first?.endedAt != nil, true) + compare("unknown", unknown == nil, true)
                + compare("late", try await subject.enqueue(session), .sessionInvalidated)
        },
        Clause("a session that is cancelled cancels what waits and tells what runs, while it finishes too") { subject in
            let session = try await subject.create()
            _ = try await subject.enqueue(session)
            _ = try await subject.enqueue(session)
            let running = try await subject.jobs.claim(1, limit: 1)
            _ = try await subject.store.invalidate(session, of: subject.tenant, .finish)
            let cancelling = try await subject.store.invalidate(session, of: subject.tenant, .cancel)
            let told = try await subject.jobs.queues[1].heartbeat().cancelled
            let all = try await subject.jobs.store.jobs(of: subject.tenant, state: nil, page: JobPage(limit: 9))
            for job in running { _ = try await subject.jobs.queues[1].settle(job, .make(.cancelled)) }
            try await subject.store.settle()
            return compare("cancelling", cancelling?.state, .cancelling) + compare("told", told, running.map(\.id))
                + compare("states", Set(all.map(\.state)), [.running, .cancelled])
                + compare("ended", try await subject.state(session), .invalidated)
        },
    ]

    // MARK: Events

    private static let events: [Clause<Subject>] = [
        Clause("the events of a session are acknowledged once for each time that they are finished") { subject in
            let session = try await subject.create(subject.background("b"))
            var answers = [try await subject.acknowledge(session)]
            for _ in 0..<2 {
                _ = try await subject.enqueue(session)
                answers.append(try await subject.acknowledge(session))
                try await subject.jobs.run(.make())
                try await subject.store.settle()
                answers.append(try await subject.acknowledge(session))
                answers.append(try await subject.acknowledge(session))
            }
            let round: [EventsAcknowledgement] = [.tooEarly, .acknowledged, .repeated]
            let found = try await subject.store.session(session, of: subject.tenant)
            return compare("answers", answers, [.tooEarly] + round + round)
                + compare("times", found?.eventsFinishedAt != nil && found?.eventsAcknowledgedAt != nil, true)
                + compare("unknown", try await subject.acknowledge(TenantSession.ID()), .unknown)
        },
        Clause("sessions with jobs that are not final are found among others") { subject in
            let sessions = [try await subject.create(), try await subject.create()]
            _ = try await subject.enqueue(sessions[0])
            let outstanding = try await subject.list(SessionFilter(isOutstanding: true))
            let others = try await subject.list(SessionFilter(kind: .background, isOutstanding: true))
            try await subject.jobs.run(.make())
            return compare("outstanding", outstanding, [sessions[0]]) + compare("of another kind", others, [])
                + compare("then", try await subject.list(SessionFilter(isOutstanding: true)), [])
        },
    ]

    // MARK: Snapshots

    private static let snapshots: [Clause<Subject>] = [
        Clause("a snapshot has the configuration of its session, and is its tenant's alone") { subject in
            let new = try subject.new(#"{"configuration": {"redirects": {"maximum": 2}}}"#)
            let session = try await subject.create(new)
            let (store, other) = (subject.snapshots, subject.jobs.other)
            guard case .created(let snapshot) = try await store.take(of: session, tenant: subject.tenant),
                case .unknown = try await store.take(of: session, tenant: other)
            else { return ["not taken by its tenant, or by another"] }
            let found = try await store.snapshot(snapshot.id, of: subject.tenant)
            let removed = [
                try await store.remove(snapshot: snapshot.id, of: other),
                try await store.remove(snapshot: snapshot.id, of: subject.tenant),
                try await store.remove(snapshot: snapshot.id, of: subject.tenant),
            ]
            return compare("session", found?.session, session)
                + compare("configuration", found?.configuration, new.spec.configuration)
                + compare("removed", removed, [false, true, false])
                + compare("then", try await store.snapshot(snapshot.id, of: subject.tenant) == nil, true)
        },
        Clause("a session lies on fifteen snapshots, and no more") { subject in
            let session = try await subject.create()
            for _ in 0..<15 {
                guard case .created = try await subject.snapshots.take(of: session, tenant: subject.tenant) else {
                    return ["there is no room for another layer"]
                }
            }
            guard case .tooManyLayers = try await subject.snapshots.take(of: session, tenant: subject.tenant) else {
                return ["there is room for another layer"]
            }
            return []
        },
        Clause("an ephemeral session has nothing that a snapshot could be taken of") { subject in
            let session = try await subject.create(subject.new(#"{"kind": "ephemeral"}"#))
            guard case .unknown = try await subject.snapshots.take(of: session, tenant: subject.tenant) else {
                return ["one was taken"]
            }
            return []
        },
    ]
}
