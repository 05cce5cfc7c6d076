import FetchJobs
import Hummingbird

/// Looking at deliveries, and sending them again.
struct DeliveryRoutes: Sendable {
    static let path = "/v1/webhooks/deliveries"

    let webhooks: any WebhookStore

    var routes: [Route] {
        [
            Route(.get, Self.path, tenant: list),
            Route(.post, "\(Self.path)/replay", tenant: replayFailed),
            Route(.get, "\(Self.path)/{id}", tenant: get),
            Route(.post, "\(Self.path)/{id}/replay", tenant: replay),
        ]
    }

    // MARK: Reading

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: DeliveryFilter.parameters.union(["limit", "cursor"]))
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let filter = try DeliveryFilter(query)
        let digest = Cursor<WebhookDelivery.Kind>.digest(of: filter.text)
        let after = try query["cursor"].map { try Cursor<WebhookDelivery.Kind>($0, filter: digest).after }
        let items = try await webhooks.deliveries(
            of: tenant, matching: filter, page: DeliveryPage(limit: limit + 1, after: after))
        return .page(items, limit: limit, of: Self.path, filter.text) {
            Cursor(after: $0.delivery.id, filter: digest).text
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let delivery = try await delivery(call, tenant)
        return .json { delivery.writeWhole(&$0) }
    }

    private func delivery(_ call: Call, _ tenant: Tenant.ID) async throws -> StoredDelivery {
        guard let id = WebhookDelivery.ID(call.parameter), let delivery = try await webhooks.delivery(id, of: tenant)
        else {
            throw Problem(.notFound, "There is no delivery with this id.")
        }
        return delivery
    }

    // MARK: Replaying

    private func replay(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        let delivery = try await delivery(call, tenant)
        guard try await webhooks.replay(delivery.delivery.id, of: tenant) else {
            throw Problem(.deliveryNotReplayable, "Its endpoint is \(delivery.delivery.endpoint).")
        }
        let replayed = try await self.delivery(call, tenant)
        return .json(status: .accepted) { replayed.writeWhole(&$0) }
    }

    /// A delivery that is pending again is not a failed one any more, so a repeat does nothing more.
    private func replayFailed(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let replay = try DeliveryReplay(json: json)
        guard let endpoint = try await webhooks.endpoint(replay.endpoint, of: tenant) else {
            throw InvalidInput(pointer: "/endpoint", message: "is not an endpoint of yours")
        }
        guard endpoint.disabling == nil else {
            throw Problem(.deliveryNotReplayable, "\(endpoint.id) is disabled.")
        }
        let count = try await webhooks.replayFailed(of: endpoint.id, tenant, since: replay.since)
        return .json(status: .accepted) { $0.member("replayed", count) }
    }
}

extension DeliveryFilter {
    static let parameters: Set = ["endpoint", "state", "event", "job", "since"]

    init(_ query: Query) throws(Problem) {
        self.init()
        endpoint = try query.identifier("endpoint", "an endpoint (whe_…)")
        state = try query.oneOf("state")
        event = try query.oneOf("event")
        job = try query.identifier("job", "a job (job_…)")
        if let text = query["since"] {
            guard let time = Timestamp(rfc3339: text) else {
                throw Problem(parameter: "since", "must be a time in the form of RFC 3339")
            }
            since = time
        }
    }

    /// As a query writes it, to go on with.
    var text: String {
        Query.text([
            ("endpoint", endpoint?.description), ("state", state?.rawValue), ("event", event?.rawValue),
            ("job", job?.description), ("since", since?.description),
        ])
    }
}
