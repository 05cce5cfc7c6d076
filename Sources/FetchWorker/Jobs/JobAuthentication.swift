import FetchEngine
import FetchJobs
import Synchronization

/// Answers the challenges that one job meets: with the credential it brings, as far as it allows.
///
/// The server of the job's URL is given that, and hosts that the job names; a redirect to another takes nothing along.
struct JobChallengeAnswerer: TaskDelegate {
    private let credential: Credential?
    private let origin: ProtectionSpace.Server
    private let redirects: RedirectConfiguration
    private let rules: FetchJobs.Configuration.Authentication
    /// Where client certificates and FTP logins are looked for when the job brings none.
    private let storage: any CredentialStorage

    /// Whom a job needs to be asked; nil when nobody has anything to say.
    ///
    /// - Parameters:
    ///   - named: What the job brings or names itself.
    ///   - configuration: That of the task, if it has one of its own; is given the credentials that the job may use.
    nonisolated(nonsending) static func forJob(
        _ job: ClaimedJob,
        _ rules: FetchJobs.Configuration.Authentication,
        in session: Session,
        stores: any SessionStores,
        credential named: Credential?,
        configuration: inout SessionConfiguration?
    ) async -> JobChallengeAnswerer? {
        // Most jobs have nothing to say, and are spared what follows.
        let saysNothing = rules == .init() && !job.spec.request.url.isFTP
        if saysNothing { guard await stores.holdsCredentials(of: job.session) else { return nil } }
        var own = configuration ?? session.configuration
        guard let base = own.credentialStorage else { return nil }
        var credential = named
        if let persistence = rules.persistence, credential?.persistence == Credential.Persistence.none {
            credential = credential?.kept(persistence)
        }
        let origin = ProtectionSpace.Server(job.spec.request.url)
        own.credentialStorage = JobCredentialStorage(
            over: base, of: job.id, except: credential == nil ? nil : origin, methods: rules.methods)
        configuration = own
        if saysNothing { guard await stores.holdsIdentities(of: job.session) else { return nil } }
        return JobChallengeAnswerer(
            credential: credential, origin: origin, redirects: own.redirects, rules: rules,
            storage: JobCredentialStorage(over: base, of: job.id))
    }

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        let space = challenge.protectionSpace
        guard !space.isProxy, space.method != .serverTrust else { return .performDefaultHandling }
        guard rules.allows(space.method) else { return .rejectProtectionSpace }
        guard challenge.previousFailureCount < rules.maximumFailures ?? 1 else { return failed }
        let candidate = await candidate(for: space)
        // The same answer would fail the same way.
        guard let candidate, candidate != challenge.proposedCredential else {
            return challenge.previousFailureCount == 0 ? .performDefaultHandling : failed
        }
        return .useCredential(candidate)
    }

    private func candidate(for space: ProtectionSpace) async -> Credential? {
        if let credential, isShown(to: space) {
            return space.method != .clientCertificate || credential.kind == .clientCertificate ? credential : nil
        }
        guard space.method == .clientCertificate || space.method == .default else { return nil }
        return await storage.defaultCredential(for: space)
    }

    /// Whether the job's own credential is meant for who asks.
    private func isShown(to space: ProtectionSpace) -> Bool {
        origin == .init(space) || redirects.forwardsCredentials(from: origin.scheme, to: space.host, by: space.scheme)
    }

    private var failed: Challenge.Disposition {
        switch rules.onFailure {
        case .performDefaultHandling, nil: .performDefaultHandling
        case .rejectProtectionSpace: .rejectProtectionSpace
        case .cancelAuthenticationChallenge: .cancelAuthenticationChallenge
        }
    }
}

extension FetchJobs.Configuration.Authentication {
    /// A protocol that knows no methods, such as FTP, is always answered.
    func allows(_ method: ProtectionSpace.Method) -> Bool {
        method == .default || methods?.contains(method) ?? true
    }
}

/// The session's credentials, as far as a job may use them: not for the server that it brings its own for.
final class JobCredentialStorage: CredentialStorage {
    private let base: any CredentialStorage
    private let job: Job.ID
    private let origin: ProtectionSpace.Server?
    private let methods: [ProtectionSpace.Method]?
    /// What the job has been given, which is noted once.
    private let given = Mutex<Set<ProtectionSpace>>([])

    /// - Parameters:
    ///   - job: Who is given what it asks for.
    ///   - origin: The server that has to do without; nil for none.
    ///   - methods: Those that are answered; nil for all.
    init(
        over base: any CredentialStorage,
        of job: Job.ID,
        except origin: ProtectionSpace.Server? = nil,
        methods: [ProtectionSpace.Method]? = nil
    ) {
        self.base = base
        self.job = job
        self.origin = origin
        self.methods = methods
    }

    nonisolated(nonsending) func defaultCredential(for space: ProtectionSpace) async -> Credential? {
        guard origin != .init(space), methods?.contains(space.method) ?? true else { return nil }
        let isKnown = given.withLock { $0.contains(space) }
        guard !isKnown, let audited = base as? any AuditedCredentialStorage else {
            return await base.defaultCredential(for: space)
        }
        let credential = await audited.defaultCredential(for: space, usedBy: job)
        if credential != nil { given.withLock { _ = $0.insert(space) } }
        return credential
    }

    nonisolated(nonsending) func credentials(for space: ProtectionSpace) async -> [String: Credential] {
        await base.credentials(for: space)
    }

    nonisolated(nonsending) func allCredentials() async -> [ProtectionSpace: [String: Credential]] {
        await base.allCredentials()
    }

    nonisolated(nonsending) func set(_ credential: Credential, for space: ProtectionSpace) async {
        await base.set(credential, for: space)
    }

    nonisolated(nonsending) func setDefault(_ credential: Credential, for space: ProtectionSpace) async {
        await base.setDefault(credential, for: space)
    }

    nonisolated(nonsending) func remove(_ credential: Credential, for space: ProtectionSpace) async {
        await base.remove(credential, for: space)
    }

    nonisolated(nonsending) func removeAll() async { await base.removeAll() }

    nonisolated(nonsending) func noteFailure(of credential: Credential, for space: ProtectionSpace) async {
        await base.noteFailure(of: credential, for: space)
    }

    func changes() -> AsyncStream<ProtectionSpace> { base.changes() }
}

extension ProtectionSpace {
    /// Who asks: the same for all the spaces of a server.
    struct Server: Sendable, Hashable {
        let scheme: String
        let host: String
        let port: UInt16

        init(_ space: ProtectionSpace) { (scheme, host, port) = (space.scheme, space.host, space.port) }

        init(_ url: URLRecord) { (scheme, host, port) = (url.scheme, url.host ?? "", url.effectivePort ?? 0) }
    }
}
