/// One event on its way to one endpoint.
package struct WebhookDelivery: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "evt"
    }

    /// Also the message's `webhook-id`: the same on every try, so that a receiver can drop repeats.
    package typealias ID = Identifier<Kind>

    /// What the event is about.
    package enum Subject: Sendable, Hashable {
        case job(Job.ID)
        case session(TenantSession.ID)
    }

    package let id: ID
    package let tenant: Tenant.ID
    package let endpoint: WebhookEndpoint.ID
    package let subject: Subject
    package let event: WebhookEvent
    package let createdAt: Timestamp
    /// How often it was tried before.
    package let attempts: Int

    package init(
        id: ID,
        tenant: Tenant.ID,
        endpoint: WebhookEndpoint.ID,
        subject: Subject,
        event: WebhookEvent,
        createdAt: Timestamp,
        attempts: Int
    ) {
        self.id = id
        self.tenant = tenant
        self.endpoint = endpoint
        self.subject = subject
        self.event = event
        self.createdAt = createdAt
        self.attempts = attempts
    }
}

/// How one try to deliver ended, and what follows.
package enum DeliveryVerdict: Sendable, Equatable {
    case delivered
    /// Try again after this much time.
    case again(after: Duration)
    /// No try is left, or the receiver wants none.
    case abandoned

    /// The waits after each failed try: 9 retries over 75 hours (SEC-36 asks for at least 8 over 72).
    package static let schedule: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1800), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]

    /// What a receiver's answer, or the lack of one, means for a delivery.
    ///
    /// - Parameters:
    ///   - status: The HTTP status, or nil when there was no answer. A redirect is not followed and counts as a failure.
    ///   - attempts: How often it was tried before this try.
    ///   - jitter: From 0 to 1; spreads retries that failed together over a tenth of their wait.
    package init(status: Int?, attempts: Int, jitter: Double) {
        switch status {
        case .some(200..<300): self = .delivered
        // 410 Gone: the receiver asks for no more.
        case 410: self = .abandoned
        default:
            guard attempts < Self.schedule.count else {
                self = .abandoned
                return
            }
            self = .again(after: Self.schedule[attempts] * (1 + jitter / 10))
        }
    }
}

extension WebhookDelivery.Subject: CustomStringConvertible {
    package var description: String {
        switch self {
        case .job(let id): id.description
        case .session(let id): id.description
        }
    }
}
