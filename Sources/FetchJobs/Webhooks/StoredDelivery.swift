package enum DeliveryState: String, Sendable, CaseIterable {
    /// On its way: there will be an attempt, or there is one now.
    case pending
    case delivered
    /// No attempt is left, or none is wanted.
    case abandoned
}

/// A delivery as it stands, for those who ask about it.
package struct StoredDelivery: Sendable {
    package let delivery: WebhookDelivery
    package let state: DeliveryState
    /// When the next attempt is due; for pending deliveries.
    package let nextAttemptAt: Timestamp
    package let lastAttemptAt: Timestamp?
    package let lastStatus: Int?
    /// In their order; empty in lists.
    package var attempts: [DeliveryAttempt] = []

    package init(
        _ delivery: WebhookDelivery,
        state: DeliveryState,
        nextAttemptAt: Timestamp,
        lastAttemptAt: Timestamp? = nil,
        lastStatus: Int? = nil
    ) {
        self.delivery = delivery
        self.state = state
        self.nextAttemptAt = nextAttemptAt
        self.lastAttemptAt = lastAttemptAt
        self.lastStatus = lastStatus
    }

    /// Writes the members that lists show.
    package func write(_ writer: inout JSONWriter) {
        writer.member("id", delivery.id.description)
        writer.member("endpoint", delivery.endpoint.description)
        writer.member("event", delivery.event.rawValue)
        switch delivery.subject {
        case .job(let id): writer.member("job", id.description)
        case .session(let id): writer.member("session", id == .default ? "default" : id.description)
        case .endpoint(let id): writer.member("about", id.description)
        case .group(let id): writer.member("group", id.description)
        }
        writer.member("state", state.rawValue)
        writer.member("createdAt", delivery.createdAt.description)
        writer.member("countOfAttempts", delivery.attempts)
        writer.member("lastAttemptAt", lastAttemptAt?.description)
        writer.member("lastStatus", lastStatus)
        writer.member("nextAttemptAt", state == .pending ? nextAttemptAt.description : nil)
    }

    /// Writes all there is to know.
    package func writeWhole(_ writer: inout JSONWriter) {
        write(&writer)
        writer.member(
            "attempts",
            array: { writer in
                for attempt in attempts { writer.object { attempt.write(&$0) } }
            }
        )
    }
}

/// The conditions for deliveries; nil members do not matter.
package struct DeliveryFilter: Sendable, Equatable {
    package var endpoint: WebhookEndpoint.ID?
    package var state: DeliveryState?
    package var event: WebhookEvent?
    package var job: Job.ID?
    /// Made then or later.
    package var since: Timestamp?

    package init() {}
}

/// A part of a list of deliveries.
package struct DeliveryPage: Sendable {
    package let limit: Int
    /// The last one of the page before.
    package let after: WebhookDelivery.ID?

    package init(limit: Int, after: WebhookDelivery.ID? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// The deliveries that a client wants to be sent again.
package struct DeliveryReplay: Sendable {
    package let endpoint: WebhookEndpoint.ID
    package let since: Timestamp

    /// Reads and checks the body of a request to replay failed deliveries.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["endpoint", "since"])
        let endpoint = object?.required("endpoint").flatMap { $0.endpointID() }
        let since = object?.required("since").flatMap { $0.timestamp() }
        try check.finish()
        guard let endpoint, let since else { throw InvalidInput(pointer: "", message: "is not complete") }
        self.endpoint = endpoint
        self.since = since
    }
}
