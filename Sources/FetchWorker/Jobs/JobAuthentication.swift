import FetchEngine
import FetchJobs

/// Answers the challenges that one job meets: with the credential it brings, as far as it allows.
///
/// The server of the job's URL is given that, and hosts that the job names; a redirect to another takes nothing along.
/// A stored credential is sent only to the server that it is stored for.
///
/// An object, so that the frames of loads have a reference.
final class JobChallengeAnswerer: TaskDelegate {
    private let named: NamedCredentials.Opened?
    private let credential: Credential?
    private let origin: ProtectionSpace.Party
    private let redirects: RedirectConfiguration
    private let rules: FetchJobs.Configuration.Authentication
    /// The storage of client certificates and FTP logins for jobs that bring none.
    private let storage: any CredentialStorage

    private init(
        named: NamedCredentials.Opened?, credential: Credential?, origin: ProtectionSpace.Party,
        redirects: RedirectConfiguration, rules: FetchJobs.Configuration.Authentication, storage: any CredentialStorage
    ) {
        self.named = named
        self.credential = credential
        self.origin = origin
        self.redirects = redirects
        self.rules = rules
        self.storage = storage
    }

    /// The delegate that a job needs; nil when it has no answers.
    ///
    /// - Parameters:
    ///   - named: The credential that the job brings or names itself.
    ///   - configuration: Gets the credentials that the job may use.
    nonisolated(nonsending) static func forJob(
        _ job: ClaimedJob,
        _ rules: FetchJobs.Configuration.Authentication,
        stores: any SessionResources,
        credential named: NamedCredentials.Opened?,
        configuration: AttemptConfiguration
    ) async -> JobChallengeAnswerer? {
        // Most jobs have nothing to answer with, and are spared the rest.
        let saysNothing = rules == .init() && !job.url.isFTP
        if saysNothing { guard await stores.holdsIdentities(of: job.session) else { return nil } }
        return make(job, rules, credential: named, configuration: configuration)
    }

    /// Not inlined, so that frames have no room for its values.
    @inline(never)
    private static func make(
        _ job: ClaimedJob,
        _ rules: FetchJobs.Configuration.Authentication,
        credential named: NamedCredentials.Opened?,
        configuration: AttemptConfiguration
    ) -> JobChallengeAnswerer? {
        guard let storage = configuration.credentialStorage else { return nil }
        var credential = named?.credential
        if let persistence = rules.persistence, credential?.persistence == Credential.Persistence.none {
            credential = credential?.kept(persistence)
        }
        let origin = ProtectionSpace.Party(server: job.spec.request.url)
        if named != nil || rules.methods != nil {
            let server = named.map { $0.space.map(ProtectionSpace.Party.init) ?? origin }
            let own = JobCredentialStorage(
                over: storage, except: server, methods: rules.methods, login: credential)
            configuration.change { $0.credentialStorage = own }
        }
        return JobChallengeAnswerer(
            named: named, credential: credential, origin: origin, redirects: configuration.redirects, rules: rules,
            storage: storage)
    }

    /// About client certificates as well.
    func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool { true }

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        let space = challenge.protectionSpace
        guard !space.isProxy, space.method != .serverTrust else { return .performDefaultHandling }
        guard rules.allows(space.method) else { return .rejectProtectionSpace }
        guard challenge.previousFailureCount < rules.maximumFailures ?? 1 else { return failed }
        let candidate = await candidate(for: space, of: task)
        // The same answer would fail the same way.
        guard let candidate, candidate != challenge.proposedCredential else {
            return challenge.previousFailureCount == 0 ? .performDefaultHandling : failed
        }
        return .useCredential(candidate)
    }

    private func candidate(for space: ProtectionSpace, of task: SessionTask) async -> Credential? {
        if let credential, isShown(to: space) {
            return space.method != .clientCertificate || credential.kind == .clientCertificate ? credential : nil
        }
        guard space.method == .clientCertificate || space.method == .default else { return nil }
        return await storage.defaultCredential(for: space, taskDescription: task.taskDescription)
    }

    /// Whether the job's own credential is for the server or proxy of this space.
    private func isShown(to space: ProtectionSpace) -> Bool {
        if let stored = named?.space { return stored.covers(space) }
        return origin == .init(space)
            || redirects.forwardsCredentials(from: origin.scheme, to: space.host, by: space.scheme)
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
    private let origin: ProtectionSpace.Party?
    private let methods: [ProtectionSpace.Method]?
    private let login: Credential?

    /// - Parameters:
    ///   - origin: The server that has to do without; nil for none.
    ///   - methods: The methods that are answered; nil for all.
    ///   - login: The credential of the login there, where a protocol knows no methods and may not ask.
    init(
        over base: any CredentialStorage,
        except origin: ProtectionSpace.Party?,
        methods: [ProtectionSpace.Method]?,
        login: Credential? = nil
    ) {
        self.base = base
        self.origin = origin
        self.methods = methods
        self.login = login
    }

    private func allows(_ space: ProtectionSpace) -> Bool {
        origin != .init(space) && methods?.contains(space.method) ?? true
    }

    nonisolated(nonsending) func defaultCredential(for space: ProtectionSpace) async -> Credential? {
        allows(space) ? await base.defaultCredential(for: space) : nil
    }

    nonisolated(nonsending) func defaultCredential(
        for space: ProtectionSpace, taskDescription: String?
    ) async -> Credential? {
        if space.method == .default, origin == .init(space), let login { return login }
        return allows(space) ? await base.defaultCredential(for: space, taskDescription: taskDescription) : nil
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
