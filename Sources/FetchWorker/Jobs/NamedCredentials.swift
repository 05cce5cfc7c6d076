import FetchEngine
import FetchJobs

/// Opens the credentials that a job names or brings.
struct NamedCredentials: Sendable {
    /// A credential, and where it may be shown.
    struct Opened: Sendable {
        let credential: Credential
        /// Of a stored one; nil for one that came with the job, which is for the server of its URL.
        let space: ProtectionSpace?

        /// Whether the credential may be sent in this protection space.
        func covers(_ other: ProtectionSpace) -> Bool { space?.covers(other) ?? true }
    }

    let stores: any SessionResources
    let job: ClaimedJob
    /// The session that it belongs to.
    let session: Session

    /// The credential for the server of the job's URL; nil when none is named.
    ///
    /// - Throws: `userAuthenticationRequired` when it is gone, or the job names one that is for another server.
    nonisolated(nonsending) func ofServer(_ named: JobCredential?) async throws(LoadError) -> Opened? {
        guard let named else { return nil }
        let opened = try await open(named)
        // The credential that the session names is for some of its jobs, and the others do without.
        if let space = opened.space, job.spec.configuration.authentication.credential != nil {
            try check(space, for: ProtectionSpace.Party(server: job.spec.request.url))
        }
        return opened
    }

    /// The proxies of a configuration with the credential that is named for them.
    ///
    /// - Throws: `userAuthenticationRequired` when it is gone, or is for another server or proxy.
    nonisolated(nonsending) func showing(
        _ named: JobCredential, _ proxies: ProxyConfiguration
    ) async throws(LoadError) -> ProxyConfiguration {
        let opened = try await open(named)
        var result = proxies
        for rule in result.rules.indices {
            for route in result.rules[rule].routes.indices {
                guard case .proxy(var proxy) = result.rules[rule].routes[route] else { continue }
                if let space = opened.space { try check(space, for: ProtectionSpace.Party(proxy)) }
                proxy.credential = opened.credential
                proxy.credentialSpace = opened.space
                result.rules[rule].routes[route] = .proxy(proxy)
            }
        }
        return result
    }

    /// The id of a credential that the job was given; nil when it is no stored one.
    nonisolated(nonsending) func id(of credential: Credential, for space: ProtectionSpace) async -> StoredCredential.ID?
    {
        await stores.id(of: credential, for: space, in: job.session)
    }

    private func check(_ space: ProtectionSpace, for party: ProtectionSpace.Party) throws(LoadError) {
        guard ProtectionSpace.Party(space) != party else { return }
        throw LoadError(
            .userAuthenticationRequired,
            "The credential that the job names is for \(ProtectionSpace.Party(space)), and not for \(party).")
    }

    /// - Throws: `userAuthenticationRequired` when it is gone.
    nonisolated(nonsending) func open(_ named: JobCredential) async throws(LoadError) -> Opened {
        switch named {
        case .inline(let credential): return Opened(credential: credential, space: nil)
        case .stored(let id):
            let stored: (credential: Credential, space: ProtectionSpace)?
            // Of a job in an ephemeral session nothing may be written down.
            let isNamed = session.configuration.kind != .ephemeral
            do throws(StoreError) {
                stored = try await stores.openCredential(id, of: job.tenant, for: isNamed ? job.id : nil)
            } catch {
                throw LoadError(.resourceUnavailable, "The credential that the job names cannot be read.")
            }
            if let stored { return Opened(credential: stored.credential, space: stored.space) }
        case .sealed: break
        }
        throw LoadError(.userAuthenticationRequired, "The credential that the job names is not there.")
    }
}
