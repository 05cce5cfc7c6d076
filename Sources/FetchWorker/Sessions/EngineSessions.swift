package import FetchEngine
package import FetchJobs
import FetchRuntime
import Synchronization

/// A session of the engine, with its tenant's configuration.
final class EngineSession: Sendable {
    let engine: Session
    let configuration: FetchJobs.Configuration
    let kind: SessionSpec.Kind
    /// The rules of its jobs that have none of their own: sorted by kind once, and not for each job.
    let rules: RuleBook
    /// Where the events of its jobs go that name no endpoint.
    let webhook: JobSpec.Webhook?
    /// The answers that it remembers; nil of the default session and of those that keep nothing.
    let memory: AnswerMemory?

    init(
        engine: Session, configuration: FetchJobs.Configuration, kind: SessionSpec.Kind = .default,
        webhook: JobSpec.Webhook? = nil, memory: AnswerMemory? = nil
    ) {
        self.engine = engine
        self.configuration = configuration
        self.kind = kind
        self.webhook = webhook
        self.memory = memory
        rules = RuleBook(job: [], session: configuration.rules)
    }

    /// The configuration of a job with this configuration of its own.
    func configuration(with own: FetchJobs.Configuration) -> FetchJobs.Configuration {
        guard !own.isEmpty else { return configuration }
        var merged = configuration
        merged.override(by: own)
        return merged
    }
}

/// The engine's session for each session of a tenant: no two share a connection, cookie or credential (SEC-42, SES-6).
final class EngineSessions: Sendable {
    /// An object, so that what each job looks up is not copied.
    fileprivate final class Entry {
        let session: EngineSession
        let targets: TargetPolicy
        var usedAt = ContinuousClock.now

        init(session: EngineSession, targets: TargetPolicy) {
            self.session = session
            self.targets = targets
        }
    }

    fileprivate struct Entries {
        var all: [SessionAddress: Entry] = [:]
        var sweptAt = ContinuousClock.now
    }

    /// The time after which an idle session is let go, with its connections.
    static let idleTime = Duration.seconds(600)
    /// To look at all of them takes its time, so not every new one does it.
    static let timeBetweenSweeps = Duration.seconds(30)
    static let maximumSessions = 10_000

    let defaults: SessionConfiguration
    private let sessions: any SessionStore
    private let stores: any SessionResources
    private let protocols: RemoteProtocols?
    private let egress: KnownEgress?
    private let makeSession: @Sendable (SessionConfiguration) -> Session
    private let entries = Mutex(Entries())

    /// - Parameters:
    ///   - defaults: The configuration of sessions that set nothing.
    ///   - sessions: Where their own configurations are.
    ///   - stores: Where they keep cookies and credentials.
    ///   - protocols: The registered protocols, which they load beside the built-in ones; nil for none.
    ///   - egress: Where their loads may go; nil for where the defaults let them.
    init(
        defaults: SessionConfiguration,
        sessions: any SessionStore,
        stores: any SessionResources,
        protocols: RemoteProtocols?,
        egress: KnownEgress?,
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        self.defaults = defaults
        self.sessions = sessions
        self.stores = stores
        self.protocols = protocols
        self.egress = egress
        self.makeSession = makeSession
    }

    /// The session of a job; nil when it was removed.
    nonisolated(nonsending) func session(of job: ClaimedJob) async throws(StoreError) -> EngineSession? {
        let address = job.session
        let targets = egress?.policy(of: job.tenant) ?? defaults.targetPolicy
        if let session = known(address, going: targets) { return session }
        return try await make(address, for: job, going: targets)
    }

