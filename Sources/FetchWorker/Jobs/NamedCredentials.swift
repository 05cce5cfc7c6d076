import FetchEngine
import FetchJobs

/// Opens the credentials that a job names or brings.
struct NamedCredentials: Sendable {
    let stores: any SessionStores
    let job: ClaimedJob
    /// The session that it belongs to.
    let session: Session

    /// - Returns: Nil when none is named.
    /// - Throws: `userAuthenticationRequired` when it is gone.
    nonisolated(nonsending) func open(_ named: JobCredential?) async throws(LoadError) -> Credential? {
        switch named {
        case nil: return nil
        case .inline(let credential): return credential
        case .stored(let id):
            let stored: Credential?
            // Of a job in an ephemeral session nothing may be written down.
            let isNamed = session.configuration.kind != .ephemeral
            do throws(StoreError) {
                stored = try await stores.openCredential(id, of: job.tenant, for: isNamed ? job.id : nil)
            } catch {
                throw LoadError(.resourceUnavailable, "The credential that the job names cannot be read.")
            }
            if let stored { return stored }
        case .sealed: break
        }
        throw LoadError(.userAuthenticationRequired, "The credential that the job names is not there.")
    }
}

extension ProxyConfiguration {
    /// The same with what the proxy of a job is shown.
    func showing(_ credential: Credential) -> ProxyConfiguration {
        var result = self
        for rule in result.rules.indices {
            result.rules[rule].routes = result.rules[rule].routes.map { route in
                guard case .proxy(var proxy) = route else { return route }
                proxy.credential = credential
                return .proxy(proxy)
            }
        }
        return result
    }
}
