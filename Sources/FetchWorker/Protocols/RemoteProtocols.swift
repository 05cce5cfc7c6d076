package import FetchEngine
import FetchJobs
package import FetchRuntime

/// The registered protocols, for the sessions of this node.
package struct RemoteProtocols: Sendable {
    let known: KnownProtocols
    let session: Session
    let reach: MessageReach?

    /// - Parameters:
    ///   - session: Sends the messages; made with ``sessionConfiguration(_:)``.
    ///   - reach: Where they may be sent, which is where the service may go, whoever's load it is: operators have named
    ///     the place, and tenants do not know it. Nil for where the session lets them.
    package init(known: KnownProtocols, session: Session, reach: MessageReach? = nil) {
        self.known = known
        self.session = session
        self.reach = reach
    }

    /// The configuration of messages: only the job's own limits end a reply, and nothing is kept of one.
    package static func sessionConfiguration(_ jobs: SessionConfiguration) -> SessionConfiguration {
        var configuration = jobs
        configuration.redirects.policy = .return
        configuration.removeStorages()
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

    /// Gives the request of a job the properties that a protocol needs beside it.
    ///
    /// A node that has not heard of the protocol of its URL yet reads the protocols: the job was stored by another
    /// node, moments ago.
    nonisolated(nonsending) func prepare(_ request: inout Request, of job: ClaimedJob) async throws(StoreError) {
        let url = request.url
        if !url.isHTTP, !OptionalSchemes.names.contains(url.scheme), known.protocol(for: url, of: job.tenant) == nil {
            try await known.refresh()
        }
        // Where there are none, requests stay as they are: most jobs have nothing to do with them.
        if known.serve(job.tenant) { request[.job] = job.id }
    }
}

extension PropertyKey<Job.ID> {
    /// The job that a request is for.
    static let job = Self("job")
}
