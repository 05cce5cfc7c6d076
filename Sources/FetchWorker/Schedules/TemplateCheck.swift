package import FetchJobs

/// Checks that the objects that the job of a schedule names still exist when the job is made.
package struct TemplateCheck: Sendable {
    private let sessions: any SessionStore
    private let endpoints: any DeliveryQueue
    private let credentials: any CredentialCatalog
    private let catalog: any BlobCatalog

    package init(
        sessions: any SessionStore,
        endpoints: any DeliveryQueue,
        credentials: any CredentialCatalog,
        catalog: any BlobCatalog
    ) {
        self.sessions = sessions
        self.endpoints = endpoints
        self.credentials = credentials
        self.catalog = catalog
    }

    /// Why a job cannot be stored, in a sentence that begins with the member of the schedule; nil when it can.
    ///
    /// The blobs that it sends are held for it then.
    func obstacle(to job: NewJob) async throws(StoreError) -> String? {
        if let session = job.spec.session, let obstacle = try await obstacle(of: session, to: job) { return obstacle }
        if let endpoint = job.spec.webhook?.endpoint, try await endpoints.endpoint(endpoint, of: job.tenant) == nil {
            return "/job/webhook/endpoint is not an endpoint of yours"
        }
        if let endpoint = job.spec.configuration.delegate.endpoint,
            try await endpoints.endpoint(endpoint, of: job.tenant)?.url == nil
        {
            return "/job/configuration/delegate/endpoint is not an endpoint of yours that has a url"
        }
        for (credential, pointer) in job.spec.configuration.credentials {
            guard case .stored(let id) = credential else { continue }
            if try await credentials.credential(id, of: job.tenant) == nil {
                return "/job\(pointer) is not a credential of yours"
            }
        }
        let named = job.spec.blobs
        guard !named.isEmpty else { return nil }
        let held = try await catalog.hold(Set(named.map(\.id)), for: job.id, of: job.tenant)
        return named.first { !held.contains($0.id) }.map { "/job\($0.pointer) is not a blob of yours" }
    }

    private func obstacle(of id: TenantSession.ID, to job: NewJob) async throws(StoreError) -> String? {
        guard let session = try await sessions.session(id, of: job.tenant) else {
            return "/job/session is not a session of yours"
        }
        guard session.state == .active else { return "/job/session is invalidated" }
        do throws(InvalidInput) {
            try session.spec.check(job.spec)
            return nil
        } catch {
            return error.violations.first.map { "/job\($0.pointer) \($0.message)" }
        }
    }
}
