/// One event on its way to one endpoint.
package struct WebhookDelivery: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "evt"
    }

    /// Also the message's `webhook-id`: the same on every attempt, so that a receiver can drop repeats.
    package typealias ID = Identifier<Kind>

    /// The subject of the event.
    package enum Subject: Sendable, Hashable {
        case job(Job.ID)
        case session(TenantSession.ID)
        case endpoint(WebhookEndpoint.ID)
        case group(JobGroup.ID)
    }

    package let id: ID
    package let tenant: Tenant.ID
    package let endpoint: WebhookEndpoint.ID
    package let subject: Subject
    package let event: WebhookEvent
    package let createdAt: Timestamp
    /// How many attempts were made before.
    package let attempts: Int
    /// How many of them count for the schedule: those since it was replayed last.
    package let failures: Int
    /// The data of the message as of the event; nil when it is written from the present state.
    package var data: RawJSON?
    /// The trace of the job that it is about; nil for none.
    package var trace: TraceContext?
    /// The endpoint took nothing lately.
    package let endpointIsFailing: Bool
    /// The endpoint as the claim has found it; nil when it was removed or cannot be read, and for deliveries that nobody
    /// has claimed.
    package var receiver: WebhookEndpoint?

    package init(
        id: ID,
        tenant: Tenant.ID,
        endpoint: WebhookEndpoint.ID,
        subject: Subject,
        event: WebhookEvent,
        createdAt: Timestamp,
        attempts: Int,
        failures: Int,
        endpointIsFailing: Bool = false
    ) {
        self.id = id
        self.tenant = tenant
        self.endpoint = endpoint
        self.subject = subject
        self.event = event
        self.createdAt = createdAt
        self.attempts = attempts
        self.failures = failures
        self.endpointIsFailing = endpointIsFailing
    }
}

extension WebhookDelivery {
    /// Writes the content of its message.
    ///
    /// - Parameter data: The data of the event; left out when nil.
    package func writeMessage(_ writer: inout JSONWriter, data: EventContents.Data?) {
        writer.member("type", event.rawValue)
        writer.member("timestamp", createdAt.description)
        if let data { writer.member("data", object: data) }
    }
}

extension WebhookDelivery.Subject: CustomStringConvertible {
    package var description: String {
        switch self {
        case .job(let id): id.description
        case .session(let id): id.description
        case .endpoint(let id): id.description
        case .group(let id): id.description
        }
    }
}