    /// Not inlined: most jobs have a session that is known, and no room for what makes one.
    @inline(never)
    private nonisolated(nonsending) func make(
        _ address: SessionAddress, for job: ClaimedJob, going targets: TargetPolicy
    ) async throws(StoreError) -> EngineSession? {
        var configuration = defaults
        configuration.targetPolicy = targets
        // Jobs that name no session share no cookies, unless they ask for it one by one.
        configuration.httpCookieStorage = job.spec.session.map { _ in stores.cookieStorage(of: address) }
        configuration.credentialStorage = stores.credentialStorage(of: address)
        configuration.urlCache = stores.cache(of: address)
        configuration.fileMount = defaults.fileMount(of: job.tenant)
        configuration.owner = job.tenant.description
        guard let id = job.spec.session else {
            configuration.take(protocols, of: job.tenant, for: SessionSpec())
            let session = EngineSession(engine: makeSession(configuration), configuration: .init())
            return keep(session, as: address, going: targets)
        }
        guard let stored = try await sessions.session(id, of: job.tenant) else { return nil }
        configuration.take(protocols, of: job.tenant, for: stored.spec)
        let engine = makeSession(configuration.configured(by: stored.spec))
        let session = EngineSession(
            engine: engine, configuration: stored.spec.configuration, kind: stored.spec.kind,
            webhook: stored.spec.webhook,
            memory: stored.spec.kind == .ephemeral ? nil : stores.answerMemory(of: address))
        return keep(session, as: address, going: targets)
    }

    /// The session that is known, unless it was made when its loads might go elsewhere: its connections lead there.
    @inline(never)
    private func known(_ address: SessionAddress, going targets: TargetPolicy) -> EngineSession? {
        entries.withLock { entries in
            guard let entry = entries.all[address], entry.targets == targets else { return nil }
            entry.usedAt = .now
            return entry.session
        }
    }

    /// Another job may have been faster: then its session is the one.
    private func keep(
        _ session: EngineSession, as address: SessionAddress, going targets: TargetPolicy
    ) -> EngineSession {
        entries.withLock { entries in
            if let known = entries.all[address], known.targets == targets { return known.session }
            entries.makeRoom()
            entries.all[address] = Entry(session: session, targets: targets)
            return session
        }
    }
}

extension EngineSessions.Entries {
    /// Lets go of idle sessions; tasks hold their session, so it ends when its last load does.
    fileprivate mutating func makeRoom() {
        let now = ContinuousClock.now
        if now - sweptAt >= EngineSessions.timeBetweenSweeps {
            sweptAt = now
            all = all.filter { now - $0.value.usedAt < EngineSessions.idleTime }
        }
        guard all.count >= EngineSessions.maximumSessions,
            let oldest = all.min(by: { $0.value.usedAt < $1.value.usedAt })
        else { return }
        all[oldest.key] = nil
    }
}

extension SessionConfiguration {
    /// The folder of a tenant's files, below that of all tenants'.
    func fileMount(of tenant: Tenant.ID) -> String? { fileMount.map { "\($0)/\(tenant)" } }

    /// Has the registered protocols asked that a session of a tenant has.
    mutating func take(_ protocols: RemoteProtocols?, of tenant: Tenant.ID, for spec: SessionSpec) {
        protocolHandlers = protocols.map { [$0.handler(of: tenant, among: spec.protocols)] } ?? []
    }

    /// These defaults for a session of a kind, with its own settings.
    func configured(by spec: SessionSpec) -> SessionConfiguration {
        defaults(for: spec.kind).overridden(by: spec.configuration)
    }

    /// These defaults for sessions of a kind.
    package func defaults(for kind: SessionSpec.Kind) -> SessionConfiguration {
        var result = self
        switch kind {
        case .default: break
        case .ephemeral:
            result.kind = .ephemeral
            result.httpCookieStorage = SessionConfiguration.ephemeral.httpCookieStorage
            result.urlCache = MemoryResponseCache(capacity: 2 << 20, maximumEntryFraction: 0.25)
            result.credentialStorage = MemoryCredentialStorage()
        case .background: result.timeoutIntervalForResource = .seconds(604_800)
        }
        return result
    }
}
