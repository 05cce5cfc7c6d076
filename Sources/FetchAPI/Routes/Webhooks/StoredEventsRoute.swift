import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The events of a session and its jobs, of an endpoint that is polled, or of a tenant: as pages that can be read again
/// from a place (BKG-9), or as server-sent events that go on (WHATWG HTML §9.2).
struct StoredEventsRoute: Sendable {
    let sessions: any SessionStore
    let webhooks: any WebhookStore
    let contents: EventContents
    let authenticator: Authenticator
    let streams: OpenStreams
    var pace = EventsRoute.Pace(tick: .seconds(1))

    var routes: [Route] {
        [
            Route(.get, "/v1/sessions/{id}/events") { call, tenant in
                guard let id = TenantSession.ID(call.parameter), try await sessions.session(id, of: tenant) != nil
                else {
                    throw Problem(.notFound, "There is no session with this id whose events are kept.")
                }
                return try await read(call, tenant, .session(id), at: "/v1/sessions/\(id)/events")
            },
            Route(.get, "\(WebhookRoutes.path)/{id}/events") { call, tenant in
                guard let id = WebhookEndpoint.ID(call.parameter),
                    let endpoint = try await webhooks.endpoint(id, of: tenant)
                else { throw WebhookRoutes.notFound }
                guard endpoint.url == nil else {
                    throw Problem(.notFound, "The events of \(id) are sent to its url, and only polled ones are here.")
                }
                return try await read(call, tenant, .endpoint(id), at: "\(WebhookRoutes.path)/\(id)/events")
            },
            Route(.get, "/v1/events") { call, tenant in
                guard let endpoint = try await webhooks.endpointID(.polledDefault, of: tenant) else {
                    throw Problem(
                        .notFound,
                        "No endpoint collects the events of all jobs: make one that is \"polled\" and \"default\"."
                    )
                }
                return try await read(call, tenant, .endpoint(endpoint), at: "/v1/events")
            },
        ]
    }

    private func read(
        _ call: Call, _ tenant: Tenant.ID, _ source: EventSource, at path: String
    ) async throws -> Response {
        let query = try call.query(allowing: ["after", "limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let start: WebhookDelivery.ID? = try query.identifier("after", "an event (evt_…)")
        if call.headers.accepts(EventStream.mediaType) { return try await follow(call, tenant, source, after: start) }
        let filter = Query.text([("after", start?.description)])
        let digest = Cursor<WebhookDelivery.Kind>.digest(of: filter)
        let after = try query["cursor"].map { try Cursor<WebhookDelivery.Kind>($0, filter: digest).after }
        var response = try await Response.page(
            of: path, limit: limit, after: after ?? start, filters: filter, digest: digest, id: \.delivery.id
        ) { last, count -> [(delivery: WebhookDelivery, data: EventContents.Data?)] in
            let page = DeliveryPage(limit: count, after: last)
            guard let deliveries = try await webhooks.events(of: source, tenant, page: page) else {
                throw Self.noEvent(after == nil ? "after" : "cursor")
            }
            var events: [(delivery: WebhookDelivery, data: EventContents.Data?)] = []
            for delivery in deliveries { events.append((delivery, try await contents.data(of: delivery))) }
            return events
        } write: {
            $1.member("id", $0.delivery.id.description)
            $0.delivery.writeMessage(&$1, data: $0.data)
        }
        response.headers[.vary] = "Accept"
        return response
    }

    private static func noEvent(_ parameter: String) -> Problem {
        Problem(parameter: parameter, "is no event of these that is kept; read them from the start")
    }

    // MARK: Streams

    private func follow(
        _ call: Call, _ tenant: Tenant.ID, _ source: EventSource, after start: WebhookDelivery.ID?
    ) async throws -> Response {
        let parameter = call.headers[.lastEventID] == nil ? "after" : "Last-Event-ID"
        let named = try call.headers[.lastEventID].map { field in
            guard let id = WebhookDelivery.ID(field) else { throw Self.noEvent(parameter) }
            return id
        }
        let last = named ?? start
        // Looked at before the status is sent: a client that comes back after too long hears of it.
        guard try await webhooks.events(of: source, tenant, page: DeliveryPage(limit: 1, after: last)) != nil else {
            throw Self.noEvent(parameter)
        }
        return .eventStream(to: call, at: try streams.begin(.stored, of: tenant)) { writer in
            try await send(source, tenant, for: call, after: last, to: &writer)
        }
    }

    /// Sends events until the client leaves, its key is no longer valid, they cannot be read on or the service stops.
    private func send(
        _ source: EventSource, _ tenant: Tenant.ID, for call: Call, after start: WebhookDelivery.ID?,
        to writer: inout any ResponseBodyWriter
    ) async throws {
        var last = start
        var (lastSign, isTrustedSince) = (ContinuousClock.now, ContinuousClock.now)
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            // Each may be large, and a tenant may follow many streams.
            let page = DeliveryPage(limit: 8, after: last)
            guard let deliveries = try await webhooks.events(of: source, tenant, page: page) else { return }
            for delivery in deliveries {
                let data = try await contents.data(of: delivery)
                let message = JSONWriter.object { delivery.writeMessage(&$0, data: data) }
                let text = EventStream.text(delivery.event.rawValue, id: delivery.id.description, message)
                try await writer.write(ByteBuffer(string: text))
                last = delivery.id
            }
            let now = ContinuousClock.now
            if now - isTrustedSince >= pace.trust {
                // A key that was revoked reads no further.
                _ = try await authenticator.key(of: call)
                isTrustedSince = now
            }
            if now - lastSign >= pace.heartbeat {
                if deliveries.isEmpty { try await writer.write(ByteBuffer(string: ":\n\n")) }
                lastSign = now
            }
            if deliveries.isEmpty { try await Task.sleep(for: pace.tick) }
        }
    }
}
