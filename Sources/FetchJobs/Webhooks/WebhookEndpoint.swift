package import FetchEngine

/// Where a tenant wants events sent, which ones, and the secret they are signed with.
package struct WebhookEndpoint: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "whe"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let tenant: Tenant.ID
    package let url: URLRecord
    package let events: [WebhookEvent]
    package let secret: WebhookSecret
    package let createdAt: Timestamp

    package init(
        id: ID = ID(),
        tenant: Tenant.ID,
        url: URLRecord,
        events: [WebhookEvent],
        secret: WebhookSecret = WebhookSecret(),
        createdAt: Timestamp = .now
    ) {
        self.id = id
        self.tenant = tenant
        self.url = url
        self.events = events
        self.secret = secret
        self.createdAt = createdAt
    }

    /// Writes the endpoint without its secret.
    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("url", url.description)
        writer.member("events", array: { writer in events.forEach { writer.value($0.rawValue) } })
        writer.member("createdAt", createdAt.description)
    }
}

/// What happened, in the words a webhook carries.
package enum WebhookEvent: String, Sendable, CaseIterable {
    /// The job has reached its final state.
    case jobFinished = "job.finished"
    /// The events of all jobs of a background session are delivered, and it has no other jobs (BKG-10).
    case sessionEventsFinished = "session.eventsFinished"
    /// The session takes no jobs and has none; nothing more comes from it (SES-22).
    case sessionInvalidated = "session.invalidated"
    /// Cookies of a session were set or removed (COK-9).
    case cookiesChanged = "cookies.changed"
    /// Credentials of the tenant were stored or removed (CRD-8).
    case credentialsChanged = "credentials.changed"

    /// What is sent to an endpoint that names no events: ends, and not every change on the way.
    static let ends: [WebhookEvent] = [.jobFinished, .sessionEventsFinished, .sessionInvalidated]

    /// Whether it tells of a session's stores, and not of the session itself.
    package var isOfStores: Bool { self == .cookiesChanged || self == .credentialsChanged }
}

/// What a client asks of a new endpoint.
package struct WebhookEndpointSpec: Sendable {
    package let url: URLRecord
    package let events: [WebhookEvent]

    /// Reads and checks the body of a request for a new endpoint.
    ///
    /// Whether the address may be reached at all is the guard's word, asked by the caller (SEC-35).
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let reader = JSONReader(json, check: check)
        let object = reader.object(of: ["url", "events"])
        let url = object?.required("url").flatMap { $0.httpURL(userInfoCode: "webhookURLForbidden") }
        let events = object?["events"]?.array(maximum: 32)?.compactMap { $0.oneOf(WebhookEvent.self) }
        if events?.isEmpty == true { check.refuse("/events", "must name at least one event") }
        try check.finish()
        guard let url else { throw InvalidInput(pointer: "/url", message: "is required") }
        self.url = url
        self.events = events ?? WebhookEvent.ends
    }
}

/// Why a webhook must not be sent to an address, or nil when it may.
package typealias WebhookURLCheck = @Sendable (URLRecord) async -> String?
