import FoundationEssentials

/// Reads the data of events: the present state of their subjects.
package struct EventContents: Sendable {
    package typealias Data = (inout JSONWriter) -> Void
    package typealias FindEndpoint =
        @Sendable (
            WebhookEndpoint.ID, Tenant.ID
        ) async throws(StoreError) -> WebhookEndpoint?

    private let jobs: any JobStore
    private let sessions: any SessionStore
    private let groups: any GroupStore
    private let endpoint: FindEndpoint

    package init(
        jobs: any JobStore, sessions: any SessionStore, groups: any GroupStore, endpoint: @escaping FindEndpoint
    ) {
        self.jobs = jobs
        self.sessions = sessions
        self.groups = groups
        self.endpoint = endpoint
    }

    /// The jobs whose state messages tell, in one look.
    package func jobs(of deliveries: [WebhookDelivery]) async throws(StoreError) -> [Job.ID: Job] {
        var ids: [Tenant.ID: Set<Job.ID>] = [:]
        for delivery in deliveries where delivery.data == nil {
            if case .job(let id) = delivery.subject { ids[delivery.tenant, default: []].insert(id) }
        }
        guard !ids.isEmpty else { return [:] }
        return Dictionary(try await jobs.jobs(ids).map { ($0.id, $0) }) { first, _ in first }
    }

    /// The `data` of the message; nil when its subject was removed, or the event does not apply any more.
    package func data(of delivery: WebhookDelivery) async throws(StoreError) -> Data? {
        guard delivery.data == nil, case .job(let id) = delivery.subject else {
            return try await data(of: delivery, job: nil)
        }
        return try await data(of: delivery, job: jobs.job(id, of: delivery.tenant))
    }

    /// The same, for a job that is read already.
    ///
    /// - Parameter job: The job that the event is about, when there is one.
    package func data(of delivery: WebhookDelivery, job: Job?) async throws(StoreError) -> Data? {
        if let data = delivery.data { return { $0.members(of: data) } }
        switch delivery.subject {
        case .job:
            guard let job, job.state.isFinal else { return nil }
            let body = try await body(of: job)
            return { writer in
                writer.member("job", object: job.write)
                if let body { writer.member("body", object: { Self.write(body, &$0) }) }
            }
        case .session(let id) where delivery.event.isOfStores:
            return { writer in
                writer.member("session", object: { $0.member("id", id == .default ? "default" : id.description) })
            }
        case .session(let id):
            guard let session = try await sessions.session(id, of: delivery.tenant) else { return nil }
            return { $0.member("session", object: session.write) }
        case .group(let id):
            guard let group = try await groups.group(id, of: delivery.tenant) else { return nil }
            let counts = try await groups.counts(of: id, tenant: delivery.tenant)
            return { $0.member("group", object: { group.write(&$0, counts: counts) }) }
        case .endpoint(let id):
            guard let endpoint = try await endpoint(id, delivery.tenant) else { return nil }
            return { $0.member("endpoint", object: endpoint.write) }
        }
    }

    /// The bytes of the body that the job's webhook asks for; nil when they are more, or a file, or not asked for.
    private func body(of job: Job) async throws(StoreError) -> [UInt8]? {
        guard let limit = job.storedSpec?.webhook?.includeBodyUpTo, let known = job.body, known.bytes <= limit,
            let body = try await jobs.body(of: job.id, tenant: job.tenant), case .inline(let bytes) = body.location
        else { return nil }
        return bytes
    }

    /// As text where the bytes are UTF-8 that every reader of JSON takes, else in base64.
    private static func write(_ bytes: [UInt8], _ writer: inout JSONWriter) {
        if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) {
            writer.member("text", text)
        } else {
            writer.member("base64", FoundationEssentials.Data(bytes).base64EncodedString())
        }
    }
}
