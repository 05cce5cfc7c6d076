import FetchJobs
import HTTPTypes
import Hummingbird

/// The events of a session and its jobs, which can be read again from a place (BKG-9).
struct SessionEventsRoute: Sendable {
    let sessions: any SessionStore
    let webhooks: any WebhookStore
    let contents: EventContents

    var routes: [Route] { [Route(.get, "/v1/sessions/{id}/events", tenant: list)] }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["after", "limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let start: WebhookDelivery.ID? = try query.identifier("after", "an event (evt_…)")
        let filter = Query.text([("after", start?.description)])
        let digest = Cursor<WebhookDelivery.Kind>.digest(of: filter)
        let after = try query["cursor"].map { try Cursor<WebhookDelivery.Kind>($0, filter: digest).after }
        guard let id = TenantSession.ID(call.parameter), try await sessions.session(id, of: tenant) != nil else {
            throw Problem(.notFound, "There is no session with this id whose events are kept.")
        }
        let page = DeliveryPage(limit: limit + 1, after: after ?? start)
        guard let deliveries = try await webhooks.events(of: id, tenant, page: page) else {
            let name = after == nil ? "after" : "cursor"
            throw Problem(parameter: name, "is no event of the session that is kept; read them from the start")
        }
        var events: [(delivery: WebhookDelivery, data: EventContents.Data?)] = []
        // One more than the page holds says that it goes on, and is not looked at.
        for delivery in deliveries {
            events.append((delivery, events.count < limit ? try await contents.data(of: delivery) : nil))
        }
        return .page(events, limit: limit, of: "/v1/sessions/\(id)/events", filter) {
            Cursor(after: $0.delivery.id, filter: digest).text
        } write: {
            $1.member("id", $0.delivery.id.description)
            $0.delivery.writeMessage(&$1, data: $0.data)
        }
    }
}
