package import FetchEngine
import FetchJobs
package import FetchRuntime

/// The registered protocols, for the sessions of this node.
package struct RemoteProtocols: Sendable {
    let known: KnownProtocols
    let session: Session

    /// - Parameter session: Sends the messages; its guard is that of jobs. Made with ``sessionConfiguration(_:)``.
    package init(known: KnownProtocols, session: Session) {
        self.known = known
        self.session = session
    }

    /// What messages go by: only the job's own limits end a reply, and nothing is kept of one.
    package static func sessionConfiguration(_ jobs: SessionConfiguration) -> SessionConfiguration {
        var configuration = jobs
        configuration.redirects.policy = .return
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.credentialStorage = nil
        configuration.timeoutIntervalForRequest = .seconds(604_800)
        configuration.timeoutIntervalForResource = nil
        configuration.maximumResponseBytes = nil
        // The slots of jobs decide how many there are at once.
        configuration.httpMaximumConnectionsPerHost = 10_000
        return configuration
    }

    /// The handler of a tenant's session.
    ///
    /// - Parameter names: The protocols that it has; nil for all of its tenant's.
    func handler(of tenant: Tenant.ID, among names: [String]?) -> RemoteProtocolHandler {
        RemoteProtocolHandler(protocols: self, tenant: tenant, names: names)
    }

    /// Learns of a protocol that this node has not heard of yet: the job was stored by another node, moments ago.
    nonisolated(nonsending) func learn(_ url: URLRecord, for tenant: Tenant.ID) async throws(StoreError) {
        guard !url.isHTTP, !OptionalSchemes.names.contains(url.scheme) else { return }
        if known.protocol(for: url, of: tenant) == nil { try await known.refresh() }
    }
}

extension PropertyKey<Job.ID> {
    /// The job that a request is for.
    static let job = Self("job")
}
